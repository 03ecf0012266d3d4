"""Rules of language that need no model: words, persons, things, spelling, deeds. Pure."""
