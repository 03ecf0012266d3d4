"""Sleep: while nobody is there, a model draws profiles and insights from what was remembered. Read `night.py` first."""
