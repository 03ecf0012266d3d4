"""Everything that the owner of an assistant is told in one sentence.

    AssistantError             the message is a sentence for the owner; it holds no key
    ├── SettingsError          the settings cannot be used (config/settings.py); a ValueError too
    ├── CharacterError         a character cannot be read or written (characters/character.py); below it CardRefused
    ├── PlaceFileError         a file of rooms and characters cannot be used (worlds/embedded/place_file.py)
    ├── KeyReferenceError      a reference leads to no key, or the key was given for another server; a ValueError too
    ├── NoModelError           there is no model to think with
    ├── JournalError           the journal cannot be used; its own errors are below it (journal/errors.py)
    ├── CannotRead             a journal cannot be read by the replay or the doctor (journal/sqlite/reading.py)
    ├── ServiceNotRunning      no assistant can run in this game now; a RuntimeError too
    ├── InstallError           the line in a game's settings stands where it cannot work (worlds/evennia/install.py)
    ├── AccountTaken           an assistant's account cannot be made (worlds/evennia/accounts.py)
    ├── GameError              `mud-assistant game` cannot go on
    ├── NotSetUp               `mud-assistant setup` ends before its last question
    └── CannotWrite            a file of the settings was not written (surfaces/setup/writing.py)

An error of a model that is asked is an `llm.LLMError`, and one of a tool a `tools.ToolError`: the player sees what
comes of it, and the owner a trouble (service/troubles.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class AssistantError(Exception):
    """The base of all errors that the owner is told."""

    #: What cannot be done because of it, where the message alone does not say so.
    consequence = ""
    #: Whether it may be over later without anybody changing anything.
    passes = False

    @property
    def sentence(self) -> str:
        """The sentence for the owner."""
        return f"{self.consequence}: {self}" if self.consequence else str(self)


class KeyReferenceError(AssistantError, ValueError):
    """The reference leads to no key; the message says what to do and never holds a key."""


class NoModelError(AssistantError):
    """There is no model to think with; the message says why and what to do."""


class ServiceNotRunning(AssistantError, RuntimeError):
    """There is no service now; the message says why."""


class GameError(AssistantError):
    """The game cannot be made, started or stopped; the message says why and what to do."""


class NotSetUp(AssistantError):
    """Setup ended without writing anything; the message says why."""


def did_you_mean(wanted: str, names: Iterable[str]) -> str:
    """Return the question whether the one of these names was meant that is most like `wanted`; empty for none."""
    known = {name.casefold(): name for name in names}
    near = get_close_matches(wanted.casefold(), known, n=1)
    return f"did you mean '{known[near[0]]}'?" if near else ""


def complaint(error: AssistantError | str) -> str:
    """Return the line that a command prints on standard error when it cannot go on."""
    return f"mud-assistant: {error.sentence if isinstance(error, AssistantError) else error}"
