"""Fake servers of the services the web tools speak to."""
