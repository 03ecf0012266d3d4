"""What keeps a game with assistants in order: alerts, checks, settings of the whole game, removal."""
