"""Makes a value once and keeps it until it expires."""
