"""Who reads pages for us."""
