"""Which route answers a path. A path is taken apart once, and decoded once: nothing of it is ever joined again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_to_bytes

from mud_assistant.assistant.page.http.call import Route
from mud_assistant.assistant.page.http.errors import HttpRefusal
from mud_assistant.assistant.page.ports import NotFound

_PART = re.compile(r"\{([a-z_]+)\}\Z")
#: Characters that no part of a path of ours has after decoding.
_ODD = re.compile(r"[/\\\x00-\x1f\x7f]")


def split_path(path: str, prefix: str) -> tuple[str, ...]:
    """Return the decoded parts of a path below `prefix`; the root is (). Raises NotFound for any other path.

    A part that holds a slash, a control character, or is one or two dots is of no path of ours.
    """
    rest = path.removeprefix(prefix) if path.startswith(prefix) else "?"
    if rest in {"", "/"}:
        return ()
    if not rest.startswith("/") or not rest.isascii():
        raise NotFound("There is no such page.")
    try:
        parts = tuple(unquote_to_bytes(part).decode() for part in rest[1:].split("/"))
    except UnicodeDecodeError:
        raise NotFound("There is no such page.") from None
    if any(not part or part in {".", ".."} or _ODD.search(part) for part in parts):
        raise NotFound("There is no such page.")
    return parts


class Router:
    """The routes of the page. Where two fit a path, the one that was given first is taken."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = [(tuple(part for part in route.pattern.split("/") if part), route) for route in routes]

    def find(self, method: str, parts: Sequence[str]) -> tuple[Route, Mapping[str, str]]:
        """Return the route for a request, and the parts of the path that it names. GET answers HEAD too.

        Raises NotFound, and HttpRefusal with 405 for another method than those that the path has.
        """
        wanted = "GET" if method == "HEAD" else method
        allowed: list[str] = []
        for pattern, route in self._routes:
            found = _match(pattern, parts)
            if found is None:
                continue
            if route.method == wanted:
                return route, found
            allowed += [route.method, "HEAD"] if route.method == "GET" else [route.method]
        if not allowed:
            raise NotFound("There is no such page.")
        raise not_allowed_method(allowed)

    def is_api(self, parts: Sequence[str]) -> bool:
        """Tell whether errors of this path are told as problem documents."""
        if parts[:1] == ("api",):
            return True
        return any(route.is_api for pattern, route in self._routes if _match(pattern, parts) is not None)


def not_allowed_method(allowed: Sequence[str]) -> HttpRefusal:
    """Return the refusal of a method that a path does not have."""
    listed = ", ".join(sorted(set(allowed)))
    return HttpRefusal(405, "Method not allowed", f"This path takes {listed} only.", (("Allow", listed),))


def _match(pattern: Sequence[str], parts: Sequence[str]) -> dict[str, str] | None:
    if len(pattern) != len(parts):
        return None
    found: dict[str, str] = {}
    for expected, part in zip(pattern, parts, strict=True):
        if named := _PART.match(expected):
            found[named[1]] = part
        elif expected != part:
            return None
    return found
