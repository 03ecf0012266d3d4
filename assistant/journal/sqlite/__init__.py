"""The journal's open file: how it is opened, and the one thread that writes it, many writes in a commit."""
