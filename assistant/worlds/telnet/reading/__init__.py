"""Lines of the game to events of the character: who said what, who is here, where the ways lead."""
