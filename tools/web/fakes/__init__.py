"""Fake servers of the services that the web tools speak to."""
