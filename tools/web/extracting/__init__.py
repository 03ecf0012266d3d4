"""Turns pages and files into text. They are parsed in a process of its own that may be killed, never in the game's."""

from mud_assistant.tools.web.extracting.extracted import Extracted, ExtractLimits, Flag
from mud_assistant.tools.web.extracting.extractor import Extractor

__all__ = ["ExtractLimits", "Extracted", "Extractor", "Flag"]
