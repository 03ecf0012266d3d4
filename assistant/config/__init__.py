"""The settings: their fields and bounds, how they are read, and how they are worded."""
