"""The gateway's HTTP: takes requests in and sends answers out; knows nothing of dialects and models."""
