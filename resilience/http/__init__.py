"""One bounded HTTP exchange: bytes out, bytes in, every phase with a limit."""
