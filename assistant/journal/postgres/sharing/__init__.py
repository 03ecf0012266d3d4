"""How processes share a journal: who runs which assistant, what they tell each other, and what they spend."""
