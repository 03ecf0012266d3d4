"""What an operator decides and does: approvals, actions and their answers, checks, changes of settings, lore."""

from __future__ import annotations

from mud_assistant.assistant.checks.finding import Finding
from mud_assistant.assistant.page.values.common import Value


class ApprovalView(Value, frozen=True, kw_only=True):
    """A call that waits for leave, exactly as it will run. `digest` stands for it: a decision must give it back.

    `approved_by` is set for a call that was allowed for an hour: it may be made again until then.
    """

    assistant: str
    name: str
    number: int
    tool: str
    shown: str
    arguments: str
    digest: str
    requester: str = ""
    requester_id: str = ""
    because: str = ""
    needs: str = ""
    approved_by: str = ""
    expires_in: float


class ApprovalDecision(Value, frozen=True):
    """The body of a decision. `lasts` is once, or hour: then the same exact call may be made again for an hour."""

    allow: bool
    digest: str
    lasts: str = "once"


class ActionDone(Value, frozen=True):
    """What came of an action, in a sentence, and what was going on when it came."""

    sentence: str
    was: tuple[str, ...] = ()


class SettingChange(Value, frozen=True):
    """A change of one setting. An empty `value` takes it back. `force` keeps a model that does not answer."""

    option: str
    value: str
    force: bool = False


class SettingChanged(Value, frozen=True):
    """What came of a change: the sentence for the owner, and the value as it is kept."""

    option: str
    value: str
    sentence: str


class NewModel(Value, frozen=True):
    """The body of a change of the model: provider, address, model and the reference of its key, as one.

    An empty one is the provider's own choice, or none. It is tested as the doctor does, and kept with `keep` when
    nothing is wrong; with `force` it is kept without a test.
    """

    provider: str
    url: str = ""
    model: str = ""
    key: str = ""
    keep: bool = False
    force: bool = False


class ModelTried(Value, frozen=True):
    """What the doctor found of a model, and whether the change was kept."""

    kept: bool
    sentence: str
    findings: tuple[Finding, ...] = ()


class LoreLine(Value, frozen=True):
    """One piece of lore: its number, title, keys and text. `own` says that it was added in the game."""

    number: int
    title: str
    keys: tuple[str, ...]
    text: str
    own: bool = False


class NewPersona(Value, frozen=True):
    """The body of a change of who an assistant is: the name of a character, or words."""

    text: str


class MindToClear(Value, frozen=True):
    """The body of a clearing of a mind: whether all memories go, too."""

    memories: bool = False


class NewLore(Value, frozen=True, kw_only=True):
    """The body of a new piece of lore."""

    title: str
    keys: tuple[str, ...] = ()
    text: str


class CharacterView(Value, frozen=True):
    """Who an assistant is, and what its character knows."""

    assistant: str
    name: str
    persona: str
    character: str = ""
    known_characters: tuple[str, ...] = ()
    lore: tuple[LoreLine, ...] = ()


class LorePreview(Value, frozen=True):
    """Which pieces of lore a line would bring up, and the text that the model would be shown."""

    line: str
    pieces: tuple[LoreLine, ...]
    text: str = ""


class PlayerView(Value, frozen=True):
    """What is kept of a player: counts only; `forget` removes it."""

    id: str
    name: str
    runs: int = 0
    memories: int = 0
    muted_by: tuple[str, ...] = ()


class NewAssistant(Value, frozen=True):
    """The body of a new assistant: its name, and who it is: the name of a character, or words; empty for the usual."""

    name: str
    persona: str = ""


class NewLine(Value, frozen=True):
    """The body of what a visitor says to an assistant."""

    text: str


class CardList(Value, frozen=True):
    """The files in the folder of characters that may be cards, and the characters that an assistant can play."""

    files: tuple[str, ...] = ()
    characters: tuple[str, ...] = ()


class NewCard(Value, frozen=True):
    """The body of a card to import: a `file` of the folder of characters, or the card itself as JSON in `text`.

    It is only shown until `keep` is set. `name` is the character's, or that of the one a lorebook is for.
    """

    file: str = ""
    text: str = ""
    name: str = ""
    keep: bool = False


class CardRead(Value, frozen=True):
    """What a card brings, in words, and whether it was imported as the character `name`."""

    kept: bool
    name: str
    sentence: str
    brings: str = ""
