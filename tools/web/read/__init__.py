"""The readers: providers that read pages."""
