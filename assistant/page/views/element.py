"""A small tree of HTML elements. It escapes by construction: text becomes text, and there is no way to add markup.

Control and bidirectional characters of a text are shown as symbols, so that a name can neither hide nor turn round what
stands beside it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from html import escape as escape_html

#: Elements without an end tag.
_VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*\Z")
#: Attributes that would run code or load from elsewhere. A tree that has one is a bug.
_FORBIDDEN = re.compile(r"on|style\Z|srcdoc\Z|formaction\Z", re.IGNORECASE)
#: Attributes that hold an address, which must be a path or a fragment of our own.
_ADDRESSES = frozenset({"href", "src", "action"})
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_SPECIAL = re.compile(f"[&<>\"']|{_ODD.pattern}")


class Element:
    """One element: a tag, its attributes, what is in it."""

    __slots__ = ("attributes", "children", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], children: tuple[object, ...]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children = children

    def render(self) -> str:
        """Return the HTML of this element and all that is in it."""
        pieces: list[str] = []
        _write(self, pieces)
        return "".join(pieces)


def h(tag: str, *children: object, **attributes: str | float | bool | None) -> Element:
    """Return an element. An underscore in an attribute's name is a hyphen, one at its end is dropped: `class_`, `for_`.

    An attribute that is None or False is left out, True is written without a value. Raises ValueError for a name that
    is none, an attribute that would run code, and an address that is not a path or fragment of our own.
    """
    found: dict[str, str] = {}
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        name = _attribute(key)
        text = "" if value is True else str(value)
        if name in _ADDRESSES and not is_own_address(text):
            raise ValueError(f"not a path of ours: {text[:40]}")
        found[name] = text
    return Element(_tag(tag), found, children)


# The names of the tree are few, and written in our code: each is looked at once.
@cache
def _attribute(key: str) -> str:
    name = key.rstrip("_").replace("_", "-")
    if not _NAME.match(name) or _FORBIDDEN.match(name):
        raise ValueError(f"no attribute of ours: {name}")
    return name


@cache
def _tag(tag: str) -> str:
    if not _NAME.match(tag):
        raise ValueError(f"no element: {tag}")
    return tag


def is_own_address(text: str) -> bool:
    """Tell whether an address stays on this page's own server: a path with one slash before it, a query, a fragment."""
    return text == "" or text[0] in "#?" or (text[0] == "/" and text[1:2] not in {"/", "\\"} and not _ODD.search(text))


def visible(text: str) -> str:
    """Replace characters that are not seen, or that turn the direction of text, by symbols."""
    return _ODD.sub(_symbol, text)


def _escape(text: str) -> str:
    """Return what stands for a text in HTML; most texts are as they are."""
    return escape_html(visible(text)) if _SPECIAL.search(text) else text


def _symbol(found: re.Match[str]) -> str:
    char = found[0]
    if ord(char) < 0x20:  # noqa: PLR2004  (control characters have pictures of their own from U+2400 on)
        return chr(0x2400 + ord(char))
    return f"\u27e8{unicodedata.name(char, f'U+{ord(char):04X}')}\u27e9"


def _write(node: object, pieces: list[str]) -> None:
    if node is None or node is False:
        return
    if isinstance(node, Element):
        pieces.append(f"<{node.tag}")
        for name, text in node.attributes.items():
            pieces.append(f' {name}="{_escape(text)}"')
        pieces.append(">")
        if node.tag not in _VOID:
            for child in node.children:
                _write(child, pieces)
            pieces.append(f"</{node.tag}>")
    elif isinstance(node, str):
        pieces.append(_escape(node))
    elif isinstance(node, Iterable):
        for child in node:
            _write(child, pieces)
    else:
        pieces.append(_escape(str(node)))
