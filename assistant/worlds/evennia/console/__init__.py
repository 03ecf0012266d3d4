"""What every command needs: what a player typed, how an answer is shown, and what is wrong with the game."""
