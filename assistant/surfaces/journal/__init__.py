"""The command `mud-assistant journal`, and finding the journal that an owner names."""
