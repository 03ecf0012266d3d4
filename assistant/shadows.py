"""Notices when another package named `llm`, `tools` or `resilience` stands in the way of ours.

The names are generic: `llm` is also a well-known package's, `tools` is anybody's. Imports nothing of ours.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

OURS = ("tools", "llm", "resilience")


def shadowed() -> str:
    """One sentence that names the package in the way and what to do; empty when each of ours is found."""
    home = Path(__file__).resolve().parents[1]
    for name in OURS:
        spec = find_spec(name)
        place = Path(spec.origin).resolve().parent if spec and spec.origin else None
        if place != home / name:
            there = f"the one in {place}" if place else "nothing"
            return (
                f"the package '{name}' of mud-assistant is hidden: Python finds {there} instead; rename or uninstall "
                "that one, or run mud-assistant in a virtual environment of its own"
            )
    return ""
