"""What a run does without asking its model: approved calls, calls by rule, a search for a small model."""
