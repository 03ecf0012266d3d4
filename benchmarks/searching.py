"""What a search of the page costs in a journal of 100,000 runs, for each filter: CPU milliseconds of the thread.

    python -m benchmarks.searching [FOLDER] [RUNS]

The rows are written straight into the tables: through the journal they would take an hour. Each search is made for the
first page and for one in the middle; the slowest of three counts. Goal: 100 ms.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from mud_assistant.assistant.events.events import Event, Said
from mud_assistant.assistant.events.outcome import Answered, Failed, NothingToDo, Outcome
from mud_assistant.assistant.journal.files import build, connect
from mud_assistant.assistant.journal.records import CALL, EVENT, EXECUTED, OUTCOME, RESPONSE
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.page.reading.principals import player_facts
from mud_assistant.assistant.page.reading.run_view import read_run
from mud_assistant.assistant.page.reading.search import search_runs
from mud_assistant.assistant.page.values.runs import RunQuery
from mud_assistant.llm import FinishReason, LLMResponse, Text, ToolCall, ToolResult, Usage, assistant
from mud_assistant.tools import Category, Executed, Principal, Status

RUNS, ASSISTANTS, PLAYERS, TIMES, EVENTS_EACH = 100_000, 200, 1000, 3, 2
GOAL_MS = 100.0
WORDS = "Has anybody seen the old map that hung over the fireplace? It was here yesterday. "
THOUGHT = "The player wants to know where the map is. I should look at the fireplace before I answer. " * 8
#: Every so many runs, the rare tool is called and the rare words are said.
RARE = 50_000


def rows(count: int) -> Iterator[tuple[int, str, Event, Outcome, ToolCall]]:
    """Yield the parts of each run. One of the players speaks in every third run."""
    for number in range(1, count + 1):
        whose = f"assistant:{number % ASSISTANTS}"
        speaker = 0 if number % 3 == 0 else number % PLAYERS
        who = Principal(f"character:{speaker}", f"Player {speaker}")
        rare = number % RARE == 0
        text = f"{WORDS}{'Abracadabra!' if rare else ''}"
        heard = Said(id=f"event-{number}", at=float(number), who=who, text=text, to_me=True)
        outcome: Outcome = Failed("the model fell over") if rare else Answered(("say",))
        called = ToolCall(f"call-{number}", "move" if rare else "say", {"text": WORDS})
        yield number, whose, heard, outcome if number % 7 else NothingToDo(), called


def fill(path: Path, count: int) -> None:
    """Write a journal of so many runs."""
    with closing(build(path, SCHEMA)) as db:
        db.execute("BEGIN")
        for number, whose, heard, outcome, called in rows(count):
            said = LLMResponse(
                assistant(Text(THOUGHT), called), FinishReason.TOOL_CALLS, Usage(900, 40, cost=0.001), "openai", "gpt"
            )
            result = ToolResult(called.id, called.name, "Everybody in the room heard you.", failed=False)
            done = Executed(called, result, Status.DONE, Category.TERMINAL, 0.1, rule="granted")
            db.execute(
                "INSERT INTO runs VALUES (?, ?, 1, ?, ?, ?)",
                (number, whose, number, number + 2.0, OUTCOME.encode(outcome)),
            )
            for at in range(EVENTS_EACH):
                seq = number * EVENTS_EACH + at
                db.execute(
                    "INSERT INTO events VALUES (?, ?, ?, ?, 'trigger', 9, 1, ?, 'done', 0, '', ?)",
                    (seq, whose, f"{heard.id}-{at}", EVENT.encode(heard), number, heard.who.id),
                )
                db.execute("INSERT INTO run_events VALUES (?, ?, ?)", (number, whose, seq))
            place = number, whose, 1
            db.execute("INSERT INTO responses VALUES (?, ?, ?, ?)", (*place, RESPONSE.encode(said)))
            db.execute("INSERT INTO intents VALUES (?, ?, ?, 0, ?, ?, 1)", (*place, number + 1.0, CALL.encode(called)))
            db.execute("INSERT INTO results VALUES (?, ?, ?, 0, ?)", (*place, EXECUTED.encode(done)))
        db.execute("COMMIT")


def searches(count: int) -> Iterator[tuple[str, RunQuery]]:
    """Yield each search with its name."""
    for name, fields in (
        ("newest", {}),
        ("one assistant", {"assistant": "assistant:7"}),
        ("a quiet player's id", {"player": "character:997"}),
        ("a loud player's id", {"player": "character:0"}),
        ("a part of a name", {"player": "yer 789"}),
        ("a part of every name", {"player": "player"}),
        ("nobody's name", {"player": "Zoe"}),
        ("a usual tool", {"tool": "say"}),
        ("a rare tool", {"tool": "move"}),
        ("a tool that nobody called", {"tool": "fly"}),
        ("a usual outcome", {"outcome": "answered"}),
        ("a rare outcome", {"outcome": "failed"}),
        ("no such outcome", {"outcome": "cancelled"}),
        ("usual words", {"text": "OLD MAP"}),
        ("rare words", {"text": "abracadabra"}),
        ("no such words", {"text": "xyzzy"}),
        ("long ago", {"until": 100.0}),
        ("every name, a rare tool", {"player": "player", "tool": "fly"}),
        ("all at once", {"player": "character:0", "tool": "say", "text": "fireplace", "outcome": "answered"}),
    ):
        yield name, RunQuery.model_validate(fields)
        yield f"{name}, further", RunQuery.model_validate({**fields, "before": f"run-{count // 2}"})


def slowest(work: Callable[[], object]) -> float:
    """Return the CPU milliseconds of the slowest of some runs."""
    taken = []
    for _ in range(TIMES):
        began = time.thread_time()
        work()
        taken.append(time.thread_time() - began)
    return 1000 * max(taken)


def main() -> None:
    """Print the table."""
    count = int(sys.argv[2]) if len(sys.argv) > 2 else RUNS  # noqa: PLR2004
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        path = Path(folder) / "journal.sqlite"
        fill(path, count)
        print(f"{count:,} runs, {path.stat().st_size / 2**20:.0f} MiB")
        with closing(connect(path, how="mode=ro")) as db:
            table(db, count)


def table(db: sqlite3.Connection, count: int) -> None:
    """Print one line for each search."""
    for name, query in searches(count):
        page = search_runs(db, query)
        spent = slowest(lambda query=query: search_runs(db, query))
        end = "partial" if page.is_partial else "more" if page.next else "end"
        print(f"{name:32} {spent:7.1f} ms  {len(page.runs):3} runs  {end:8}{'' if spent <= GOAL_MS else 'OVER'}")
    print(f"{'one run':32} {slowest(lambda: read_run(db, f'run-{count // 2}', 'j')):7.1f} ms")
    print(f"{'a loud player in counts':32} {slowest(lambda: player_facts(db, 'character:0')):7.1f} ms")


if __name__ == "__main__":
    main()
