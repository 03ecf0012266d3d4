"""The style sheets and the script, served under names that hold a hash of what is in them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FILES = ("page.css", "charts.css", "page.js", "icon.svg")


@cache
def static_files() -> Mapping[str, tuple[str, bytes]]:
    """Return content type and bytes of each file by its name with a hash, such as page-1f2e3d4c5b6a7f80.css.

    The first call reads files: make it once at the start, off the reactor thread. Later calls cost nothing.
    """
    folder = resources.files("assistant.page.views") / "static"
    found = {}
    for name in _FILES:
        body = (folder / name).read_bytes()
        found[_hashed(name, body)] = (_TYPES[name.rpartition(".")[2]], body)
    return MappingProxyType(found)


@cache
def static_name(name: str) -> str:
    """Return the name with its hash under which a file is served. Raises LookupError for a file we do not have."""
    stem, _, kind = name.rpartition(".")
    for each in static_files():
        if each.startswith(f"{stem}-") and each.endswith(f".{kind}"):
            return each
    raise LookupError(name)


def _hashed(name: str, body: bytes) -> str:
    stem, _, kind = name.rpartition(".")
    return f"{stem}-{hashlib.sha256(body).hexdigest()[:16]}.{kind}"
