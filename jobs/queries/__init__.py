"""What pages and REST read: narrow indexed rows, keyset paging, capped counts. Every query starts from what the user may see."""
