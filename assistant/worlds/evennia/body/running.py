"""A resolved command of the game: what it would act on, and how the character runs it.

It would act on the place, and on every object, account and channel its words may mean. The command itself takes the
line apart (`parse`), as it does before it runs, and the game's own search finds what each part means for the character.
A part that several things fit means all of them. A command of a game's own that reads its words in another way is bound
to its line and the place alone (docs/policy.md). It runs with just the permission it needs, and what the game prints
meanwhile is its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from mud_assistant.assistant.worlds.evennia.body.border import FAILED, border
from mud_assistant.assistant.worlds.evennia.body.identity import seen_name
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import GameCommand, Target

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
ASKS_BACK = "(The command asks something back, which cannot be answered here. It was stopped there.)"
#: Command sets left on a character by a command that asks back, pages or edits: they would catch the next line.
_INTERRUPTING = {
    "input_cmdset", "yes_no_question_cmdset", "menu_cmdset", "more_commands", "editorcmdset", "quitsave_yesno",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class EvenniaCommand(GameCommand):
    """A resolved line with all that is needed to run exactly it; two that read the same are equal."""

    #: The game's command, its name as typed, the text after it, and the set it came from.
    command: Any = field(default=None, repr=False)
    typed: str = ""
    args: str = ""
    cmdset: Any = field(default=None, repr=False)
    #: The game's name for the permission that suffices, empty when the lowest one does.
    rank: str = ""


async def run(character: Any, command: EvenniaCommand) -> str:
    """Run the command and return what the game printed for the character.

    Raises ToolFailed when the command broke or the character may not use it. Cancelling abandons the wait: the command
    goes on, but with a player's permissions from then on.
    """
    if character.ndb.printout is not None:
        raise ToolFailed("Another command of yours is still running.")
    with character.raised_to(command.rank), character.printing() as printout:
        if not command.command.access(character, "cmd"):
            raise ToolFailed("The game does not let you use that command.")
        try:
            await _handle(character, command)
        finally:
            asked = _stop_asking(character)
    if any(sentence in printout.text for sentence in _broken_sentences()):
        _log.error("{name}: the command {line} broke", name=character.key, line=command.line)
        raise ToolFailed(FAILED)
    return f"{printout.text}\n{ASKS_BACK}".strip() if asked else printout.text


def _handle(character: Any, command: EvenniaCommand) -> Deferred[None]:
    """Run exactly this command in the game's command handler. Fires when the handler is done."""
    from evennia.commands.cmdhandler import cmdhandler  # only where Django is set up

    if hasattr(command.command, "_get_account_option"):
        # Without an account Evennia takes a whole entry of the defaults for a colour. Its tables then have borders of
        # forty characters, and drawing a small one holds the game up for seconds.
        command.command._get_account_option = _styled_as_new_accounts  # noqa: SLF001
    running = cmdhandler(
        character,
        command.args,
        callertype="object",
        cmdobj=command.command,
        cmdobj_key=command.typed,
        cmdset=command.cmdset,
    )
    done: Deferred[None] = Deferred()

    def tell(result: Any) -> None:
        if not done.called:  # else the wait was abandoned
            done.callback(result if isinstance(result, Failure) else None)
        elif isinstance(result, Failure):
            _log.failure("a command of {name} broke later on", result, name=character.key)

    running.addBoth(tell)
    return done


def _styled_as_new_accounts(option: str) -> Any:
    """Return the value that a new account has for this option, None for an unknown option."""
    from django.conf import settings  # only where Django is set up

    entry = settings.OPTIONS_ACCOUNT_DEFAULT.get(option)
    return entry[2] if entry else None


def _stop_asking(character: Any) -> bool:
    """Remove from the character what would catch its next command. Return whether there was anything."""
    left = [str(cmdset.key) for cmdset in character.cmdset.get() if str(cmdset.key).casefold() in _INTERRUPTING]
    for key in left:
        character.cmdset.remove(key)
    for name in ("_getinput", "_yes_no_question", "_evmenu", "_menutree", "_more", "_eveditor"):
        character.nattributes.remove(name)
    return bool(left)


def _broken_sentences() -> tuple[str, ...]:
    """Return what the command handler prints when a command breaks, in the language of the game."""
    from evennia.commands import cmdhandler  # only where Django is set up

    pairs = (cmdhandler._ERROR_UNTRAPPED, cmdhandler._ERROR_CMDSETS, cmdhandler._ERROR_CMDHANDLER)  # noqa: SLF001
    return tuple(" ".join(str(sentence).split()) for pair in pairs for sentence in pair)


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
    from evennia.objects.objects import DefaultObject  # only where Django is set up

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
    from django.db.models import Q  # only where Django is set up
    from evennia.accounts.models import AccountDB
    from evennia.comms.models import ChannelDB
    from evennia.objects.models import ObjectDB

    bare = [name.lstrip("*") for name in names]
    for model, key in ((ObjectDB, "db_key"), (AccountDB, "username"), (ChannelDB, "db_key")):
        named = Q(pk__in=())
        for name in bare:
            named |= Q(**{f"{key}__iexact": name})
        alias = Q(db_tags__db_tagtype="alias", db_tags__db_key__in=[name.casefold() for name in bare])
        yield from model.objects.filter(named)[: MOST + 1]
        yield from model.objects.filter(alias)[: MOST + 1]
