"""A character on somebody else's game over telnet, as an ordinary player and an honest guest."""
