"""The command `mud-assistant gateway`: lets other programs use the owner's models."""
