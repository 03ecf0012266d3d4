"""A game that is played over telnet, as an ordinary player of it."""
