"""Our reading of responses against that of h11 and of Twisted."""
