"""One character of Evennia as the `World` of its assistant: it sees, speaks and acts through the game."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from mud_assistant.assistant.worlds.evennia.body import game_commands, moment, running, scenery
from mud_assistant.assistant.worlds.evennia.body.border import border, escape_for_game, split_speech, tell
from mud_assistant.assistant.worlds.evennia.body.identity import (
    PLAYER,
    UNKNOWN,
    Ladder,
    find_subject,
    id_of,
    is_assistant,
    living,
    principal_of,
    seen_name,
)
from mud_assistant.tools.errors import ToolFailed, Unheard
from mud_assistant.tools.game import GameCommand, GameTime, Person, Route, Scene, Written
from mud_assistant.tools.text.route import search_route
from mud_assistant.tools.trust import Audience, Principal

if TYPE_CHECKING:
    from mud_assistant.assistant.worlds.evennia.body.far_speech import AccountChannel

T = TypeVar("T")
_log = Logger()

#: Seconds between two pieces of a long answer, so that it can be read.
PIECE_SECONDS = 1.5
#: The game's colour codes.
_COLOURS = {
    "red": "|r", "green": "|g", "yellow": "|y", "blue": "|b", "magenta": "|m", "cyan": "|c", "white": "|w",
    "grey": "|x",
}  # fmt: skip
#: How long an answer from an earlier life of the Server waits for a listener, in seconds.
GATHERING_SECONDS = 60.0
NOBODY_HEARS = "Nobody is here to hear you."
NO_ACCOUNT = "You have no account in this game, so you can neither page nor speak on a channel."


class EvenniaBody:
    """The world of one assistant's character. `far` is its account, where it has one.

    `pause_seconds` pass between the pieces of a long speech. `colour` is the name of the colour of its speech.
    """

    def __init__(
        self,
        character: Any,
        clock: IReactorTime,
        far: AccountChannel | None = None,
        pause_seconds: float = PIECE_SECONDS,
        colour: str = "",
    ) -> None:
        self.character = character
        self._clock = clock
        self._far = far
        self._pause_seconds = pause_seconds
        self._colour = _COLOURS.get(colour, "")
        #: Called after every piece of speech in the room.
        self.spoke: Callable[[], None] = lambda: None
        self._ladder = Ladder.of_game()
        self._is_silent, self.without_use = False, frozenset[str]()
        self.rooms_named = scenery.rooms_named

    def silence(self) -> None:
        """Say nothing more, not even the rest of a long speech."""
        self._is_silent = True

    def where(self) -> str:
        """Return the identity of the room, empty for nowhere."""
        room = self.character.location
        return f"#{room.pk}" if room is not None else ""

    async def look(self) -> Scene:
        """Describe the scene round the character."""
        return self._game(lambda: scenery.scene(self.character))

    async def inspect(self, target: str) -> str:
        """Describe one thing here, a person, an exit, oneself ('me') or the room ('here'), as looking at it does."""
        return self._game(lambda: scenery.inspect(self.character, target))

    async def who(self) -> Sequence[Person]:
        """List all connected players and living assistants; the character comes first."""
        return self._game(lambda: scenery.in_game(self.character, living()))

    def hears(self, who: Principal) -> bool:
        """Tell whether this person would hear the character speak aloud now. Does not wait, and must not raise."""
        return self._tell("who hears it", lambda: who.id in map(id_of, self._listeners()), otherwise=False)

    def present(self, seconds: float) -> tuple[Principal, ...]:
        """Return the players who hear the character and typed something within `seconds`. Must not raise."""
        me, of = self.character, lambda one: principal_of(one, self.character, self._ladder)
        return self._tell("who is there", lambda: tuple(map(of, scenery.awake(me, seconds))), otherwise=())

    def somebody_plays(self, seconds: float) -> bool:
        """Tell whether anybody in the game typed something within `seconds`. Must not raise."""
        return self._tell("who plays", lambda: scenery.somebody_plays(seconds), otherwise=False)

    def time(self) -> GameTime | None:
        """Return the game's clock. Does not wait, and must not raise."""
        return self._tell("the time", moment.time_of_game, otherwise=None)

    def who_is(self, id_: str) -> Principal | None:
        """Return who has this id, in the game or not; None for nobody. Who is away has their character's own rank."""
        return self._tell("who somebody is", lambda: self._principal(find_subject(id_)), otherwise=None)

    async def wait_for_listener(self, seconds: float = GATHERING_SECONDS) -> None:
        """Wait until a listener is there, for at most `seconds`.

        After a crash of the Server players come back to their characters one by one, later than a kept answer is ready.
        """
        until = self._clock.seconds() + seconds
        while self._clock.seconds() < until and not self._game(self._listeners):
            await deferLater(self._clock, 1.0)

    async def say(self, text: str) -> None:
        """Speak aloud, in pieces. Raises Unheard when there is no listener, ToolFailed when the game forbids it."""
        if not self._game(self._listeners):
            raise Unheard(NOBODY_HEARS)
        await self._in_pieces(text, self._speak)

    async def emote(self, text: str) -> None:
        """Act visibly, as `NAME text`."""
        self._game(lambda: self._pose(text))

    def sign(self, text: str) -> None:
        """Show a small act if there is anyone to see it. A failure is only logged."""
        try:
            if self._game(self._listeners):
                self._game(lambda: self._pose(text))
        except ToolFailed as failed:
            _log.info("{name} could not give a sign: {why}", name=self.character.key, why=str(failed))

    async def whisper(self, target: str, text: str, *, only: Audience = None) -> None:
        """Speak to one person in the room, of those in `only`, in pieces. Raises ToolFailed that says who is there."""
        hearer = self._game(lambda: scenery.find_person(self.character, target, only))
        await self._in_pieces(text, lambda piece: self._speak(piece, hearer))

    async def page(self, target: str, text: str, *, only: Audience = None) -> None:
        """Speak to one person anywhere in the game, of those in `only`. Raises ToolFailed for nobody."""
        account = self._account
        with self._label_failures():
            await account.page(target, text, only)

    async def speak_on(self, channel: str, text: str) -> None:
        """Speak on a channel that the account listens to. Raises ToolFailed that lists those channels."""
        account = self._account
        with self._label_failures():
            await account.speak_on(channel, text)

    async def move(self, direction: str) -> Scene:
        """Leave by an exit, with its locks and hooks, and describe the next room. Raises ToolFailed if refused."""
        before, way = self._game(
            lambda: (scenery.room_of(self.character), scenery.find_exit(self.character, direction))
        )
        command = self._game(lambda: game_commands.walking(way, self._ladder.name(PLAYER)))
        printed = await self._await_game(running.run(self.character, command))
        if self.character.location is before:
            raise ToolFailed(printed or f"The game does not let you go {seen_name(way, self.character)}.")
        return await self.look()

    async def route(self, place: str) -> Route:
        """Find the way to the nearest room that `place` names, over exits that the character sees and may pass."""
        ways = scenery.Ways(self.character)
        here = self._game(lambda: scenery.room_of(self.character))
        name, steps, _ = await search_route(
            here, lambda room: self._game(lambda: ways.of(room)), place, lambda: deferLater(self._clock, 0.0)
        )
        return Route(name, steps, ways.level)

    async def go_home(self) -> Scene:
        """Go to the character's home, announced like any move. Raises ToolFailed when the game's hooks forbid it."""
        me = self.character
        if me.home is None:
            raise ToolFailed("You have no home in this game.")
        if me.location is me.home:
            raise ToolFailed("You are at home already.")
        self._game(lambda: scenery.move_to(me, me.home))
        return await self.look()

    def is_left_alone(self) -> bool:
        """Tell whether the character is away from home, with no player in the room. False when that is not known."""
        me = self.character

        def is_alone() -> bool:
            is_away = me.location is not None and me.home is not None and me.location is not me.home
            return is_away and all(map(is_assistant, self._listeners()))

        return self._tell("who is there", is_alone, otherwise=False)

    async def resolve(self, line: str) -> GameCommand:
        """Return the command that the game takes `line` for. Nothing is run. Raises ToolFailed for no command.

        Aliases are replaced, nicks are not.
        """
        return await self._await_game(game_commands.resolve(self.character, line, self._ladder))

    async def execute(self, command: GameCommand) -> str:
        """Run exactly this command, without looking it up again, and return what the game printed."""
        if not isinstance(command, running.EvenniaCommand):
            raise ToolFailed("That is no command of this game.")
        before = self._reach()  # the command may take people, things and the character itself elsewhere
        printed = await self._await_game(running.run(self.character, command))
        had = UNKNOWN if before is None else before.level_of(printed)
        levels = [level for level in (had, self._level(printed)) if level is not None]
        return Written(printed, min(levels)) if levels else printed

    async def _in_pieces(self, text: str, speak: Callable[[str], None]) -> None:
        """Say the first piece now and each other one after a pause. When cancelled, say the rest, unless silenced."""
        pieces = split_speech(text)
        for index, piece in enumerate(pieces):
            if index and self._pause_seconds > 0:
                try:
                    await deferLater(self._clock, self._pause_seconds)
                except CancelledError:
                    for rest in () if self._is_silent else pieces[index:]:
                        self._game(lambda rest=rest: speak(rest))  # type: ignore[misc]
                    raise
            self._game(lambda piece=piece: speak(piece))  # type: ignore[misc]

    def _speak(self, piece: str, hearer: Any = None) -> None:
        """Let the character speak as the game's own commands do: the words are a value, never a template."""
        me = self.character
        told: dict[str, Any] = {"whisper": True, "receivers": [hearer]} if hearer is not None else {}
        words: Any = self._colour_words(escape_for_game(piece))
        if not scenery.poses_its_speech(me):
            words = me.at_pre_say(words, **told)
        if not words:
            raise ToolFailed("The game does not let you speak now.")
        me.at_say(words, msg_self=True, **told)
        self.spoke()

    def _colour_words(self, words: str) -> str:
        """Give escaped words their colour, which ends with the piece."""
        return f"{self._colour}{words}|n" if self._colour else words

    def _pose(self, text: str) -> None:
        """Show an act to the room."""
        act = escape_for_game(" ".join(text.split()))
        gap = "" if act.startswith(("'", ",", ":")) else " "
        scenery.room_of(self.character).msg_contents(
            (f"{{actor}}{gap}{{act}}", {"type": "pose"}),
            from_obj=self.character,
            mapping={"actor": self.character, "act": act},
        )

    @property
    def _account(self) -> AccountChannel:
        if self._far is None:
            raise ToolFailed(NO_ACCOUNT)
        return self._far

    def _game(self, act: Callable[[], T]) -> T:
        """Return what the game's code returns. Its failures are logged and become ToolFailed with one sentence."""
        with self._label_failures(), border(self.character.key):
            return act()

    async def _await_game(self, work: Awaitable[T]) -> T:
        """Await the game's code like `_game`."""
        with self._label_failures(), border(self.character.key):
            return await work

    @contextmanager
    def _label_failures(self) -> Iterator[None]:
        """Give a ToolFailed raised in this context the level of the names and texts that its sentence may hold."""
        try:
            yield
        except ToolFailed as failed:
            levels = [level for level in (failed.authority, self._level(str(failed))) if level is not None]
            failed.authority = min(levels, default=None)
            raise

    def _reach(self) -> scenery.Reach | None:
        """Return whose texts the game may show the character now, None when that cannot be told."""
        return self._tell("whose texts it sees", lambda: scenery.reach(self.character, living()), otherwise=None)

    def _listeners(self) -> list[Any]:
        return scenery.listeners(self.character)

    def _principal(self, subject: Any) -> Principal | None:
        return None if subject is None else principal_of(subject, self.character, self._ladder)

    def _tell(self, what: str, ask: Callable[[], T], *, otherwise: T) -> T:
        return tell(self.character.key, what, ask, otherwise)

    def _level(self, text: str) -> int | None:
        """Return the lowest level of any text that the game may have put into this one, UNKNOWN if nobody can tell."""
        reach = self._reach()
        return UNKNOWN if reach is None else reach.level_of(text)
