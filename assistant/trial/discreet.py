"""A screen on which the program's own remarks show no key. What the characters say is shown as they say it."""

from __future__ import annotations

from assistant.redaction import Secrets
from assistant.trial.session import Screen


class DiscreetScreen:
    """Hands everything on to another screen, remarks without keys."""

    def __init__(self, screen: Screen, secrets: Secrets) -> None:
        self._screen = screen
        self._secrets = secrets

    def show(self, text: str) -> None:
        """A piece of the transcript."""
        self._screen.show(text)

    def remark(self, text: str) -> None:
        """Something about the program, such as what a server said in an error."""
        self._screen.remark(self._secrets.scrub(text))

    def thinking(self, name: str | None) -> None:
        """Who is thinking now."""
        self._screen.thinking(name)
