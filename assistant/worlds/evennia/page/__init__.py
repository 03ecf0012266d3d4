"""The operator's page inside a game: mounted in its web server, with the game's accounts at the door."""
