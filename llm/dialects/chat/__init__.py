"""OpenAI's Chat Completions API, spoken as a server."""
