"""Reads JSON as models write it: nearly right, cut short, or in the middle of a sentence."""
