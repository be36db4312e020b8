"""What objects of each kind look like: one description from which defaults, validation, merging, ownership and OpenAPI follow."""
