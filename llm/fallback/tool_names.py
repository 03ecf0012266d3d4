"""Finds the tool a model means by the name it wrote."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_MAX_CHARS = 200
_RECIPIENT = re.compile(r"\bto=(\S+)")
_MARK = re.compile(r"<\|[^|<>]{0,40}\|>")
_EMPTY_CALL = re.compile(r"\s*\(\s*\)\s*\Z")
_NUMBER = re.compile(r":\d+\Z")
_NAMESPACE = re.compile(r"\A(?:functions?|tools?|default_api|api)[.:]", re.IGNORECASE)
_WRAPPING = " \t\r\n\"'`\u201c\u201d\u2018\u2019"


def match_name(name: str, known: Collection[str]) -> str | None:
    """Return the one known tool that `name` stands for. None when there is none, or more than one.

    Tried in turn: the name itself; without blanks, quotes and `<|marks|>`; without `()`, `:0` and `functions.`; and
    each of these in any case.
    """
    if name in known:
        return name
    if len(name) > _MAX_CHARS:
        return None
    for form in _forms(name):
        if form in known:
            return form
        same = [tool for tool in known if tool.casefold() == form.casefold()]
        if same:
            return same[0] if len(same) == 1 else None
    return None


def _forms(name: str) -> Iterator[str]:
    """Yield ever barer forms of the name."""
    recipient = _RECIPIENT.search(name)
    form = recipient.group(1) if recipient else name
    parts = [part for part in _MARK.split(form) if part.strip(_WRAPPING)]
    form = parts[0].strip(_WRAPPING) if parts else ""
    yield form
    form = _EMPTY_CALL.sub("", form).strip(_WRAPPING)
    yield form
    form = _NUMBER.sub("", form)
    yield form
    yield _NAMESPACE.sub("", form).strip(_WRAPPING)
