"""The edge of every HTTP server of this process: what may come in, how much of it, how fast, and from whom."""
