"""A proxy that misbehaves on demand, in front of a server that behaves; its public names are in `resilience.testing`."""
