"""What the page asks of the world it is served in: who visits, and what only the world can do."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

from mud_assistant.assistant.checks.finding import Finding
from mud_assistant.assistant.config.options import Option
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.page.values.actions import NewModel, SettingChanged
from mud_assistant.assistant.page.values.assistants import SettingLine
from mud_assistant.assistant.service.operations.operated import KnownAssistant, SettingsStore
from mud_assistant.assistant.service.operations.operators import (
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Operator,
    Unavailable,
)
from mud_assistant.assistant.service.operations.operators import OperationRefused as PageError

__all__ = [
    "Conflict",
    "Door",
    "EditedStore",
    "InvalidInput",
    "KnownAssistant",
    "NotAllowed",
    "NotFound",
    "PageError",
    "PageHost",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
    "Visitor",
    "setting_line",
]


class Unauthenticated(PageError):
    """Nobody is logged in."""

    status, title = 401, "Log in first"


class TooManyRequests(PageError):
    """The visitor asks too often."""

    status, title = 429, "Too many requests"


class Visitor(Operator, frozen=True):
    """Who visits the page. `session` is an opaque id of their session."""

    session: str


class Door(Protocol):
    """Who may come in. The one of a game asks its accounts; the standalone one checks its token."""

    def is_own_host(self, host: str) -> bool:
        """Tell whether the Host header is one that this page answers to."""
        ...

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Tell whether an Origin header is this page's own."""
        ...

    def visitor(self, cookies: Mapping[str, str]) -> Awaitable[Visitor | None]:
        """Return who sends a request with these cookies, None for nobody.

        Raises NotAllowed for somebody who is known and has no right to the page, TooManyRequests after too many tries.
        """
        ...

    @property
    def login_url(self) -> str:
        """Where somebody who is not logged in is sent, with the page's path added as `next`; empty for nowhere."""
        ...


class EditedStore(SettingsStore, Protocol):
    """Where a world keeps settings, with what the page shows and changes of them."""

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


class PageHost(Protocol):
    """What a world tells the page. Methods that wait may use a thread for the game's database."""

    @property
    def store(self) -> EditedStore | None:
        """Where settings are kept; None where a journal is only looked at."""
        ...

    def assistants(self) -> Sequence[KnownAssistant]:
        """Return every assistant of the world. Must not block: it may be up to a second old."""
        ...

    def names(self, ids: Sequence[str]) -> Awaitable[Mapping[str, str]]:
        """Return the names of players and assistants by their ids; ids that are not known any more are left out."""
        ...

    def findings(self) -> Awaitable[Sequence[Finding]]:
        """Return what the world finds of its own installation, for the doctor."""
        ...


def setting_line(option: Option, set_by: str) -> SettingLine:
    """Return a setting as the page shows it. `set_by` is assistant, character, game or default."""
    return SettingLine(
        name=option.name,
        value=option.value,
        meaning=option.meaning,
        set_by=set_by,
        default=option.default,
        allowed=option.allowed,
        example=option.example,
    )
