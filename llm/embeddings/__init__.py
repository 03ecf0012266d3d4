"""Vectors of sentences, by which texts of like meaning are found: from the embedded MiniLM or from a server.

Read `embedder.py` first. The child processes import this package too, so this file imports nothing.
"""
