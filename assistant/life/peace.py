"""Tells who wants a character to keep still: its owner, and the players who ask not to be spoken to first."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from enum import StrEnum

from msgspec.structs import replace

from mud_assistant.assistant.life.life_state import LifeState, StoredLife

#: Stands for all assistants where one is named.
EVERYBODY = "all"
_BEGINS = r"(?i)(?:^|[.!;,]\s*|\bplease,?\s+)"
#: A player's words that ask not to be spoken to first, and those that take it back.
_WANTS = re.compile(
    rf"{_BEGINS}(?:(?:do not|don't|never) (?:ever |again )?(?:(?:speak|talk) to me (?:first|before I do|on your own"
    r"|unless (?:I (?:do|speak|talk|ask)|you(?:'re| are) (?:spoken to|asked)|spoken to|asked))|greet me)"
    r"|(?:only )?(?:speak|talk) to me only (?:when|if) (?:I (?:speak|talk)|you(?:'re| are) spoken to|spoken to)"
    r"|only (?:speak|talk) to me (?:when|if) (?:I (?:speak|talk)|you(?:'re| are) spoken to|spoken to))\b"
)
_WANTS_NO_MORE = re.compile(
    rf"{_BEGINS}(?:you (?:may|can) (?:speak|talk) to me first|feel free to (?:speak|talk) to me first"
    r"|you (?:may|can) greet me again)\b"
)


class Stillness(StrEnum):
    """What an owner may want. Promises, which somebody asked for, are kept all the same."""

    QUIET = "quiet"  # it does nothing of itself, and greets as ever
    AWAY = "away"  # it does not greet either


class OwnersQuiet:
    """What owners want of the initiative of all assistants of a journal, as far as this process knows.

    A key is a `Stillness` and the id of an assistant, or `EVERYBODY`, with a space between them: it is in `keys` when
    that is wanted.
    """

    def __init__(self) -> None:
        self.keys: frozenset[str] = frozenset()

    def is_quiet(self, assistant: str) -> bool:
        """Tell whether this assistant, or `EVERYBODY`, is to do nothing of itself."""
        return key_of(Stillness.QUIET, assistant) in self.keys

    def is_away(self, assistant: str) -> bool:
        """Tell whether this assistant is away."""
        return key_of(Stillness.AWAY, assistant) in self.keys

    def why(self, assistant: str) -> str:
        """Return why this assistant does nothing of itself, empty when it may."""
        if self.is_quiet(EVERYBODY):
            return "its owner wants quiet of everybody"
        if self.is_quiet(assistant):
            return "its owner wants it quiet"
        return "it is away, as its owner wants it" if self.is_away(assistant) else ""


def key_of(stillness: Stillness, assistant: str) -> str:
    """Return the key of what is wanted of an assistant, or of `EVERYBODY`."""
    return f"{stillness} {assistant}"


def wish_in(words: str) -> bool | None:
    """Return whether words to a character ask not to be spoken to first; False takes that back. None for any others."""
    plain = words.replace("\u2019", "'")
    if plain.rstrip().endswith("?"):
        return None
    return True if _WANTS.search(plain) else False if _WANTS_NO_MORE.search(plain) else None


class Peace:
    """Who wants one character to keep still. `stored` keeps the players who do."""

    __slots__ = ("_me", "_owners", "_stored")

    def __init__(self, me: str, owners: OwnersQuiet, stored: StoredLife) -> None:
        self._me = me
        self._owners = owners
        self._stored = stored

    def why_quiet(self) -> str:
        """Return why it does nothing of itself, empty when it may."""
        return self._owners.why(self._me)

    @property
    def unwanted(self) -> Container[str]:
        """The ids of the players who asked not to be spoken to first."""
        return self._stored.state.quiet_to

    def may_greet(self, who: str) -> bool:
        """Tell whether it may greet a player: it is not away, and they did not ask not to be spoken to first."""
        return not self._owners.is_away(self._me) and who not in self.unwanted

    async def wish(self, players: Iterable[str], *, quiet: bool) -> None:
        """Keep whether players, by their ids, want not to be spoken to first. Raises Fenced and JournalUnwritable."""
        asked = tuple(players)

        def change(state: LifeState) -> LifeState:
            others = tuple(one for one in state.quiet_to if one not in asked)
            return replace(state, quiet_to=(*others, *asked) if quiet else others)

        await self._stored.change(change)

    async def forgotten(self) -> None:
        """Read anew who does, once a player was forgotten. Raises JournalUnreadable."""
        await self._stored.load()
