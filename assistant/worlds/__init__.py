"""The games an assistant can live in."""
