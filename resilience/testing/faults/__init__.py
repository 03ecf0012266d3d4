"""A proxy that misbehaves on demand, in front of a server that behaves; `resilience.testing` has its public names."""
