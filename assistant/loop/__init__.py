"""One run: from the events that woke an assistant to a named outcome. Read `react.py` first."""
