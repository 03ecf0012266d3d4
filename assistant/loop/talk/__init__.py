"""Asks a small model: attends to the scene, acts by rule, speaks in plain turns, checks each sentence."""
