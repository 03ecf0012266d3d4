"""Finds what a resolved line would act on: the place, then every object, account and channel its words may mean.

The command itself takes the line apart (`parse`), as it does before it runs, and the game's own search finds what each
part means for the character. A part that several things fit means all of them. A command of a game's own that
reads its words in another way is bound to its line and the place alone (docs/policy.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from assistant.worlds.evennia.body.game_calls import border
from assistant.worlds.evennia.identity.principals import seen_name
from tools.errors import ToolFailed
from tools.game import Target

#: What may separate the names of two things in a line.
_BETWEEN = re.compile(r"\s*[=,:;/]\s*|\s+(?:to|from|in|into|on|onto|at|with|for|of|and|as|by)\s+", re.IGNORECASE)
_RANGE = re.compile(r"#?(\d+)\s*-\s*#?(\d+)\Z")
#: Numbers, and words for oneself and the place. `_PICK` is the number that picks one of several things of one name.
_SPECIAL = re.compile(r"\*?#\d+\Z|(?:me|self|here)\Z", re.IGNORECASE)
_PICK = re.compile(r"\A\d+[-_. ]|[-_. ]\d+\Z")
#: The most things that one line may name and one approval may cover.
MOST = 60
TOO_MANY = f"That line names more than {MOST} things, which nobody can approve at once. Name fewer."

_log = Logger()


def find_targets(character: Any, command: Any) -> tuple[Target, ...]:
    """List where the character is, then what the resolved command would act on now. Raises ToolFailed."""
    with border(character.key):
        found: dict[str, Target] = {}
        source = getattr(command.command, "obj", None)
        if source is not None and source is not character and getattr(source, "pk", None):
            _add(found, source, character)
        names = list(dict.fromkeys(_names(character, command)))
        with character.raised_to(command.rank), character.printing():
            for one in (*_here(character, names), *_anywhere(names)):
                _add(found, one, character)
        if len(found) > MOST:
            raise ToolFailed(TOO_MANY)
        place = character.location
        here = Target("", "nowhere") if place is None else Target(f"#{place.pk}", seen_name(place, character))
        return (here, *(target for target in found.values() if target.id != here.id or target.where))


def _add(found: dict[str, Target], one: Any, character: Any) -> None:
    kind = type(one)._meta.concrete_model.__name__ if hasattr(type(one), "_meta") else ""  # noqa: SLF001
    prefix = {"AccountDB": "account ", "ChannelDB": "channel "}.get(_stored_as(one) or kind, "")
    where = getattr(one, "location", None)
    name = seen_name(one, character) if not prefix else str(one.key)
    target = Target(f"{prefix}#{one.pk}", name, f"#{where.pk}" if where is not None else "")
    found[target.id] = target


def _stored_as(one: Any) -> str:
    """Return the name of the database class it is kept in."""
    return str(getattr(one, "__dbclass__", type(one)).__name__)


def _names(character: Any, command: Any) -> Iterator[str]:
    """Yield every part of the line that may be the name of something."""
    for text in _parts(character, command):
        yield text
        pieces = [piece.strip() for piece in _BETWEEN.split(text) if piece.strip()]
        yield from pieces
        for piece in pieces:
            if many := _RANGE.match(piece):
                first, last = int(many[1]), int(many[2])
                if last - first > MOST:
                    raise ToolFailed(TOO_MANY)
                yield from (f"#{number}" for number in range(first, last + 1))


def _parts(character: Any, command: Any) -> Iterator[str]:
    """Yield what follows the command's name, and the pieces the command itself cuts it into."""
    args = command.args.strip()
    if args.startswith("/"):
        args = args.partition(" ")[2].strip()
    if args:
        yield args
    parsed = copy(command.command)
    parsed.caller = parsed.obj = character
    parsed.account = parsed.session = None
    parsed.cmdstring = parsed.raw_cmdname = command.typed
    parsed.args, parsed.raw_string, parsed.cmdset = command.args, f"{command.typed}{command.args}", command.cmdset
    try:
        parsed.parse()
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001 - a command that cannot take this line apart will not run it either
        _log.info("{line} could not be taken apart", line=command.line)
        return
    for value in vars(parsed).values():
        for text in value if isinstance(value, list | tuple) else (value,):
            if isinstance(text, str) and text.strip() and text.strip() in command.args:
                yield text.strip()


def _here(character: Any, names: Sequence[str]) -> Iterator[Any]:
    """Yield what the game's own search finds for these names: here, carried, or by number."""
    from evennia.objects.objects import DefaultObject  # noqa: PLC0415  (only where Django is set up)

    likely: Iterable[str] = names
    if type(character).search is DefaultObject.search:  # each search asks the database, so it runs only if it may find
        room = character.location
        around = [character, *character.contents, *((room, *room.contents) if room is not None else ())]
        known = [name.casefold() for one in around for name in (str(one.key), *one.aliases.all())]
        has_nicks = any(character.nicks.get(category=kind, return_list=True) for kind in ("object", "account"))
        likely = [name for name in names if has_nicks or _SPECIAL.match(name) or _may_fit(name, known)]
    for name in likely:
        yield from character.search(name, quiet=True)


def _may_fit(name: str, known: Sequence[str]) -> bool:
    """Tell whether any of the known names contains this one, leaving out the number that picks one of several."""
    bare = _PICK.sub("", name.casefold())
    return any(bare in one for one in known)


def _anywhere(names: Sequence[str]) -> Iterator[Any]:
    """Yield every object, account and channel in the game that has exactly one of these names."""
    from django.db.models import Q  # noqa: PLC0415  (only where Django is set up)
    from evennia.accounts.models import AccountDB  # noqa: PLC0415
    from evennia.comms.models import ChannelDB  # noqa: PLC0415
    from evennia.objects.models import ObjectDB  # noqa: PLC0415

    bare = [name.lstrip("*") for name in names]
    for model, key in ((ObjectDB, "db_key"), (AccountDB, "username"), (ChannelDB, "db_key")):
        named = Q(pk__in=())
        for name in bare:
            named |= Q(**{f"{key}__iexact": name})
        alias = Q(db_tags__db_tagtype="alias", db_tags__db_key__in=[name.casefold() for name in bare])
        yield from model.objects.filter(named)[: MOST + 1]
        yield from model.objects.filter(alias)[: MOST + 1]
