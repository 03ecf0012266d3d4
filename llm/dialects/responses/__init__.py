"""OpenAI's Responses API, spoken as a server."""
