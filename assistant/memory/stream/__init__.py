"""The perception stream: entries in order, under a budget of tokens, with whose words they hold."""
