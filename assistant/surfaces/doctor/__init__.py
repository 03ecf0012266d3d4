"""The command `mud-assistant doctor`: shows what the checks find, one sentence for each.

`assistant/checks/` has the checks. Only `finding.py` of it is imported before it is known that no module of ours is
hidden.
"""
