"""Sources of hits and pages: the protocol, and what may be put round one (a pace, a cache, a quota, a chain)."""
