"""Stops what an assistant does to its world, at once: the last door of an emergency stop, and of a lease that is over.

Cancelling a run is not enough: code that was cancelled may still say that nothing came of it, and a long speech may be
finished. Whatever goes on behind a closed door changes nothing in the game.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from mud_assistant.tools import Person, Principal, Scene, ToolFailed, World
from mud_assistant.tools.game import GameCommand, GameTime, Route, game_time, present, principal_now, somebody_plays
from mud_assistant.tools.trust import Audience

#: What an act that came too late is answered.
STOPPED = "You were stopped: nothing was done."
ELSEWHERE = "Another process may be this character by now: nothing was done."


class HaltableWorld(World):
    """A world that takes no more acts after `halt`. Looking stays possible, because nobody notices it.

    `may_act` is asked at every act: with a shared journal, whether this process still is the character.
    """

    __slots__ = ("_is_halted", "_may_act", "_world", "guests")

    def __init__(self, world: World, may_act: Callable[[], bool] = lambda: True) -> None:
        self._world = world
        self._may_act = may_act
        self._is_halted = False
        #: The ids of those who are not in the game and read what it says elsewhere, such as on the operator's page.
        self.guests: set[str] = set()

    def halt(self) -> None:
        """Take no more acts from now on."""
        self._is_halted = True

    def look(self) -> Awaitable[Scene]:
        """Return the scene around the character."""
        return self._world.look()

    def inspect(self, target: str) -> Awaitable[str]:
        """Return the description of one thing, person or exit in the scene."""
        return self._world.inspect(target)

    def who(self) -> Awaitable[Sequence[Person]]:
        """Return everybody who is in the game."""
        return self._world.who()

    def say(self, text: str) -> Awaitable[None]:
        """Speak aloud."""
        return self._acting().say(text)

    def emote(self, text: str) -> Awaitable[None]:
        """Act visibly."""
        return self._acting().emote(text)

    def whisper(self, target: str, text: str, *, only: Audience = None) -> Awaitable[None]:
        """Speak to one person in the room, and to nobody but those in `only`."""
        return self._acting().whisper(target, text, only=only)

    def hears(self, who: Principal) -> bool:
        """Tell whether this person would hear the character speak aloud now, or reads it elsewhere."""
        return who.id in self.guests or self._world.hears(who)

    def page(self, target: str, text: str, *, only: Audience = None) -> Awaitable[None]:
        """Speak to one person anywhere in the game, and to nobody but those in `only`."""
        return self._acting().page(target, text, only=only)

    def speak_on(self, channel: str, text: str) -> Awaitable[None]:
        """Speak on a channel."""
        return self._acting().speak_on(channel, text)

    def move(self, direction: str) -> Awaitable[Scene]:
        """Leave by an exit."""
        return self._acting().move(direction)

    def route(self, place: str) -> Awaitable[Route]:
        """Find the way to the nearest room that `place` names."""
        return self._world.route(place)

    def go_home(self) -> Awaitable[Scene]:
        """Go to the character's home."""
        return self._acting().go_home()

    def is_left_alone(self) -> bool:
        """Tell whether the character is away from home in a room without players."""
        return self._world.is_left_alone()

    def time(self) -> GameTime | None:
        """Return the clock of the game, None where it has none."""
        return game_time(self._world)

    def present(self, seconds: float) -> tuple[Principal, ...]:
        """Return the players who hear the character and typed something within `seconds`."""
        return present(self._world, seconds)

    def somebody_plays(self, seconds: float) -> bool:
        """Tell whether any player of the game typed something within `seconds`."""
        return somebody_plays(self._world, seconds)

    def who_is(self, id_: str) -> Principal | None:
        """Return who has this id, with the permission of now."""
        return principal_now(self._world, id_)

    def resolve(self, line: str) -> Awaitable[GameCommand]:
        """Return the command that the game takes `line` for. Nothing is run."""
        return self._world.resolve(line)

    def execute(self, command: GameCommand) -> Awaitable[str]:
        """Run exactly this command."""
        return self._acting().execute(command)

    def _acting(self) -> World:
        """Return the world to act in. Raises ToolFailed after `halt`, and when another may be the character."""
        if self._is_halted:
            raise ToolFailed(STOPPED)
        if not self._may_act():
            raise ToolFailed(ELSEWHERE)
        return self._world
