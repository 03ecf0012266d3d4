"""What a game's lines mean: the tables of a profile, and the six that come with the package."""
