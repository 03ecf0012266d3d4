"""The lines of docs/gateway.md: what it tells owners to write is what is tried."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/gateway.md"
#: What stands on the page for an address, for any model, and for the name that Anthropic's programs take.
ADDRESS, MODELS, CLAUDE = "http://127.0.0.1:8420", ("small", "coder"), "claude-haiku-4-5-20251001"
QUESTION = "Where is the well?"
_SECTION = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Lines:
    """The page as an owner reads it whose gateway has this address, and this model under these two names."""

    address: str
    model: str
    claude: str

    def block(self, section: str, language: str) -> str:
        """Return what is to be written or run. Raises LookupError where the page shows none."""
        text = block(section, language).replace(ADDRESS, self.address).replace(CLAUDE, self.claude)
        return re.sub(rf"\b({'|'.join(MODELS)})\b", self.model, text)

    def commands(self, section: str) -> list[str]:
        """Return the command lines of a section."""
        return self.block(section, "sh").splitlines()


def block(section: str, language: str) -> str:
    """Return the first block in this language. Raises LookupError where the page shows none."""
    _, *parts = _SECTION.split(PAGE.read_text())
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    found = re.search(rf"```{language}\n(.*?)```", sections.get(section, ""), re.DOTALL)
    if found is None:
        raise LookupError(f"docs/gateway.md shows no {language} under {section!r}")
    return found.group(1)
