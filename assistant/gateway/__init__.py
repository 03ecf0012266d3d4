"""Lets other programs use the models of this process. Read `site.py` first."""
