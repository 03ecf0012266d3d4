"""What every command needs: what a player typed, which assistant they meant, and how an answer is shown."""
