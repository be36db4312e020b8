"""What changed: one Redis stream, read once per web process, fanned out to one event stream per visible tab."""
