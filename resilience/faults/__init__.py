"""A proxy that misbehaves as asked, in front of a server that behaves; the public names are in `resilience.testing`."""
