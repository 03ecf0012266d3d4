"""Subjects of the game as principals: their kind, their permissions, and the authors of their texts."""
