"""Finds the one name that a text means, by the name or its beginning."""

from __future__ import annotations

from collections.abc import Iterable

from mud_assistant.assistant.errors import did_you_mean
from mud_assistant.assistant.service.operations.operators import InvalidInput
from mud_assistant.tools.text.clean import one_line

#: The most names that are listed, and the most characters of what was typed that are repeated.
_LISTED, _SHOWN = 60, 40


def match_name(text: str, names: Iterable[str], what: str) -> str:
    """Return the one name that `text` is or begins. Raises InvalidInput with the known ones.

    `what` says what they name.
    """
    known = list(dict.fromkeys(names))
    wanted, shown = text.strip().casefold(), one_line(text, max_chars=_SHOWN)
    if exact := [name for name in known if name.casefold() == wanted]:
        return exact[0]
    found = [name for name in known if wanted and name.casefold().startswith(wanted)]
    shortest = min(found, key=len, default="")
    if found and all(name == shortest or name.startswith(f"{shortest}-") for name in found):
        return shortest  # the others are variants of it, to be typed with their hyphen
    if found:
        raise InvalidInput(f"'{shown}' is the beginning of {', '.join(found[:_LISTED])}: type more of it.")
    meant = did_you_mean(wanted, known)
    those = f"There are: {', '.join(known[:_LISTED]) or 'none'}."
    raise InvalidInput(f"There is no {what} '{shown}'{f': {meant}' if meant else '.'} {those}")
