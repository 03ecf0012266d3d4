"""OpenAI's Responses API, and what other servers make of it."""
