"""Programs that run inside training jobs."""
