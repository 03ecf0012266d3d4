"""Fetches the embedded model's file, checks it, and keeps it."""
