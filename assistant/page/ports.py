"""What the page asks of the world it is served in: who visits, and what only the world can do; and its errors."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from assistant.checks.finding import Finding
from assistant.page.host import KnownAssistant, PageHost
from assistant.page.values.actions import (
    ActionDone,
    ApprovalDecision,
    ApprovalView,
    CardList,
    CardRead,
    CharacterView,
    LorePreview,
    ModelTried,
    NewAssistant,
    NewCard,
    NewModel,
    PlayerView,
    SettingChange,
    SettingChanged,
)
from assistant.page.values.assistants import AssistantDetail, Overview, SettingLine
from assistant.page.values.common import VisitorRole
from assistant.page.values.keys import GatewayKeyMade, GatewayKeyView, NewGatewayKey
from assistant.page.values.money import UsageAnswer
from assistant.page.values.runs import RunPage, RunQuery, RunView
from tools import Principal

__all__ = ["KnownAssistant", "PageHost"]


class PageError(Exception):
    """An operation could not be done. `status` is that of HTTP, the message a sentence without keys."""

    status = 500
    title = "The operation failed"


class Unauthenticated(PageError):
    """Nobody is logged in."""

    status, title = 401, "Log in first"


class NotAllowed(PageError):
    """The visitor may not do this."""

    status, title = 403, "Not allowed"


class NotFound(PageError):
    """There is nothing of this name."""

    status, title = 404, "Not found"


class Conflict(PageError):
    """It was decided or changed by somebody else in the meantime."""

    status, title = 409, "Already decided"


class InvalidInput(PageError):
    """What was sent cannot be used; the message says what may be sent."""

    status, title = 422, "Not valid"


class TooManyRequests(PageError):
    """The visitor asks too often."""

    status, title = 429, "Too many requests"


class Unavailable(PageError):
    """The journal or the service cannot be used now."""

    status, title = 503, "Not available"


class Visitor(Struct, frozen=True):
    """Who visits the page. `principal` decides on approvals; `session` is an opaque id of their session."""

    principal: Principal
    role: VisitorRole
    session: str

    @property
    def name(self) -> str:
        """The visitor's name."""
        return self.principal.name


class Door(Protocol):
    """Who may come in. The one of a game asks its accounts; the standalone one checks its token."""

    def is_own_host(self, host: str) -> bool:
        """Tell whether the Host header (or what the game's proxy forwards for it) is one that this page answers to."""
        ...

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Tell whether an Origin header is this page's own."""
        ...

    def visitor(self, cookies: Mapping[str, str], bearer: str, address: str) -> Awaitable[Visitor | None]:
        """Return who sends a request, None for nobody. `bearer` is the token of an Authorization header, else empty.

        Raises NotAllowed for somebody who is known and has no right to the page, TooManyRequests after too many tries.
        """
        ...

    @property
    def login_url(self) -> str:
        """Where somebody who is not logged in is sent, with the page's path added as `next`; empty for nowhere."""
        ...


class Desk(Protocol):
    """Everything the pages and the API read and do. Every method takes who asks, and raises PageError.

    It checks the visitor's role itself, and leaves out the words of players for a viewer. Reading words of players is
    logged with who read them. Ids are those of the journal and of the commands; "" stands for all assistants.
    """

    def overview(self, who: Visitor) -> Awaitable[Overview]:
        """Return how all assistants are."""
        ...

    def assistant(self, who: Visitor, assistant: str) -> Awaitable[AssistantDetail]:
        """Return all that is known of one assistant, but for its runs."""
        ...

    def runs(self, who: Visitor, query: RunQuery) -> Awaitable[RunPage]:
        """Return the runs that a search finds, newest first."""
        ...

    def run(self, who: Visitor, run: str) -> Awaitable[RunView]:
        """Return one run as a tree."""
        ...

    def approvals(self, who: Visitor) -> Awaitable[Sequence[ApprovalView]]:
        """Return what waits for a decision, the oldest first."""
        ...

    def decide(self, who: Visitor, assistant: str, number: int, decision: ApprovalDecision) -> Awaitable[ActionDone]:
        """Allow or refuse what waits. Raises Conflict when it is not there any more, or is another call by now."""
        ...

    def standing(self, who: Visitor) -> Awaitable[Sequence[ApprovalView]]:
        """Return what was allowed for an hour."""
        ...

    def revoke(self, who: Visitor, assistant: str, number: int) -> Awaitable[ActionDone]:
        """End what was allowed for an hour."""
        ...

    def usage(self, who: Visitor, by: str, since: str, until: str) -> Awaitable[UsageAnswer]:
        """Return what was spent, by day, assistant, player, model or key; empty dates mean the present month."""
        ...

    def doctor(self, who: Visitor, assistant: str) -> Awaitable[Sequence[Finding]]:
        """Look for what is wrong. May take a minute."""
        ...

    def settings(self, who: Visitor, assistant: str) -> Awaitable[Sequence[SettingLine]]:
        """Return the settings of an assistant, or of the whole game for ""."""
        ...

    def change_setting(self, who: Visitor, assistant: str, change: SettingChange) -> Awaitable[SettingChanged]:
        """Change one setting; a model is asked first, as by the command in the game."""
        ...

    def set_model(self, who: Visitor, assistant: str, wanted: NewModel) -> Awaitable[ModelTried]:
        """Test another model with all checks of the doctor, and keep it when that is wanted and nothing is wrong."""
        ...

    def stop(self, who: Visitor, assistant: str) -> Awaitable[ActionDone]:
        """Stop an assistant now, or all for "": in memory first, then written down. Safe to repeat."""
        ...

    def start(self, who: Visitor, assistant: str) -> Awaitable[ActionDone]:
        """Let an assistant live again."""
        ...

    def reset(self, who: Visitor, assistant: str) -> Awaitable[ActionDone]:
        """Lift the emergency stop that crashed runs set."""
        ...

    def retry_parked(self, who: Visitor, assistant: str, event: str, *, clear: bool) -> Awaitable[ActionDone]:
        """Try again what was put aside, or clear it."""
        ...

    def character(self, who: Visitor, assistant: str) -> Awaitable[CharacterView]:
        """Return who an assistant is and what it knows."""
        ...

    def set_persona(self, who: Visitor, assistant: str, text: str) -> Awaitable[ActionDone]:
        """Let it play a character, or be who the words say."""
        ...

    def add_lore(
        self, who: Visitor, assistant: str, title: str, keys: Sequence[str], text: str
    ) -> Awaitable[ActionDone]:
        """Add a piece of lore."""
        ...

    def delete_lore(self, who: Visitor, assistant: str, number: int) -> Awaitable[ActionDone]:
        """Delete a piece of lore."""
        ...

    def preview_lore(self, who: Visitor, assistant: str, line: str) -> Awaitable[LorePreview]:
        """Return which pieces a line would bring up."""
        ...

    def create(self, who: Visitor, new: NewAssistant) -> Awaitable[ActionDone]:
        """Make an assistant."""
        ...

    def cards(self, who: Visitor) -> Awaitable[CardList]:
        """Return which cards can be imported, and which characters there are."""
        ...

    def import_card(self, who: Visitor, wanted: NewCard) -> Awaitable[CardRead]:
        """Show what a card brings, and import it when that is wanted."""
        ...

    def say(self, who: Visitor, assistant: str, text: str) -> Awaitable[ActionDone]:
        """Say something to an assistant, and wait for a while until it is dealt with."""
        ...

    def player(self, who: Visitor, player: str) -> Awaitable[PlayerView]:
        """Return what is kept of a player, as counts."""
        ...

    def clear_mind(self, who: Visitor, assistant: str, *, memories: bool) -> Awaitable[ActionDone]:
        """Delete what an assistant has in mind, and all its memories if told to."""
        ...

    def forget_player(self, who: Visitor, player: str) -> Awaitable[ActionDone]:
        """Delete what every assistant keeps of a player."""
        ...

    def gateway_keys(self, who: Visitor) -> Awaitable[Sequence[GatewayKeyView]]:
        """Return the keys of programs that use the gateway, with what each used."""
        ...

    def add_gateway_key(self, who: Visitor, new: NewGatewayKey) -> Awaitable[GatewayKeyMade]:
        """Make a key; its secret is in what is returned, and nowhere else."""
        ...

    def revoke_gateway_key(self, who: Visitor, name: str) -> Awaitable[ActionDone]:
        """Let a key not be taken any more."""
        ...

    def health(self) -> Awaitable[Mapping[str, bool]]:
        """Return what is ready: "journal" can be written, a "model" can be reached."""
        ...
