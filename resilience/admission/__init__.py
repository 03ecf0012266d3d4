"""Decides when an attempt may go to a server: circuit, cap, queue, rate limits, refusals that hold."""
