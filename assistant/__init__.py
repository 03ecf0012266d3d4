"""Decides when and what to ask: events, tick, ReAct loop, prompt, memory, worlds, the command line."""
