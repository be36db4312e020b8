"""Gang scheduling: who must be placed together, and how each scheduler is told."""
