"""A viewer is shown when and what a run did, and no word of players, of the model or of a tool."""

from __future__ import annotations

import msgspec

from mud_assistant.assistant.page.operations.runs import hide_run, without_words
from mud_assistant.assistant.page.values.runs import (
    AskedRequest,
    CallView,
    HeardInRun,
    RunPage,
    RunSummary,
    RunView,
    StepView,
)

#: Stands in each text that holds words of somebody.
WORD = "plum7x"


def run() -> RunView:
    call = CallView(0, "whisper", f'{{"text": "{WORD}"}}', "done", "rule", f"judged {WORD}", f"you said {WORD}", 1.0, 2)
    asked = AskedRequest(1, "https://models.test", "/v1", f"they said {WORD}", 9)
    step = StepView(
        1, "local", "sage", (asked,), f"why {WORD}", "stop", f"I think {WORD}", f"I say {WORD}", 10, 5, calls=(call,)
    )
    summary = RunSummary(
        id="run-1", assistant="a:1", name="Sage", opened_at=1.0, outcome="answered", sentence=f"it said {WORD}",
        player="Ann", heard=f"heard {WORD}", said=f"said {WORD}", tools=("whisper",), steps=1,
    )  # fmt: skip
    heard = HeardInRun("event.1", "whispered", "Ann", "player:1", f"keep {WORD}", "trigger", 9, 1.0, True)
    return RunView(summary, (heard,), (f"remembers {WORD}",), (step,), replay="replay run-1", test=f"a test of {WORD}")


def test_no_word_is_left_in_a_run_that_is_hidden() -> None:
    hidden = hide_run(run())
    assert WORD not in msgspec.json.encode(hidden).decode()
    assert hidden.is_hidden
    [step] = hidden.steps
    [call] = step.calls
    assert (call.name, call.status, step.model, hidden.summary.player) == ("whisper", "done", "sage", "Ann")
    assert [line.who for line in hidden.heard] == ["Ann"]


def test_no_word_is_left_in_a_list_of_runs() -> None:
    page = without_words(RunPage((run().summary,), "next"))
    assert WORD not in msgspec.json.encode(page).decode()
    assert (page.next, page.runs[0].tools) == ("next", ("whisper",))
