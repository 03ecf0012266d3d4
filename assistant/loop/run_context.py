"""The dependencies with which an assistant's runs think and act."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from twisted.internet.interfaces import IReactorTime

from assistant.config.schema import AssistantConfig, ModelConfig
from assistant.events.conversation import Conversations
from assistant.events.floor import Floor
from assistant.events.scheduler import Scheduler
from assistant.events.trace import Observer
from assistant.journal import Journal
from assistant.keys.pieces import KeyPieces
from assistant.loop.billing import Billing
from assistant.loop.speech.fallback_line import FallbackLine, Waking
from assistant.loop.speech.repeats import Repeats
from assistant.memory.history import History
from assistant.memory.lowering import Voices
from assistant.memory.window import Window
from llm import Message, ModelChain
from llm.modes.capabilities import is_hopeless
from tools import (
    Approvals,
    Notes,
    PolicyConfig,
    Principal,
    Registry,
    World,
)
from tools.following import Following
from tools.web.fetch.seen import SeenUrls


@dataclass(frozen=True, slots=True)
class RunContext:
    """The dependencies with which a run thinks and acts. The composition root makes it once."""

    me: Principal
    world: World
    notes: Notes
    client: ModelChain
    registry: Registry
    #: What the assistant may do, and on whose word.
    rules: PolicyConfig
    #: The calls it has asked leave for. The same object as in the rules.
    approvals: Approvals
    journal: Journal
    history: History
    #: Whether the model is asked in plain turns, as a small one is (`assistant/talk/`), and not with tools.
    plain: bool
    #: Whether the model is asked in plain turns as well once its calls turn out to be unreadable.
    may_turn_plain: bool
    #: How the model's context window is divided between the front of the prompt, the stream, and the answer.
    window: Window
    settings: AssistantConfig
    model: ModelConfig
    clock: IReactorTime
    #: Shared with the other assistants of the process: a run waits here to begin, and to go on after each answer.
    scheduler: Scheduler
    random: Random
    observer: Observer
    billing: Billing
    #: The addresses that may be opened: those that stood in a search result or in a player's words.
    seen: SeenUrls
    #: Returns a text without the keys in it.
    scrub: Callable[[str], str]
    #: Keeps it from telling a key piece by piece.
    pieces: KeyPieces
    #: What the character does when the model cannot be asked (`fallback_line`), when the budget of the day is used up
    #: (`budget_line`), and when a player asks too often (`rate_line`).
    fallback_line: FallbackLine
    budget_line: FallbackLine
    rate_line: FallbackLine
    #: Told that a player waits while the model has never answered yet.
    waking: Waking
    #: Tells a player one sentence outside the story, where they are. A player who is away is told nothing.
    notify: Callable[[Principal, str], None]
    #: The player it follows.
    following: Following
    #: Those whose words and names it met, to tell whose words lower what it may do.
    voices: Voices = field(default_factory=Voices)
    #: The conversations it is in.
    talk: Conversations = field(default_factory=lambda: Conversations(lambda: 0.0, 0.0))
    #: Keeps it from repeating what it heard, what it said, or an example of the prompt.
    repeats: Repeats = field(default_factory=Repeats)
    #: Shared with the other assistants of the process: says which of them speaks when.
    floor: Floor | None = None
    #: The identity of the room it is in, empty when that is not known.
    where: Callable[[], str] = str

    @property
    def is_asked_plainly(self) -> bool:
        """Whether the model is asked in plain turns, because it is small or because its calls were unreadable."""
        return self.plain or (self.may_turn_plain and is_hopeless(self.client.record.calls))

    def room_turn(self) -> Awaitable[None] | None:
        """Take the next turn to speak in the room it is in. Return None when it may speak at once."""
        return None if self.floor is None else self.floor.turn(self.where(), self.settings.room_pause_seconds)

    @property
    def front(self) -> Sequence[Message]:
        """The messages before the stream in every prompt, which never change: persona, rules, examples."""
        return self.window.front.messages
