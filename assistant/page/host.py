"""What the page asks of the world it is served in: who is there, and what only the world can do."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from assistant.checks.finding import Finding
from assistant.config.schema import ModelConfig
from assistant.page.values.actions import CharacterView, LorePreview, NewModel, SettingChanged
from assistant.page.values.assistants import SettingLine


class KnownAssistant(Struct, frozen=True):
    """An assistant of the world, running or not. `place` names the room it is in."""

    id: str
    name: str
    is_off: bool = False
    place: str = ""


class PageHost(Protocol):
    """What a world does itself for the page. Methods that wait may use a thread for the game's database.

    They raise PageError, SettingsError and JournalError. The game's own commands do the same by the same functions.
    """

    def assistants(self) -> Sequence[KnownAssistant]:
        """Return every assistant of the world. Must not block: it may be up to a second old."""
        ...

    def names(self, ids: Sequence[str]) -> Awaitable[Mapping[str, str]]:
        """Return the names of players and assistants by their ids; ids that are not known any more are left out."""
        ...

    def start(self, assistant: str) -> Awaitable[str]:
        """Let an assistant live, now and after restarts. Return a sentence."""
        ...

    def stay_off(self, assistant: str) -> Awaitable[None]:
        """Keep an assistant, which was stopped already, off through restarts."""
        ...

    def settings(self, assistant: str) -> Awaitable[Sequence[SettingLine]]:
        """Return the settings of an assistant, or of the whole game for an empty id."""
        ...

    def change_setting(self, assistant: str, option: str, value: str, *, force: bool) -> Awaitable[SettingChanged]:
        """Change one setting of an assistant, or of the whole game for an empty id. An empty value takes it back."""
        ...

    def create(self, name: str, persona: str) -> Awaitable[str]:
        """Make an assistant, which lives at once, and return a sentence. Raises InvalidInput where none can be made."""
        ...

    def model_with(self, assistant: str, wanted: NewModel) -> Awaitable[ModelConfig]:
        """Return how the model of an assistant would be set with this change. Keeps nothing."""
        ...

    def keep_model(self, assistant: str, wanted: NewModel) -> Awaitable[str]:
        """Keep this change, without asking the model. Return a sentence."""
        ...

    def character(self, assistant: str) -> Awaitable[CharacterView]:
        """Return who an assistant is and what it knows."""
        ...

    def set_persona(self, assistant: str, text: str) -> Awaitable[str]:
        """Let it play the character of this name, or be who the words say. Return a sentence."""
        ...

    def add_lore(self, assistant: str, title: str, keys: Sequence[str], text: str) -> Awaitable[str]:
        """Add a piece of lore. Return a sentence."""
        ...

    def delete_lore(self, assistant: str, number: int) -> Awaitable[str]:
        """Delete a piece of lore that was added in the game. Return a sentence."""
        ...

    def preview_lore(self, assistant: str, line: str) -> Awaitable[LorePreview]:
        """Return what a line would bring up."""
        ...

    def findings(self) -> Awaitable[Sequence[Finding]]:
        """Return what the world finds of its own installation, for the doctor."""
        ...
