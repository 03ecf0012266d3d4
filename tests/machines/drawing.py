"""Reads the pictures of docs/machines.md, and compares them with what a driven machine did."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/machines.md").read_text()
EDGE = re.compile(r"^ +(\[\*\]|\w+) --> (\w+)(?:: (.+))?$", re.MULTILINE)
#: From, to, and what brings it about.
Edge = tuple[str, str, str]


def drawn(heading: str) -> set[Edge]:
    """Return the edges of the picture under a heading, without the bare arrow to the first state."""
    picture = re.search(rf"^## {heading}$.*?```mermaid\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
    assert picture, f"docs/machines.md has no picture under {heading!r}"
    return {(start, end, why) for start, end, said in EDGE.findall(picture[1]) if said for why in said.split(", ")}


def states(edges: set[Edge]) -> set[str]:
    """Return the states of a picture."""
    return {state for start, end, _ in edges for state in (start, end)} - {"[*]"}


def assert_same(heading: str, found: set[Edge]) -> None:
    """Compare a picture with what was found, both ways."""
    picture = drawn(heading)
    assert (sorted(picture - found), sorted(found - picture)) == ([], []), "only drawn; only in the code"
