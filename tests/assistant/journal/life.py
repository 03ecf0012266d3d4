"""What a character lived through, in every shape that a journal stores: to be written, and to be compared."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import (
    Arrived,
    ByRule,
    ChannelSaid,
    Emoted,
    Event,
    Gave,
    Left,
    Noticed,
    Paged,
    Said,
    Whispered,
)
from mud_assistant.assistant.events.outcome import (
    Answered,
    Cancelled,
    Failed,
    Limit,
    LimitReached,
    NothingToDo,
    Outcome,
)
from mud_assistant.assistant.journal import (
    Store,
    StoredBindings,
    StoredJournal,
    StoredMutes,
    StoredUsage,
    StreamChange,
    StreamEntry,
)
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.llm import (
    FinishReason,
    LLMResponse,
    RateLimitInfo,
    RawTurn,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from mud_assistant.llm.messages import Citation, Message, Role, ServerToolCall, ServerToolResult, tool_results, user
from mud_assistant.tools import Category, Executed, Kind, Pending, Principal, Status
from mud_assistant.tools.game import Target
from tests.assistant.journal.keeping import fact, memories_of

NOON = 1_800_000_000.0
ANNA = Principal("player:7", "Anna", Kind.PLAYER, 1)
BEN = Principal("player:8", "Ben", Kind.OPERATOR, 4)
WORLD = Principal("world", "the world", Kind.WORLD)
TRIGGER = Attention(Classification.TRIGGER, 10, addressed=True)
CONTEXT = Attention(Classification.CONTEXT, 3)

MOVE = ToolCall("c2", "move", {"direction": "north", "times": 1.0, "deep": {"of": [None, True, 2**70]}})
LOOK = ToolCall("c1", "look", {})
SAY = ToolCall("c3", "say", {"text": "Hello, Anna. \U0001f56f"})
CUT = ToolCall("c4", "say", {}, "cut off in the middle")
ASKED_FOR = Pending(
    3,
    "move",
    {"direction": "north"},
    "go north",
    ANNA,
    4,
    99.5,
    BEN,
    ("north",),
    (Target("room:2", "the yard"),),
    "rank",
)

EVENTS: Sequence[Event] = (
    Said(id="e1", at=1.5, who=ANNA, text="Sage, hello?", to_me=True),
    Whispered(id="e2", at=2.5, who=ANNA, text="psst"),
    Paged(id="e3", at=3.5, who=BEN, text="are you there"),
    ChannelSaid(id="e4", at=4.5, who=BEN, channel="Public", text="hi all", is_open=True),
    Emoted(id="e5", at=5.5, who=ANNA, text="waves.", alone=True),
    Gave(id="e6", at=6.5, who=ANNA, thing="lamp", authority=2),
    Arrived(id="e7", at=7.5, who=BEN, origin="the yard", by_rule=ByRule("move", {"direction": "south"}, BEN)),
    Left(id="e8", at=8.5, who=BEN, direction="north"),
    Noticed(id="e9", at=9.5, who=WORLD, text="It rains.", granted=ASKED_FOR),
)
POISON = Said(id="e10", at=10.5, who=BEN, text="\x00\ud800 boom", to_other=True)
WAITING = Said(id="e11", at=11.5, who=ANNA, text="And now?", alone=True)

RAW = RawTurn(
    "anthropic", ({"type": "thinking", "thinking": "Hm.", "signature": "abc"}, {"type": "text", "text": "Yes."})
)
STEPS: Sequence[LLMResponse] = (
    LLMResponse(
        Message(Role.ASSISTANT, (Reasoning("Hm.", "abc"), Text("I look."), LOOK, MOVE), RAW),
        FinishReason.TOOL_CALLS,
        Usage(100, 5, cached_tokens=80),
        "anthropic",
        "m",
        rate_limit_info=RateLimitInfo(remaining_requests=5, reset_tokens_at=9.5),
    ),
    LLMResponse(
        Message(
            Role.ASSISTANT,
            (
                ServerToolCall("s1", "web_search", {"query": "rain"}),
                ServerToolResult("s1", "web_search", "It rains.", failed=True),
                Citation("it rains", "https://example.org", "Weather"),
                SAY,
                CUT,
            ),
        ),
        FinishReason.LENGTH,
        Usage(120, 9),
        "openai",
        "n",
        from_fallback=True,
        repaired=True,
        structured={"say": "Hello"},
    ),
)
RESULTS: Sequence[Sequence[Executed]] = (
    (
        Executed(LOOK, ToolResult("c1", "look", '{"room":"The Old Library"}'), Status.DONE, Category.SAFE_CHAIN, 0.25),
        Executed(
            MOVE,
            ToolResult("c2", "move", "There is no exit north.", failed=True),
            Status.FAILED,
            Category.DANGEROUS,
            1e-9,
            authority=1,
            sources=("player:7", "world"),
        ),
    ),
    (Executed(SAY, ToolResult("c3", "say", "You said it."), Status.DONE, Category.TERMINAL, 0.5),),
)
ENTRIES: Sequence[StreamEntry] = (
    StreamEntry((user("Anna says to you: hello"),), 10, ("e1",), 1, ("player:7",)),
    StreamEntry(
        (user('Anna whispers to you: "psst"'),),
        9,
        ("e2", "e3"),
        1,
        ("player:7", "player:8"),
        audience=frozenset({"player:7"}),
        others_see="Anna whispered something to you.",
    ),
    StreamEntry((STEPS[0].message, tool_results([done.result for done in RESULTS[0]])), 7, (), 1, ("player:7",)),
)
OUTCOMES: Sequence[Outcome] = (
    NothingToDo(),
    LimitReached(Limit.BUDGET, "no more today", "player:7"),
    Failed("the model is not there", 99.5, lasting=True),
    Cancelled(),
)
MEMORIES = (
    fact("Anna likes tea", ANNA, frozenset({"player:7"}), at=5.0, sources=frozenset({"player:7", "player:8"})),
    fact("The bridge is out", at=5.0, authority=0),
)
BINDINGS = frozenset({KeyBinding("env:KEY", "https://api.example.org"), KeyBinding("file:key", "http://127.0.0.1:1")})
SPENT = {"all": {"calls": 3, "tokens": 700, "money": 0.25}, "player:7": {"calls": 1, "tokens": 200, "money": 0.0}}


async def write_life(path: Path, reactor: Any) -> None:
    """Write all of it into a new journal: answered, parked, undone and open runs, memories, mutes, usage, bindings."""
    store = Store(path, reactor, lambda: NOON)
    await store.open()
    journal = StoredJournal(store, "sage", name="Old Sage")
    await journal.start()
    await _runs(journal)
    memories = memories_of(journal)
    for memory in MEMORIES:
        await memories.keep(memory)
    await StoredMutes(journal.lease, journal.lease.store.wall).mute(BEN)
    await StoredUsage(store).save_usage({"day": 20_000, "spent": SPENT})
    await StoredBindings(store).remember(BINDINGS)
    await store.close()


async def _runs(journal: StoredJournal) -> None:
    for event in EVENTS:
        await journal.accept(event, TRIGGER)
    run = await _steps(journal)
    await journal.close_run(run, Answered(("say",)), StreamChange(tuple(ENTRIES)))
    await journal.accept(POISON, CONTEXT)
    for _ in range(3):
        run = await journal.open_run(await journal.pending())
        await journal.close_run(run, Failed("a mistake", bug=True))
    for outcome in OUTCOMES:
        await journal.close_run(await journal.open_run([]), outcome)
    await journal.accept(WAITING, TRIGGER)
    await _steps(journal)


async def _steps(journal: StoredJournal) -> str:
    """Write a run with two steps; its last call is begun and never over."""
    run = await journal.open_run(await journal.pending())
    for number, (response, done) in enumerate(zip(STEPS, RESULTS, strict=True), 1):
        await journal.record_response(run, number, response)
        for index, executed in enumerate(done):
            await journal.record_intent(run, number, index, executed.call, effect=index > 0)
            await journal.record_result(run, number, index, executed)
    await journal.record_intent(run, len(STEPS), 1, CUT, effect=True)
    return run


def dump(path: Path) -> str:
    """Return the file as SQL that makes it again, without what differs from file to file."""
    with closing(sqlite3.connect(path)) as db:
        pragmas = [
            f"PRAGMA {name}={db.execute(f'PRAGMA {name}').fetchone()[0]};"
            for name in ("application_id", "user_version")
        ]
        db.execute("DELETE FROM meta WHERE key IN ('id', 'writes')")
        return "\n".join([*pragmas, *db.iterdump(), ""])
