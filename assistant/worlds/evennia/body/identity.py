"""Tells who a subject of the game is to an assistant: its principal, with the permission and trust it has.

The game's permissions are our six steps, 0 guest to 5 developer. A stock ladder maps by its names. In another ladder
the known names keep their step, the permission of new accounts is at least a player, and the others are spread evenly.
Where that gives no whole step, what a subject *holds* is rounded down and what a command *needs* is rounded up, so that
no doubt ever adds to what is allowed.

The level of an object's texts is that of their writer: a player's own, 0 for an assistant, None for the game and for
the name and the description that an assistant got from its owner (`AssistantCharacter.is_as_given`). Evennia
does not record who set a name or a description. It does record who controls an object: the account that plays it, and
the ids in its `control` and `edit` locks, which the commands that make things set to their maker. The least trusted of
those counts. One that no longer exists counts as a guest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.worlds.evennia.body.border import visible_name
from mud_assistant.tools.trust import Kind, Principal

#: The names of a stock game.
KNOWN = {"guest": 0, "player": 1, "helper": 2, "builder": 3, "admin": 4, "developer": 5}
TOP = 5
PLAYER = 1
#: The level of texts whose maker no longer exists: of an object, and of a place.
UNKNOWN, UNKNOWN_OF_A_PLACE = 0, PLAYER
_LOCKS = ("control", "edit")
_MAKER = re.compile(r"(?<!\w)(not\s+)?(p?id)\(\s*#?(\d+)\s*\)", re.IGNORECASE)
#: The characters that an assistant lives in now. A character enters itself and takes itself out.
LIVING: set[Any] = set()
#: The principal of events that have no object behind them.
THE_WORLD = Principal("world", "the world", Kind.WORLD, permission=0)


def principal_of(subject: Any, looker: Any, ladder: Ladder | None = None) -> Principal:
    """Return the principal of an object, an account, a session or None, named as `looker` sees it.

    A subject that is or ever was played is a player. A character that was never played, a thing and a room are the
    world's.
    """
    if subject is None:
        return THE_WORLD
    if getattr(subject, "cmdset_provider_type", "") == "session":
        subject = subject.get_puppet_or_account()
        return principal_of(subject, looker, ladder)
    name, id_ = seen_name(subject, looker), id_of(subject)
    if is_assistant(subject):
        return Principal(id_, name, Kind.ASSISTANT, permission=0, trust=TOP if subject.is_as_given else 0)
    if not is_played(subject):
        return Principal(id_, name, Kind.WORLD, permission=0, trust=_trust(subject))
    return Principal(id_, name, Kind.PLAYER, permission_of(subject, ladder or Ladder.of_game()))


def id_of(subject: Any) -> str:
    """Return the id of an object or an account, as its principal has it."""
    if is_assistant(subject):
        return f"assistant:{subject.pk}"
    if is_account(subject):
        return f"account:{subject.pk}"
    return f"{'character' if is_played(subject) else 'thing'}:{subject.pk}"


def find_subject(id_: str) -> Any:
    """Return the object or the account that has this id now, None for none."""
    kind, _, number = id_.partition(":")
    if not number.isdecimal():
        return None
    found = _stored(kind, int(number))
    return found if found is not None and id_of(found) == id_ else None


def _trust(thing: Any) -> int:
    """Return the highest level that the words of a thing count for: its maker's, or TOP when the game made it."""
    level = Writers().level_of(thing)
    return TOP if level is None else level


def seen_name(subject: Any, looker: Any) -> str:
    """Return the name as `looker` sees it, on one line; the key where the game shows none."""
    return visible_name(str(subject.get_display_name(looker))) or visible_name(str(subject.key))


def is_assistant(subject: Any) -> bool:
    """Tell whether it is the character of an assistant, living or not."""
    return bool(getattr(subject, "is_assistant", False))


def is_account(subject: Any) -> bool:
    """Tell whether it is an account."""
    return getattr(subject, "cmdset_provider_type", "") == "account"


def is_played(subject: Any) -> bool:
    """Tell whether it is a player's: an account, or an object that has or had one."""
    if is_assistant(subject):
        return False
    if is_account(subject) or subject.account or subject.sessions.count():
        return True
    # Logging out takes the account off the character, but leaves the place where the character stood.
    return bool(subject.attributes.has("prelogout_location"))


def permission_of(subject: Any, ladder: Ladder) -> int:
    """Return our step for an account or a character, as the game's locks see it: quelled, puppeting or superuser."""
    if getattr(subject, "is_superuser", False) and subject.locks.lock_bypass:
        return TOP
    return ladder.held(lambda name: bool(subject.locks.check_lockstring(subject, f"dummy:perm({name})")))


def living() -> tuple[Any, ...]:
    """Return the characters that an assistant lives in now, in the order of their ids."""
    return tuple(sorted(LIVING, key=lambda character: character.pk))


class Writers:
    """Looks up writers. Each is looked up once and then remembered, so make a new instance for each look."""

    def __init__(self) -> None:
        self._ladder = Ladder.of_game()
        #: The level of each maker, by the table they are stored in and their number.
        self._makers: dict[tuple[str, int], int | None] = {}

    def level_of(self, subject: Any) -> int | None:
        """Return the level of the texts of an object, an account or a channel; None when they are the game's own."""
        if is_assistant(subject):
            return None if subject.is_as_given else 0
        gone = UNKNOWN_OF_A_PLACE if _is_place(subject) else UNKNOWN
        makers = [self._maker(kind, number) for kind, number in _named_in_locks(subject)]
        levels = [gone if level is None else level for level in makers]
        if is_account(subject) or (hasattr(subject, "sessions") and is_played(subject)):
            levels.append(permission_of(subject, self._ladder))
        return min(levels, default=None)

    def min_level(self, subjects: Iterable[Any], looker: Any) -> int | None:
        """Return the lowest level of any of them, and of what they hold; None when the game wrote all.

        Looking at a person shows what they carry, and looking at a room shows who is in it. `looker` is left out.
        """
        found = {id(one): one for each in subjects for one in (each, *getattr(each, "contents", ()))}
        levels = [self.level_of(one) for one in found.values() if one is not looker]
        return min((level for level in levels if level is not None), default=None)

    def _maker(self, kind: str, number: int) -> int | None:
        """Return the level of the maker with this number, None when there is no such maker."""
        if (kind, number) not in self._makers:
            self._makers[kind, number] = self._level_of_maker(kind, number)
        return self._makers[kind, number]

    def _level_of_maker(self, kind: str, number: int) -> int | None:
        maker = _stored(kind, number)
        if maker is None:
            return None
        return 0 if is_assistant(maker) else permission_of(maker, self._ladder)


def _stored(kind: str, number: int) -> Any:
    """Return the account, or the object of any other kind, with this number; None for none."""
    from evennia.accounts.models import AccountDB  # only where Django is set up
    from evennia.objects.models import ObjectDB

    model = AccountDB if kind == "account" else ObjectDB
    return model.get_cached_instance(number) or model.objects.filter(pk=number).first()


def _is_place(subject: Any) -> bool:
    """Tell whether it is a room or an exit."""
    return bool(getattr(subject, "destination", None)) or getattr(subject, "location", subject) is None


def _named_in_locks(subject: Any) -> set[tuple[str, int]]:
    """Return the ids in the locks for changing it; a channel's locks name accounts, other locks name objects."""
    locks = getattr(subject, "locks", None)
    if locks is None:
        return set()
    found = [match.groups() for lock in _LOCKS for match in _MAKER.finditer(str(locks.get(lock) or ""))]
    is_channel = hasattr(subject, "subscriptions")
    return {
        ("account" if is_channel or kind.casefold() == "pid" else "object", int(number))
        for negated, kind, number in found
        if not negated
    }


class Ladder(Struct, frozen=True):
    """The game's permissions, lowest first, each with its place among our steps (not always a whole one)."""

    names: tuple[str, ...]
    places: tuple[float, ...]

    @classmethod
    def of(cls, names: Sequence[str], default: str = "Player") -> Ladder:
        """Make the ladder with these names; `default` is the permission of new accounts."""
        anchors = _anchors([_singular(name) for name in names], _singular(default))
        return cls(tuple(names), tuple(_place(index, anchors) for index in range(len(names))))

    @classmethod
    def of_game(cls) -> Ladder:
        """Make the ladder of this game's settings."""
        from django.conf import settings  # only where Django is set up

        return cls.of(settings.PERMISSION_HIERARCHY, settings.PERMISSION_ACCOUNT_DEFAULT)

    def held(self, passes: Callable[[str], bool]) -> int:
        """Return our step for a subject with the permissions for which `passes` is true; 0 when there are none.

        A subject with one permission passes for all below it. Most are players, so the search starts there.
        """
        top = next((at for at, place in enumerate(self.places) if place >= PLAYER), 0)
        if passes(self.names[top]):
            while top + 1 < len(self.names) and passes(self.names[top + 1]):
                top += 1
            return math.floor(self.places[top])
        return next((math.floor(self.places[at]) for at in reversed(range(top)) if passes(self.names[at])), 0)

    def needed(self, name: str) -> int:
        """Return our step that suffices for this permission of the game."""
        return math.ceil(self.places[self.names.index(name)])

    def name(self, step: int) -> str:
        """Return the highest permission of the game that our step includes, empty for none."""
        return next((name for name, place in reversed(list(zip(self.names, self.places, strict=True)))
                     if place <= step), "")  # fmt: skip

    def has(self, permission: str) -> bool:
        """Tell whether this is the name of a step of the ladder, in the singular or the plural."""
        return _singular(permission) in {_singular(name) for name in self.names}


def _singular(name: str) -> str:
    """Return a name as the game's locks compare it."""
    return name.strip().casefold().removesuffix("s")


def _anchors(names: Sequence[str], default: str) -> dict[int, int]:
    """Return the certain places: by name if the names come in our order, the top and, if it fits, `default`."""
    known = {index: KNOWN[name] for index, name in enumerate(names) if name in KNOWN}
    if list(known.values()) != sorted(known.values()):
        known = {}
    last = len(names) - 1
    known.setdefault(last, TOP)
    if default in names and (index := names.index(default)) not in known:
        known[index] = PLAYER
        if list(dict(sorted(known.items())).values()) != sorted(known.values()):
            del known[index]
    return dict(sorted(known.items()))


def _place(index: int, anchors: dict[int, int]) -> float:
    """Return the place of a name: its own, or one between the certain ones round it (the lowest possible is step 0)."""
    if index in anchors:
        return anchors[index]
    below = max(((at, step) for at, step in anchors.items() if at < index), default=(0, 0))
    above = min((at, step) for at, step in anchors.items() if at > index)
    if below[0] == index:
        return below[1]
    return below[1] + (above[1] - below[1]) * (index - below[0]) / (above[0] - below[0])
