"""Notices when another package named `llm`, `tools` or `resilience` hides the one of this program.

The names are generic: a well-known package is called `llm` too, and many are called `tools`. This module imports
nothing of this program.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

OURS = ("tools", "llm", "resilience")


def shadowed() -> str:
    """Return one sentence that names the hidden package and what to do; empty when all of them are found."""
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
