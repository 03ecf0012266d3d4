"""Takes texts out of a stranger's card: bounded, macros replaced, cleaned; and notes what was left out or changed."""

from __future__ import annotations

from collections.abc import Iterable

from mud_assistant.assistant.characters.character import USER
from mud_assistant.assistant.characters.cleaning import clean_line, clean_text, has_marks
from mud_assistant.assistant.characters.macros import WHOEVER, Macros

#: The longest field that is read, in characters; the rest of a longer one is left out.
MAX_FIELD = 32_000
#: The most sentences about what was left out.
_MAX_DROPPED = 200


class Fields:
    """Reads the fields of one card. `seed` names the card and the assistant, for what the card leaves to chance."""

    def __init__(self, seed: str, dropped: Iterable[str] = ()) -> None:
        self.macros = Macros(seed)
        #: What was left out, each with the reason, in the order of the card.
        self.dropped: list[str] = list(dropped)
        self._cleaned: dict[str, None] = {}

    def drop(self, sentence: str) -> None:
        """Note what was left out, and why."""
        if len(self.dropped) < _MAX_DROPPED:
            self.dropped.append(sentence)

    def text(self, value: object, field: str, max_chars: int, user: str = WHOEVER) -> str:
        """Return a field as text of several lines; empty when it is none. `user` stands for `{{user}}`."""
        return clean_text(self._expanded(value, field, max_chars, user), max_chars)

    def line(self, value: object, field: str, max_chars: int, user: str = WHOEVER) -> str:
        """Return a field as text on one line; empty when it is none."""
        return clean_line(self._expanded(value, field, max_chars, user), max_chars)

    def greeting(self, value: object, field: str, max_chars: int) -> str:
        """Return a greeting, in which `{{user}}` stays for the player who arrives."""
        return self.text(value, field, max_chars, USER)

    def notes(self) -> tuple[str, ...]:
        """Return a sentence for each thing that was left out, taken out or cut."""
        more = []
        if self._cleaned:
            more.append(
                f"game markup, tags and marks of roles were taken out of: {', '.join(list(self._cleaned)[:20])}"
            )
        if self.macros.unknown:
            more.append(f"macros that mean nothing here were taken out: {', '.join(list(self.macros.unknown)[:10])}")
        return (*self.dropped, *more)

    def _expanded(self, value: object, field: str, max_chars: int, user: str) -> str:
        if not isinstance(value, str):
            if value not in (None, [], {}):
                self.drop(f"{field}: it is no text")
            return ""
        text = self.macros.expand(value[:MAX_FIELD], field, user)
        if has_marks(text):
            self._cleaned[field] = None
        if len(text) > max_chars or len(value) > MAX_FIELD:
            self.drop(f"{field}: what is beyond {max_chars} characters, of {len(value)}")
        return text
