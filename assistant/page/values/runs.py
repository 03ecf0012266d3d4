"""What assistants did: the list of runs, and one run as a tree."""

from __future__ import annotations

from mud_assistant.assistant.page.values.common import Value
from mud_assistant.resilience import Amount


class RunQuery(Value, frozen=True):
    """A search of runs. Empty fields do not narrow it. `before` is the id of a run: older ones are returned.

    `player` is an id, or a part of a name. `outcome` is answered, nothing, limit, failed, cancelled or open. `text` is
    looked for in what was heard or said. `since` and `until` are times.
    """

    assistant: str = ""
    player: str = ""
    tool: str = ""
    outcome: str = ""
    text: str = ""
    since: float | None = None
    until: float | None = None
    before: str = ""
    limit: int = 50


class RunSummary(Value, frozen=True, kw_only=True):
    """One run in a list. `heard` and `said` are empty for a viewer, and when they were forgotten."""

    id: str
    assistant: str
    name: str
    opened_at: float
    closed_at: float | None = None
    outcome: str
    sentence: str = ""
    player: str = ""
    player_id: str = ""
    heard: str = ""
    said: str = ""
    tools: tuple[str, ...] = ()
    steps: int = 0
    models: tuple[str, ...] = ()
    used: Amount = Amount()


class RunPage(Value, frozen=True):
    """Runs, newest first. `next` is the `before` of the following page, empty at the end.

    `is_partial` says that the search ended after looking at as many runs as one request may.
    """

    runs: tuple[RunSummary, ...]
    next: str = ""
    is_partial: bool = False


class HeardInRun(Value, frozen=True):
    """One event of a run. `verdict` is trigger or context."""

    id: str
    kind: str
    who: str
    who_id: str
    text: str
    verdict: str
    importance: int
    at: float | None = None
    is_private: bool = False


class AskedRequest(Value, frozen=True):
    """The exact bytes of one request to a model as text, without keys. `bytes` is their whole length.

    `is_cut` says that `text` is only the beginning and the end.
    """

    step: int
    origin: str
    path: str
    text: str
    bytes: int
    is_cut: bool = False


class CallView(Value, frozen=True):
    """One call of a step: what was asked, which rule judged it, what came of it.

    `arguments` is JSON. `rule` names the rule that decided, `judged` says it as a sentence.
    """

    index: int
    name: str
    arguments: str
    status: str
    rule: str = ""
    judged: str = ""
    result: str = ""
    seconds: float | None = None
    authority: int | None = None
    is_speech: bool = False


class StepView(Value, frozen=True):
    """One step: asked, answered, called. `asked` is None when the bytes are not kept any more; `why_not` says so."""

    number: int
    provider: str
    model: str
    asked: tuple[AskedRequest, ...] = ()
    why_not: str = ""
    finish_reason: str = ""
    reasoning: str = ""
    text: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    from_text: bool = False
    calls: tuple[CallView, ...] = ()


class RunView(Value, frozen=True):
    """One run as a tree: heard, recalled, then each step, then how it ended. `steps_left_out` were too many to show.

    `is_hidden` says that the words are not shown, because the visitor is a viewer. `replay` is the command that shows
    the run, and `test` is the text of a test that runs it again.
    """

    summary: RunSummary
    heard: tuple[HeardInRun, ...] = ()
    recalled: tuple[str, ...] = ()
    steps: tuple[StepView, ...] = ()
    steps_left_out: int = 0
    unreadable: int = 0
    is_hidden: bool = False
    replay: str = ""
    test: str = ""
