"""The character an assistant lives in: the game's own kind, with hearing and only a player's permissions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from types import FrameType
from typing import Any

from django.conf import settings
from evennia.typeclasses.tags import PermissionHandler
from evennia.utils.utils import class_from_module, lazy_property
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.body.border import Printout, escape
from mud_assistant.assistant.worlds.evennia.body.event_source import EventSource
from mud_assistant.assistant.worlds.evennia.body.identity import LIVING, PLAYER, Ladder, principal_of
from mud_assistant.tools.text.clean import one_line

_log = Logger()

USUAL_MARK = "(AI)"
#: The category of the Tag that is the fingerprint of the name and the description that the owner gave it.
_GIVEN = "mud_assistant_given"
#: The type that the game gives to a move from hand to hand.
GIVEN = "give"
#: How many callers up the stack a listing of characters is looked for.
_FRAMES = 8
AI_LINE = "(An AI character.)"
NOBODY_PLAYS_IT = "{name} is an AI character: nobody can play it."

_GameCharacter: Any = class_from_module(settings.BASE_CHARACTER_TYPECLASS)


def _is_listed() -> bool:
    """Tell whether the game is listing the characters of a room.

    Found on the call stack, as no hook of the game tells a list from a sentence.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
    for _ in range(_FRAMES):
        if frame is None:
            return False
        if frame.f_code.co_name == "get_display_characters":
            return True
        frame = frame.f_back
    return False


def ai_mark(character: Any) -> str:
    """Return the escaped mark after this character's name in a list; the usual one when no assistant lives in it."""
    runner = server.runner_of(character)
    if runner is None:
        return USUAL_MARK
    return escape(one_line(runner.config.assistant.ai_mark))


class CharacterRights(PermissionHandler):  # type: ignore[misc]  # Evennia has no types
    """The permissions of an assistant's character.

    A step of the game's ladder that is stored on the character does not count: to give it one would give it to every
    player who can talk to it. Other permissions (a guild, a language) count as stored.
    """

    def __init__(self, character: Any) -> None:
        super().__init__(character)
        self._ladder = Ladder.of_game()
        self._everyday = self._ladder.name(PLAYER)

    def all(self, return_key_and_category: bool = False, return_objs: bool = False) -> list[Any]:
        """Return the permissions that count now; with a flag, what is stored, as the game's own handler does."""
        if return_key_and_category or return_objs:
            stored: list[Any] = super().all(return_key_and_category, return_objs)
            return stored
        step = self.obj.ndb.raised_to or self._everyday
        others = [name for name in super().all() if not self._ladder.has(name)]
        return [*others, step.casefold()] if step else others


class AssistantCharacter(_GameCharacter):  # type: ignore[misc]  # known at run time only
    """A character that an assistant may live in; without one it is an empty body that hears nothing.

    All it keeps is in memory: settings, history and keys never touch the game's Attributes.
    """

    is_assistant = True

    @lazy_property  # type: ignore[untyped-decorator]  # Evennia has no types
    def permissions(self) -> CharacterRights:
        """Return a player's permissions, whatever is stored; higher ones only while a permitted command runs."""
        return CharacterRights(self)

    @property
    def is_superuser(self) -> bool:
        """Always False."""
        return False

    def at_object_creation(self) -> None:
        """Set the character up as the game does, and lock it against being played."""
        super().at_object_creation()
        self.locks.add("puppet:false()")

    @property
    def is_as_given(self) -> bool:
        """Whether its name and description are still those that its owner gave it.

        The game's own commands change them for anybody with the right to, and by request of a player for itself.
        """
        return bool(self.tags.has(self._looks(), category=_GIVEN))

    def note_as_given(self) -> None:
        """Note that the owner gave it the name and the description that it has now."""
        self.tags.clear(category=_GIVEN)
        self.tags.add(self._looks(), category=_GIVEN)

    def _looks(self) -> str:
        """Return the fingerprint of all that others read of it: name, description, and those of the rpsystem."""
        texts = [str(self.key), *(str(self.attributes.get(name)) for name in ("desc", "_sdesc", "pose"))]
        return sha256("\0".join(texts).encode()).hexdigest()

    def attach(self, hearing: EventSource) -> None:
        """Let an assistant hear what the character hears, in place of any earlier one."""
        self.detach()
        self.ndb.hearing = hearing
        LIVING.add(self)

    def detach(self) -> None:
        """Stop the hearing; what was heard and not yet handed over is dropped."""
        hearing, self.ndb.hearing = self.ndb.hearing, None
        LIVING.discard(self)
        if hearing is not None:
            hearing.close()

    def at_object_delete(self) -> bool:
        """Detach the assistant before the character is deleted. The others forget what it said."""
        self.detach()
        if server.is_open():
            server.service().forget_words_soon(principal_of(self, self))
        return bool(super().at_object_delete())

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> bool:
        """Let the assistant hear a message, or collect it as its command's output. Return True: none is held back."""
        try:
            printout = self.ndb.printout
            if printout is not None and (from_obj is None or from_obj is self):
                printout.add(text)
            elif (hearing := self.ndb.hearing) is not None:
                hearing.receive(text, from_obj, kwargs)
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001 - a fault of the assistant must not stop the game's message
            _log.failure("{name} could not take in a message", name=self.key)
        return True

    def at_object_receive(self, moved_obj: Any, source_location: Any, move_type: str = "move", **kwargs: Any) -> None:
        """Let the assistant know of a thing given by the game's own `give`; other moves are no gifts."""
        super().at_object_receive(moved_obj, source_location, move_type=move_type, **kwargs)
        hearing = self.ndb.hearing
        is_own_doing = self.ndb.printout is not None or source_location is None or source_location is self
        if hearing is None or move_type != GIVEN or is_own_doing:
            return
        try:
            hearing.receive_gift(moved_obj, source_location)
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001 - a fault of the assistant must not stop the gift
            _log.failure("{name} could not take in a gift", name=self.key)

    def at_pre_puppet(self, account: Any, session: Any = None, **kwargs: Any) -> None:
        """Refuse to be played: raise RuntimeError, whose text the game shows the player."""
        raise RuntimeError(NOBODY_PLAYS_IT.format(name=self.key))

    def return_appearance(self, looker: Any, **kwargs: Any) -> str:
        """Return the appearance as the game makes it, with a line that says that this is an AI character."""
        appearance = super().return_appearance(looker, **kwargs)
        return f"{appearance}\n{AI_LINE}" if appearance else ""

    def get_display_name(self, looker: Any = None, **kwargs: Any) -> str:
        """Return the name as the game shows it, with a mark where a player looks round the room."""
        name = str(super().get_display_name(looker, **kwargs))
        if getattr(looker, "is_assistant", False) or not _is_listed():
            return name
        mark = ai_mark(self)
        return f"{name} {mark}" if mark else name

    @contextmanager
    def raised_to(self, permission: str) -> Iterator[None]:
        """Give the character exactly this permission of the game's ladder within this context."""
        before, self.ndb.raised_to = self.ndb.raised_to, permission
        try:
            yield
        finally:
            self.ndb.raised_to = before

    @contextmanager
    def printing(self) -> Iterator[Printout]:
        """Collect what the game tells the character within this context; the assistant does not hear it."""
        before, self.ndb.printout = self.ndb.printout, Printout()
        try:
            yield self.ndb.printout
        finally:
            self.ndb.printout = before
