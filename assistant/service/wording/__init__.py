"""The words for what a service knows: for its owner, for players, and as JSON. Pure."""
