"""Puts one guest in one game together: its connection, its ears, what it types, and its body."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint

from mud_assistant.assistant.runtime.listener import MakeEvent
from mud_assistant.assistant.worlds.telnet.profiles.profile import Profile
from mud_assistant.assistant.worlds.telnet.reading.game_ears import Ears
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons
from mud_assistant.assistant.worlds.telnet.reading.surroundings import SeenRoom, SeenSurroundings
from mud_assistant.assistant.worlds.telnet.reading.told_phrases import Elsewhere, at_once
from mud_assistant.assistant.worlds.telnet.reading.wire_reading import hear_wire
from mud_assistant.assistant.worlds.telnet.session.game_wire import GamePlace, LinkListener
from mud_assistant.assistant.worlds.telnet.session.link import GameLink
from mud_assistant.assistant.worlds.telnet.session.session_state import State
from mud_assistant.assistant.worlds.telnet.telnet_body import TelnetBody
from mud_assistant.assistant.worlds.telnet.typing_lines import Typist
from mud_assistant.tools.trust import Principal

_AWAY = frozenset({State.CONNECTING, State.CLOSED})


class TelnetGuest:
    """A character as a guest in a game.

    `place` is where the game is, with the session of `profile`. `hear` takes the events of the character,
    `asked_for` what somebody asks for in private (`game_ears.RIGHTS`), `on_state` each state of the
    game and why, and `on_bytes` all bytes of both sides (by the server or not), without secrets. `may_act` is asked
    before each line: with a shared journal, whether this process still is the character. `elsewhere` does what takes
    long. With `would_type` no line is typed: it gets what would be, but for looks.
    """

    def __init__(
        self,
        me: Principal,
        profile: Profile,
        persons: Persons,
        place: GamePlace,
        *,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        dice: Random,
        hear: Callable[[MakeEvent], None],
        asked_for: Callable[[Principal, str], None] | None = None,
        on_state: Callable[[State, str], None] = lambda _state, _why: None,
        on_bytes: Callable[[bool, bytes], None] = lambda _by_server, _data: None,
        introduction: str = "",
        may_act: Callable[[], bool] = lambda: True,
        elsewhere: Elsewhere = at_once,
        would_type: Callable[[str], None] | None = None,
    ) -> None:
        self._on_state, self._may_act = on_state, may_act
        self._state = State.CLOSED
        self._around = SeenSurroundings(clock.seconds)
        self._ears = Ears(
            profile, persons, me, around=self._around, clock=clock, hear=hear, asked_for=asked_for,
            elsewhere=elsewhere,
        )  # fmt: skip
        looks = {profile.verbs.look, profile.verbs.who}
        would = None if would_type is None else lambda line: None if line in looks else would_type(line)
        self._typist = Typist(clock, self._type, self._may_speak, self._ears, would_type=would)
        self.body = TelnetBody(
            me, profile, persons=persons, around=self._around, ears=self._ears, typist=self._typist, clock=clock,
            introduction=introduction,
        )  # fmt: skip
        listener = LinkListener(
            on_event=lambda event: hear_wire(self._ears, event),
            on_state=self._entered,
            on_dropped=self._typist.dropped,
            on_bytes=on_bytes,
            may_act=may_act,
        )
        self.link = GameLink(endpoint, clock, dice, place, listener)

    def start(self) -> None:
        """Go into the game, and come back after each loss of the connection that passes."""
        self.link.start()

    def stop(self) -> Deferred[None]:
        """Leave the game. Lines that wait are not typed. What is returned fires when the connection is gone."""
        gone = self.link.stop()
        self._forget()
        return gone

    def silence(self) -> None:
        """Type none of the lines that wait."""
        self._typist.stop()

    @property
    def room(self) -> SeenRoom:
        """The room that the character is in, as far as it was seen."""
        return self._around.room

    def _may_speak(self) -> bool:
        return self.link.may_speak and self._may_act()

    def _type(self, line: str) -> None:
        self.link.type_line(line)

    def _entered(self, state: State, why: str) -> None:
        if state in _AWAY:
            self._forget()
        elif state is State.PLAYING and self._state is State.LOGIN:
            self._ears.greet()
        self._state = state
        self._on_state(state, why)

    def _forget(self) -> None:
        """Drop what waits for an answer, and what was seen of the room: the connection is gone."""
        self._typist.stop()
        self._ears.stop()
        self._around.leave()
