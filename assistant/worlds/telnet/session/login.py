"""Logs in by the steps of a profile: each answers what came after the line that was typed last."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.worlds.telnet.profiles.session_forms import fits
from mud_assistant.assistant.worlds.telnet.profiles.session_tables import LoginStep, Patterns, SessionProfile
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause, HeardLine, Prompt

#: The most lines that are kept of what came since the last line was typed.
_MOST_LINES = 100
#: Shorter secrets are not looked for in what the game shows: they would be found in any text.
_LEAST_SECRET = 4
_ENDS = {"wrong": Cause.LOGIN_DENIED, "refused": Cause.REFUSED, "new": Cause.NEW_CHARACTER}


class Typed(Struct, frozen=True):
    """A line to type. One that `is_secret` is never logged, traced, recorded or remembered."""

    line: str
    is_secret: bool = False

    def __repr__(self) -> str:
        """Show the line, unless it is a secret."""
        return f"Typed({'...' if self.is_secret else self.line!r})"


class Credentials(Struct, frozen=True):
    """Who logs in: the character, its account where the game has such, and the password."""

    name: str
    password: str
    account: str = ""

    def __repr__(self) -> str:
        """Show no password."""
        return f"Credentials({self.name!r})"


class LoginScript:
    """The steps of one login, each of which is taken at most once."""

    def __init__(self, profile: SessionProfile, who: Credentials) -> None:
        self._profile, self._who = profile, who
        self._left = list(profile.steps)
        self._lines: list[HeardLine] = []
        self._prompt = ""
        #: Whether a password is asked for, and would not be hidden.
        self.waits_for_secret = False

    def heard(self, line: HeardLine) -> None:
        """Take a line of the game."""
        if len(self._lines) == _MOST_LINES:
            del self._lines[0]
        self._lines.append(line)
        self._prompt = ""

    def asked(self, prompt: str) -> None:
        """Take a prompt of the game."""
        self._prompt = prompt

    def ended_by(self, text: str) -> Cause | None:
        """Return why the login is over, where the text says so."""
        # Before anything was typed, what is shown is for everybody: it may tell new players what to do.
        kinds = _ENDS if len(self._left) < len(self._profile.steps) else ("refused",)
        return next((_ENDS[kind] for kind in kinds if fits(self._profile.login[kind], text)), None)

    def answer(self, *, is_secret: bool) -> Typed | None:
        """Return what answers the game now, None for nothing. A password waits until the game hides it."""
        self.waits_for_secret = False
        for step in self._left:
            if (holes := self._fitting(step)) is None:
                continue
            written, has_password = step[0], "{password}" in step[0].send
            if has_password and not (is_secret or written.plain):
                self.waits_for_secret = True
                return None
            # What is worded in several ways is answered once: a password that is asked for again was wrong.
            self._left = [one for one in self._left if one is not step and not _same(one[0].send, written.send)]
            self._lines, self._prompt = [], ""
            return Typed(self._filled(written, holes), is_secret=has_password or is_secret)
        return None

    def is_playing(self) -> bool:
        """Tell whether the game shows that the character plays."""
        playing = self._profile.login["playing"] or self._profile.prompts
        return any(fits(playing, text) for text in self._texts())

    def seen(self) -> list[HeardLine]:
        """Return the lines since the last step, which show where the character is."""
        return self._lines

    def masked(self, text: str) -> str:
        """Return the text without the password, should the game have shown it."""
        password = self._who.password
        return text.replace(password, "...") if len(password) >= _LEAST_SECRET else text

    def without_secret(self, event: HeardLine | Prompt) -> HeardLine | Prompt:
        """Return what came without the password, should the game have shown it."""
        text = self.masked(event.text)
        return event if text == event.text else replace(event, text=text)

    def _texts(self) -> list[str]:
        texts = [line.text for line in self._lines]
        return [*texts, self._prompt] if self._prompt else texts

    def _fitting(self, step: tuple[LoginStep, Patterns, Patterns]) -> Mapping[str, str] | None:
        """Return what the holes of a step hold, None where it does not fit."""
        holes: dict[str, str] = {}
        for forms in step[1:]:
            found = next((one for text in reversed(self._texts()) if (one := fits(forms, text))), None)
            if forms and found is None:
                return None
            holes |= found.groupdict("") if found else {}
        return holes

    def _filled(self, step: LoginStep, holes: Mapping[str, str]) -> str:
        values = {**holes, "name": self._who.name, "account": self._who.account or self._who.name}
        line = step.send
        for hole, value in {**values, "password": self._who.password}.items():
            line = line.replace(f"{{{hole}}}", value)
        return line


def _same(one: str, other: str) -> bool:
    """Tell whether two steps type the same; a password is the same in whatever line."""
    return bool(one) and (one == other or ("{password}" in one and "{password}" in other))
