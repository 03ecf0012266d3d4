"""Hides keys in the program's own remarks on a screen. What the characters say is shown unchanged."""

from __future__ import annotations

from assistant.keys.redaction import Secrets
from assistant.surfaces.trial.session import Screen


class DiscreetScreen:
    """A screen that passes everything on to another one, remarks without keys."""

    def __init__(self, screen: Screen, secrets: Secrets) -> None:
        self._screen = screen
        self._secrets = secrets

    def show(self, text: str) -> None:
        """Show a piece of the transcript."""
        self._screen.show(text)

    def remark(self, text: str) -> None:
        """Show a remark about the program, such as a server's error text, without keys."""
        self._screen.remark(self._secrets.scrub(text))

    def thinking(self, name: str | None) -> None:
        """Show who is thinking now, None when nobody is."""
        self._screen.thinking(name)
