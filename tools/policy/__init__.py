"""Decides outside the model what may happen: trust, rights, approvals, and what a run has seen."""
