"""Ollama's native API, spoken as a server."""
