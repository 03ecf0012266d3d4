"""Reads what servers send, whatever the dialect: lines, pieces, errors, limits."""
