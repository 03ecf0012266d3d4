"""What one conversation turn knows of the web: the numbers of its sources, and the addresses that were shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from tools.web.cite import Citations, checked, footer
from tools.web.fetch.seen import SeenUrls


@dataclass(frozen=True, slots=True)
class WebTurn:
    """The state of one turn of one assistant; `seen` outlives it.

    In a `focused` turn only the hits that fit the question best are shown, for models too small to choose among many.
    """

    seen: SeenUrls = field(default_factory=SeenUrls)
    citations: Citations = field(default_factory=Citations)
    focused: bool = False

    def cited(self, words: str) -> str:
        """Return the words without marks of unknown sources, followed by the sources that they name."""
        found = checked(words, self.citations)
        if not found.used:
            return found.text
        return f"{found.text}\n{footer(self.citations.of(found.used))}"
