"""Which field manager owns which field: metadata.managedFields and server-side apply."""
