"""The screen of the command `mud-assistant doctor`. The checks themselves are in `assistant/checks`."""
