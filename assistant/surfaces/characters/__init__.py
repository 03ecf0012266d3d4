"""The command `mud-assistant character`: import, show, test and export characters."""
