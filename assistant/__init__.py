"""Decides when and what to ask: events, tick, ReAct loop, prompt, memory, worlds, the command line."""

from assistant.moved import install

install()
