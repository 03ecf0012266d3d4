"""Judges names that a line of the game gives: what may be a name, and whose it is. Pure but for its memory."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from functools import lru_cache

#: The longest name, in characters.
MAX_NAME = 40
_ARTICLES = frozenset({"a", "an", "the", "some"})
#: Words that stand for nobody in particular in every game.
_NOBODY = frozenset({
    "you", "your", "someone", "somebody", "something", "nobody", "nothing", "everyone", "everybody", "it", "he", "she",
    "they", "we", "i", "this", "that", "there", "here", "who", "what", "account", "system", "server", "note", "ooc",
})  # fmt: skip


@lru_cache(maxsize=2048)
def may_be_name(name: str) -> bool:
    """Tell whether this may be the name of a person: letters of one script, with few other marks."""
    if not 1 <= len(name) <= MAX_NAME or not name[0].isalpha():
        return False
    scripts = {_script(char) for char in name if char.isalpha()}
    return len(scripts) == 1 and all(char.isalnum() or char in " .'@+-_" for char in name)


def is_nobody(name: str, nobody: Collection[str]) -> bool:
    """Tell whether the name stands for nobody in particular, such as `Someone`."""
    first = name.casefold().split(" ", 1)[0]
    return first in _NOBODY or name.casefold() in {one.casefold() for one in nobody}


def has_article(name: str) -> bool:
    """Tell whether the name begins with an article, as those of creatures do."""
    return name.casefold().split(" ", 1)[0] in _ARTICLES


def bare_name(name: str) -> str:
    """Return the name in lower case without an article, as names are compared."""
    words = name.casefold().strip(" .").split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in _ARTICLES else words)


def loosely(text: str) -> str:
    """Return the letters and digits of a text in lower case: games change capitals, stops and spaces."""
    return "".join(char for char in text.casefold() if char.isalnum())


def _script(char: str) -> str:
    """Return the script of a letter, as the first word of its Unicode name."""
    return unicodedata.name(char, "?").split(" ", 1)[0]
