"""Lines that somebody says to the assistant, each with the plan by which the scripted model answers it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.events.outcome import Limit, Outcome
from mud_assistant.llm import Message, ToolCall
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.trust import TOP, Audience, channel_id

SAGE = Principal("assistant:sage", "Sage", Kind.ASSISTANT, permission=3)
ANN = Principal("player:ann", "Ann")
BEA = Principal("player:bea", "Bea")
GUS = Principal("player:gus", "Gus", permission=0)
CARL = Principal("player:carl", "Carl", permission=3)
OPAL = Principal("operator:opal", "Opal", Kind.OPERATOR, permission=5)
ODA = Principal("assistant:oda", "Oda", Kind.ASSISTANT)
PEOPLE = (ANN, BEA, GUS, CARL, OPAL, ODA)
#: What the words of each count for, by the table of docs/policy.md.
LEVELS = {ANN.id: 1, BEA.id: 1, GUS.id: 0, CARL.id: 3, OPAL.id: 5, ODA.id: 0}
STAFF = (ANN, CARL)
STAFF_CHANNEL = "staff"
#: What it does when a budget is used up, and when somebody asks too often.
_BUDGET_LINE, _RATE_LINE = AssistantConfig().budget_line, AssistantConfig().rate_line
#: A word of a line, by its number: one that everybody may read, and one that was told in private.
WORD = re.compile(r"(?:open|plum)(\d+)q")
SECRET = re.compile(r"plum(\d+)q")
#: A word of an answer, by the number of its line.
ANSWERED = re.compile(r"Word(\d+)[abc]")
#: A call of the scripted model: of which line, and which of its answers.
CALL_ID = re.compile(r"m(\d+)\.(\d+)\.")


class Way(StrEnum):
    """Where a line is said."""

    ALOUD = "aloud"
    CHANNEL = "on a channel that everybody may listen to"
    STAFF = "on a channel of a few"
    WHISPER = "in a whisper"
    PAGE = "in a page"


class Plan(StrEnum):
    """How the model answers a line."""

    EARLY = "streams a call to speak"
    TEXT = "streams text without a call"
    WHOLE = "speaks in one piece"
    CHANGES_MIND = "begins with one sentence and ends with another"
    BREAKS_OFF = "fails after the first sentence"
    RINGS = "does a deed, and then speaks"
    RINGS_AT_ONCE = "does a deed and speaks in one answer"
    BURNS = "does what takes a builder"
    SMASHES = "does what is not granted"
    ASKS_FAR = "reads the web beside the room"
    RECALLS = "looks into its memory"
    BLABS = "tells everybody all it reads"
    CONFIDES = "whispers something new to another"
    NOTHING = "chooses to say nothing"
    EMPTY = "gives neither text nor a call"
    STUCK = "does the same again and again"
    SEEKS = "never comes to an answer"


#: How a plan that never speaks ends.
ENDLESS = {Plan.EMPTY: Limit.FORMAT_ERRORS, Plan.STUCK: Limit.NO_PROGRESS, Plan.SEEKS: Limit.STEPS}
#: What a model says of a line in an answer that it may begin early.
FIRST, REST, OTHER = "Word{}a is all that I can tell you.", "Word{}b goes with {}.", "Word{}c is better than that."
FIRST_PART, REST_PART = "a is all that", "b goes with"


@dataclass
class Line:
    """One line. One with no plan is only overheard."""

    number: int
    who: Principal
    way: Way
    plan: Plan | None
    at: float
    #: Whom it is about: who is whispered to.
    other: Principal = BEA
    event: str = ""
    #: Whether the assistant took it for a line that asks for an answer, and the outcomes that settled it.
    is_trigger: bool = False
    settled: list[Outcome] = field(default_factory=list)
    #: How often the owner had it tried again after it was put aside, and whether it ever was.
    unparked: int = 0
    is_put_aside: bool = False

    @property
    def is_private(self) -> bool:
        return self.way in {Way.STAFF, Way.WHISPER, Way.PAGE}

    @property
    def word(self) -> str:
        return f"{'plum' if self.is_private else 'open'}{self.number}q"

    @property
    def text(self) -> str:
        return f"{'Sage' if self.plan else self.other.name}, about the {self.word} we spoke of"

    @property
    def hearers(self) -> Audience:
        """Who hears the answer."""
        if self.way is Way.STAFF:
            return frozenset({channel_id(STAFF_CHANNEL)})
        return frozenset({self.who.id}) if self.is_private else None

    @property
    def audience(self) -> Audience:
        """Who may be told of the line."""
        return self.hearers | {self.who.id} if self.hearers is not None else None


@dataclass
class Run:
    """One run: its lines, what it cost, and what it was shown."""

    id: str
    lines: list[Line]
    #: For whom nothing more is spent in this process, and for whom it was counted as an answer.
    broke: set[str] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)
    calls: int = 0
    processes: int = 0
    #: The lowest level of what its model was shown last.
    shown: int = TOP
    reads_secrets: bool = False

    @property
    def line(self) -> Line | None:
        """The line that is answered: the last of those by people, else the last of those by assistants."""
        left = [one for one in self.lines if one.is_trigger and one.who.id not in self.broke]
        people = [one for one in left if one.who.kind is not Kind.ASSISTANT]
        return next(iter(reversed(people or left)), None)


def check_excuse(text: str, *, is_used_up: bool, is_too_often: bool) -> None:
    """Tell whether what it does, when it does not answer, says why."""
    assert text != _BUDGET_LINE or is_used_up, "it is tired, and nobody's budget is used up"
    assert text != _RATE_LINE or is_too_often, "it asks for patience, and nobody asked too often"


def reaches(audience: Audience, hearers: Audience) -> bool:
    """Tell whether all these hearers are among those who may be told."""
    return audience is None or (hearers is not None and hearers <= audience)


@dataclass
class Answer:
    """One answer of the model. `streamed` is how much of its words comes piece by piece, and then it may break off."""

    calls: tuple[tuple[str, dict[str, str]], ...] = ()
    text: str = ""
    streamed: str = ""
    is_broken: bool = False


def steps_taken(line: Line, messages: Sequence[Message]) -> int:
    """How many answers to this line the model sees that it gave."""
    found = (CALL_ID.match(call.id) for message in messages for call in message.tool_calls)
    return len({match[2] for match in found if match and int(match[1]) == line.number})


def calls_of(line: Line, step: int, answer: Answer) -> tuple[ToolCall, ...]:
    """The calls of an answer under ids of their own."""
    return tuple(ToolCall(f"m{line.number}.{step}.{at}", *call) for at, call in enumerate(answer.calls))


LOOK: tuple[str, dict[str, str]] = ("ponder", {"thought": "again"})


def _does(deed: str, line: Line) -> tuple[str, dict[str, str]]:
    return deed, {"number": f"{line.number}"}


def _says(text: str) -> tuple[str, dict[str, str]]:
    return "say", {"text": text}


def _tells_all(line: Line, secrets: Sequence[str]) -> Answer:
    told = " ".join(["Psst", *secrets])
    others = [who.name for who in PEOPLE if who != line.who]
    each = [(how, {"target": name, "text": told}) for name in others[:2] for how in ("whisper", "page")]
    return Answer(
        (*each, ("channel", {"channel": "public", "text": told}), ("emote", {"text": f"nods at {told}"}), LOOK)
    )


#: How the model answers a line, from the line, the number of the answer and the whole words; and the same for the first
#: answer alone, after which it speaks.
Told = Callable[[Line, int, str], Answer]
ANSWERS: dict[Plan, Told] = {
    Plan.EARLY: lambda _, __, whole: Answer((_says(whole), LOOK), streamed=whole),
    Plan.TEXT: lambda _, __, whole: Answer(text=whole, streamed=whole),
    Plan.CHANGES_MIND: lambda line, _, whole: Answer((_says(OTHER.format(line.number)), LOOK), streamed=whole),
    Plan.BREAKS_OFF: lambda _, __, whole: Answer((_says(whole),), streamed=whole, is_broken=True),
    Plan.NOTHING: lambda *_: Answer((LOOK, ("noop", {"reason": "nobody needs me"}))),
    Plan.EMPTY: lambda *_: Answer(),
    Plan.STUCK: lambda *_: Answer((LOOK,)),
    Plan.SEEKS: lambda _, step, __: Answer((("ponder", {"thought": f"thought {step}"}),)),
}
FIRST_ANSWERS: dict[Plan, Told] = {
    Plan.RINGS_AT_ONCE: lambda line, _, whole: Answer((_does("ring", line), LOOK, _says(whole))),
    Plan.RINGS: lambda line, *_: Answer((_does("ring", line), LOOK)),
    Plan.BURNS: lambda line, *_: Answer((_does("burn", line), LOOK)),
    Plan.SMASHES: lambda line, *_: Answer((_does("smash", line), LOOK)),
    Plan.ASKS_FAR: lambda *_: Answer((("far", {"question": "the weather at sea"}), ("look", {}), LOOK)),
    Plan.RECALLS: lambda *_: Answer((("recall", {"query": "what we spoke of"}), LOOK)),
    Plan.CONFIDES: lambda line, *_: Answer(
        (LOOK, ("whisper", {"target": line.other.name, "text": f"Word{line.number}a is plum{line.number}q"}))
    ),
}


def answer_to(line: Line, step: int, secrets: Sequence[str]) -> Answer:
    """What the model answers, which says every secret that it reads."""
    assert line.plan is not None
    whole = f"{FIRST.format(line.number)} {REST.format(line.number, ' and '.join(secrets) or 'nothing')}"
    if line.plan is Plan.BLABS and secrets and not step:
        return _tells_all(line, secrets)
    told = ANSWERS.get(line.plan) or (None if step else FIRST_ANSWERS.get(line.plan))
    return told(line, step, whole) if told else Answer((LOOK, _says(whole)))
