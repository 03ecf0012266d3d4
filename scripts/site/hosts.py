"""Finds what a built site would fetch from other hosts: scripts, styles, fonts, pictures, frames."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

_OUTSIDE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
#: What a style sheet, or a style in a page or a picture, fetches.
_FETCHED = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:[a-z]+:)?//[^"')\s]+)""", re.IGNORECASE)
#: Tags whose address is only followed when somebody clicks, or only says what something is.
_FOLLOWED = frozenset({"a", "area"})
_NAMING = frozenset({"canonical", "license", "author"})
_ATTRIBUTES = frozenset({"src", "href", "srcset", "poster", "data", "xlink:href", "action", "background"})


def fetched_from_other_hosts(folder: Path) -> Iterator[str]:
    """Give a line for each thing that a page, style sheet or picture of the site takes from another host."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in {".html", ".css", ".svg"}:
            continue
        text = path.read_text()
        addresses = list(_FETCHED.findall(text))
        if path.suffix != ".css":
            reader = _Reader()
            reader.feed(text)
            addresses += reader.addresses
        for address in addresses:
            yield f"{path.relative_to(folder)}: {address}"


class _Reader(HTMLParser):
    """Collects the addresses that a browser fetches by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the addresses of a tag."""
        named = dict(attrs)
        if tag in _FOLLOWED or (tag == "link" and (named.get("rel") or "") in _NAMING):
            return
        values = (value for name, value in attrs if name in _ATTRIBUTES and value)
        self.addresses += [value for value in values if _OUTSIDE.match(value)]
