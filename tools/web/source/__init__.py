"""Sources of hits and pages: the protocol, and what may be put round one (caches, pace, quota, a chain)."""
