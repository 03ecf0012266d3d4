"""Bytes to events and back: the codec, options, compression and text of telnet."""
