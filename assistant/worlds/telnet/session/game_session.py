"""What state a game is in, and what may be typed now: READ FIRST for why a line was not sent.

    connecting --> login --> playing <--> pager, question, editor, asleep, unknown
                     |          |-------> menu
                     '----------'-------> closed, with its cause

Nothing that the character says is typed unless it plays. A prompt that the profile does not know is `unknown`: it stops
speech until a known one comes. While text is coming no line is typed either, since it may be the beginning of a menu:
a line waits until the game shows a prompt or is silent.
"""

from __future__ import annotations

import re

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from mud_assistant.assistant.worlds.telnet.profiles.session_forms import fits
from mud_assistant.assistant.worlds.telnet.profiles.session_tables import SessionProfile
from mud_assistant.assistant.worlds.telnet.session.login import LoginScript, Typed
from mud_assistant.assistant.worlds.telnet.session.session_state import Hooks, State, shape_of
from mud_assistant.assistant.worlds.telnet.wire.wire_events import (
    Cause,
    Closed,
    HeardLine,
    Pause,
    Prompt,
    Secret,
    WireEvent,
)

#: Seconds of silence after which what stands there is a prompt, and after which a pager, a question or an editor that
#: still waits is left. Seconds that the game has to answer each step of a login, and to show a prompt that is missing.
SILENCE, LEAVE_AFTER, STEP_SECONDS, NO_PROMPT = 0.4, 1.0, 20.0, 2.0
#: Lines that wait until the game does; one more drops the first. Seconds after which a line is not typed any more.
MOST_HELD, STALE_AFTER = 4, 10.0
_WEB = re.compile(r"HTTP/\d|<(?:!doctype|html|\?xml)", re.IGNORECASE)
_ENDS = {"usurped": Cause.USURPED, "removed": Cause.REMOVED, "restart": Cause.RESTART, "immortal": Cause.IMMORTAL}


class GameSession:
    """One connection's session. `may_play_immortal` allows a character that has rights over the game.

    One that `hears_only` types nothing after the log-in.
    """

    def __init__(
        self,
        profile: SessionProfile,
        clock: IReactorTime,
        hooks: Hooks,
        login: LoginScript,
        *,
        may_play_immortal: bool = False,
        hears_only: bool = False,
    ) -> None:
        self._profile, self._clock, self._hooks, self._login = profile, clock, hooks, login
        self._ends = {kind: cause for kind, cause in _ENDS.items() if kind != "immortal" or not may_play_immortal}
        self._hears_only = hears_only
        self.state = State.CONNECTING
        self._is_secret = False
        # Whether the game waits: it showed a prompt, or was silent. Whether anything came since a line was typed.
        self._is_settled = self._has_answered = False
        self._has_text = self._was_woken = False
        self._prompt = ""
        self._shape = ""
        self._held: list[tuple[float, str]] = []
        self._was_left = False
        self._silence: IDelayedCall | None = None
        self._late: IDelayedCall | None = None
        self._leaving: IDelayedCall | None = None
        self._missing: IDelayedCall | None = None

    @property
    def may_speak(self) -> bool:
        """Whether a line may be typed, at once or when the game is silent."""
        return self.state is State.PLAYING and not (self._is_secret or self._hears_only)

    @property
    def prompt(self) -> str:
        """What the game showed last and waits behind, empty where it waits behind nothing."""
        return self._prompt

    def connected(self) -> None:
        """Begin to log in."""
        self._enter(State.LOGIN, "connected")
        self._late = self._clock.callLater(STEP_SECONDS, self._is_late)
        self._stir()

    def stirred(self) -> None:
        """Note that bytes came: the game does not wait, whatever it showed."""
        self._is_settled, self._has_answered = False, True
        self._stop(self._leaving)
        self._stop(self._missing)
        self._stir()

    def type_line(self, line: str) -> None:
        """Type a line, when the game waits. It is dropped when the character does not play, or plays no more."""
        if not self.may_speak:
            self._hooks.on_dropped(line)
            return
        self._held.append((self._clock.seconds(), line))
        if len(self._held) > MOST_HELD:
            self._hooks.on_dropped(self._held.pop(0)[1])
        self._type_held()

    def heard(self, event: WireEvent) -> None:
        """Take what came from the game."""
        if self.state is State.CLOSED:
            return
        if isinstance(event, HeardLine):
            self._heard_line(event)
        elif isinstance(event, Prompt):
            self._heard_prompt(event)
        elif isinstance(event, Secret):
            self._is_secret = event.on
            if self.state is State.LOGIN and event.on and self._login.waits_for_secret:
                self._try_step()
        elif isinstance(event, Closed):
            self._close(event.cause)
        else:
            self._hooks.on_event(event)

    def left_with(self, text: str) -> None:
        """Take the last words of a game that closed the connection: they may say that it is for good."""
        if self.state is not State.CLOSED:
            self._ended_by(text)

    def lost(self) -> None:
        """Stop all timers: the connection is gone. Lines that wait are dropped."""
        self.state = State.CLOSED
        for timer in (self._silence, self._late, self._leaving, self._missing):
            self._stop(timer)
        self._drop_held()

    def _heard_line(self, line: HeardLine) -> None:
        if not self._has_text and _WEB.match(line.text):
            self._close(Cause.NOT_A_GAME)
            return
        self._has_text = self._has_text or bool(line.text)
        if self._ended_by(line.text):
            return
        if self._is_over(line.text):
            self._enter(State.PLAYING, line.text)
        prompt, self._prompt = self._prompt, ""
        if self.state is State.LOGIN:
            self._login.heard(line)
        elif line.text.strip() != prompt or not self._is_known(prompt):
            self._enter_shown(line.text)
            self._tell(line)

    def _is_over(self, text: str) -> bool:
        """Tell whether a line shows that what the game waited for is over.

        An unknown prompt may be the first half of a late line. A game without prompts shows it by any line.
        """
        is_half = bool(self._prompt) and text.startswith(self._prompt)
        without_prompts = not (self._profile.prompts or self._shape)
        if self.state is State.UNKNOWN:
            return is_half or without_prompts
        return self.state in {State.QUESTION, State.EDITOR, State.PAGER} and self._was_left and without_prompts

    def _heard_prompt(self, prompt: Prompt) -> None:
        self._prompt = prompt.text
        if self._ended_by(prompt.text):
            return
        if self.state is State.LOGIN:
            self._login.asked(prompt.text)
            self._try_step()
        elif self._is_known(prompt.text):
            if self.state is not State.ASLEEP:
                self._enter(State.PLAYING, prompt.text)
            self._tell(prompt)
            self._settle()
        elif fits(self._profile.pagers, prompt.text):
            self._enter(State.PAGER, prompt.text)
        elif not self._enter_shown(prompt.text, by_prompt=True) and self.state is State.PLAYING:
            self._enter(State.UNKNOWN, prompt.text)

    def _ended_by(self, text: str) -> bool:
        """Close, where the text says that the session is over."""
        for kind, cause in self._ends.items():
            if fits(self._profile.states[kind], text):
                self._close(cause)
                return True
        if self.state is State.LOGIN and (ending := self._login.ended_by(text)):
            self._close(ending)
            return True
        return False

    def _is_known(self, text: str) -> bool:
        """Tell whether this is the prompt of somebody who plays."""
        if self._profile.prompts:
            return fits(self._profile.prompts, text) is not None
        return bool(self._shape) and shape_of(text) == self._shape

    def _enter_shown(self, text: str, *, by_prompt: bool = False) -> bool:
        """Enter the state that a line or a prompt shows, and tell whether it shows one."""
        forms = self._profile.states if by_prompt else self._profile.shown
        for state in (State.MENU, State.QUESTION, State.EDITOR, State.ASLEEP):
            if fits(forms[state.value], text):
                self._enter(state, text)
                return True
        if self.state is State.ASLEEP and fits(forms["awake"], text):
            self._enter(State.PLAYING, text)
        return False

    def _enter(self, state: State, why: str) -> None:
        if state is self.state:
            return
        self.state, self._was_left = state, False
        if state is not State.PLAYING:
            self._drop_held()
        self._hooks.on_state(state, self._login.masked(why))

    def _tell(self, event: HeardLine | Prompt) -> None:
        if self.state is not State.MENU:
            self._hooks.on_event(self._login.without_secret(event))

    def _try_step(self) -> None:
        """Answer what the game asks, or begin to play when it says so."""
        if (typed := self._login.answer(is_secret=self._is_secret)) is not None:
            self._hooks.send(typed)
            self._prompt = ""
            if self._late is not None:
                self._late.reset(STEP_SECONDS)
        elif self._login.is_playing():
            self._stop(self._late)
            self._shape = shape_of(self._prompt)
            self._enter(State.PLAYING, "logged in")
            for line in self._login.seen():
                self._enter_shown(line.text)
                self._tell(line)
            # What somebody says now is no part of the room that was shown.
            if self._prompt:
                self._tell(Prompt(self._prompt))
            self._hooks.on_event(Pause())
            self._settle()

    def _stir(self) -> None:
        if self._silence is not None and self._silence.active():
            self._silence.reset(SILENCE)
        elif self.state is not State.CLOSED:
            self._silence = self._clock.callLater(SILENCE, self._is_silent)

    def _is_silent(self) -> None:
        for event in self._hooks.quiet():
            self.heard(event)
        if self.state is State.LOGIN:
            self._try_step()
        elif self.state in {State.PAGER, State.QUESTION, State.EDITOR}:
            self._leaving = self._clock.callLater(LEAVE_AFTER, self._leave)
        elif not self._profile.tables.prompt.always:
            self._settle()
        elif self._has_answered:
            self._stop(self._missing)
            self._missing = self._clock.callLater(NO_PROMPT, self._settle)

    def _leave(self) -> None:
        """Leave what waits, which is the last thing that the game showed: nothing came since."""
        leave = {State.PAGER: self._profile.tables.pager.leave}
        leave |= {State(kind): line for kind, line in self._profile.tables.states.leave.model_dump().items()}
        if (line := leave.get(self.state, "")) and not self._hears_only:
            self._was_left = True
            self._hooks.send(Typed(line))

    def _settle(self) -> None:
        self._is_settled = True
        self._type_held()

    def _type_held(self) -> None:
        while self._held and self._held[0][0] < self._clock.seconds() - STALE_AFTER:
            self._hooks.on_dropped(self._held.pop(0)[1])
        if self._is_settled and self._held and self.may_speak:
            self._is_settled = self._has_answered = False
            self._hooks.send(Typed(self._held.pop(0)[1]))
            self._stir()

    def _drop_held(self) -> None:
        held, self._held = self._held, []
        for _, line in held:
            self._hooks.on_dropped(line)

    def _is_late(self) -> None:
        if not (self._has_text or self._prompt or self._was_woken):
            # A server that says nothing may wait for us.
            self._was_woken = True
            self._hooks.send(Typed(""))
            self._late = self._clock.callLater(STEP_SECONDS, self._is_late)
            return
        self._close(Cause.LOGIN_UNHIDDEN if self._login.waits_for_secret else Cause.LOGIN, self._prompt)

    def _close(self, cause: Cause, why: str = "") -> None:
        self.lost()
        self._hooks.close(cause, self._login.masked(why)[:200])

    @staticmethod
    def _stop(timer: IDelayedCall | None) -> None:
        if timer is not None and timer.active():
            timer.cancel()
