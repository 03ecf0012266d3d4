"""Shows one run as a tree: heard, recalled, each step with its calls, and how it ended. SQL and pure functions."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from mud_assistant.assistant.events.events import audience_of
from mud_assistant.assistant.journal import Accepted, BrokenRecord
from mud_assistant.assistant.journal.database import Database, holds
from mud_assistant.assistant.journal.records import EVENT_KINDS, MESSAGES
from mud_assistant.assistant.journal.tables.memories import SHOWN
from mud_assistant.assistant.journal.tables.stream import names_in
from mud_assistant.assistant.loop.recollecting import BEGIN, END, KNOWN
from mud_assistant.assistant.page.reading.recorded import (
    RecordedCall,
    RecordedRun,
    RecordedStep,
    in_whole_answers,
    run_called,
)
from mud_assistant.assistant.page.reading.summary import SUMMED_STEPS, cut, heard_text, is_speaking, summary_of
from mud_assistant.assistant.page.reading.wording import plain_form
from mud_assistant.assistant.page.values.runs import CallView, HeardInRun, RunView, StepView
from mud_assistant.tools.policy.decide import PolicyRule
from mud_assistant.tools.tool import Category

#: The most characters of all texts of one step, of one event, and of what was recalled.
STEP_CHARS, HEARD_CHARS, RECALLED_CHARS = 65_536, 4000, 16_384
#: How far before the entry of what was heard that of what was recalled is looked for, in entries of the stream.
_ENTRIES_BEFORE = 5
#: What each rule means.
JUDGED: Mapping[str, str] = {
    PolicyRule.GRANTED: "The owner granted the tool, and everybody concerned may do this.",
    PolicyRule.NOT_GRANTED: "The owner did not grant the tool.",
    PolicyRule.DENIED: "The command is on the list of those that nobody can allow.",
    PolicyRule.LIMIT: "The assistant had done as much as one run may.",
    PolicyRule.REPEATED: "The assistant had done exactly this before.",
    PolicyRule.NEEDS_APPROVAL: "A person must allow this first.",
    PolicyRule.APPROVED: "A person allowed exactly this call.",
    PolicyRule.APPROVAL_VOID: "The approval does not cover the call any more.",
    PolicyRule.FORMAT: "The tool does not exist, or does not take these arguments.",
    PolicyRule.PRIVATE: "Others would have learned what was said in private.",
}


def read_run(db: Database, run_id: str, file: str) -> RunView | None:
    """Return the run with its first SUMMED_STEPS steps, None when there is none. Raises what the database does.

    `file` is the path of the journal, for the command that replays the run. The exact requests are not in the journal.
    """
    run = run_called(db, None, run_id, SUMMED_STEPS)
    if run is None:
        return None
    whole = in_whole_answers(run)
    return RunView(
        summary=summary_of(run),
        heard=tuple(_heard_line(accepted) for accepted in run.events),
        recalled=_recalled(db, run),
        steps=_steps(whole),
        steps_left_out=run.steps_left_out,
        unreadable=run.unreadable,
        replay=f"mud-assistant replay {shlex.quote(file)} --run {run.id}",
        test=replaying_test(file, run.id),
    )


def replaying_test(file: str, run_id: str) -> str:
    """Return the text of a pytest test that runs this run of the journal `file` again, without a network."""
    name = run_id.replace("-", "_")
    return f'''"""Run {run_id} again, with the recorded answers and the settings of now, without a network."""

import subprocess
import sys

#: Keep a copy of the journal for this test: old runs are removed from the journal in use.
JOURNAL = {file!r}


def test_{name}_comes_out_as_it_did() -> None:
    command = [sys.executable, "-m", "mud_assistant", "replay", JOURNAL, "--run", "{run_id}", "--offline"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
'''


def _heard_line(accepted: Accepted) -> HeardInRun:
    event, attention = accepted.event, accepted.attention
    return HeardInRun(
        id=event.id,
        kind=EVENT_KINDS[type(event)],
        who=event.who.name,
        who_id=event.who.id,
        text=cut(heard_text(event), HEARD_CHARS),
        verdict=attention.verdict.value,
        importance=attention.importance,
        at=event.at,
        is_private=audience_of(event) is not None,
    )


def _recalled(db: Database, run: RecordedRun) -> tuple[str, ...]:
    """Return what was recalled for the run, as far as the stream still holds it, one line for each memory.

    It stands in the stream just before what was heard. Nothing is found once the stream was shortened or summed up.
    """
    for accepted in run.events:
        named = json.dumps(accepted.event.id, ensure_ascii=False).encode()
        row = db.execute(
            f"SELECT seq FROM stream WHERE assistant = ? AND {holds(db, 'event_ids')} ORDER BY seq LIMIT 1",  # noqa: S608
            (run.assistant, named),
        ).fetchone()
        if row is None:
            continue
        before = db.execute(
            "SELECT event_ids, payload FROM stream WHERE assistant = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
            (run.assistant, row[0], _ENTRIES_BEFORE),
        )
        found: tuple[str, ...] = ()
        for event_ids, record in before:
            lines = _recalled_lines(event_ids, record)
            if not lines and not _is_scene(event_ids):
                break
            found += lines
        if found:
            return found
    return ()


def _recalled_lines(event_ids: bytes, record: bytes) -> tuple[str, ...]:
    """Return the lines of an entry that holds what was recalled, none for another entry."""
    messages = MESSAGES.find(record) or ()
    text = "\n".join(message.text for message in messages)
    begin = next((one for one in (BEGIN, KNOWN) if text.startswith(one)), None)
    if begin is None:
        return ()
    try:
        is_recalled = all(name.startswith(SHOWN) for name in names_in(event_ids))
    except BrokenRecord:
        return ()
    lines = text.removeprefix(begin).removesuffix(END).strip().splitlines()
    return tuple(cut(line.removeprefix("- "), RECALLED_CHARS // 8) for line in lines) if is_recalled else ()


def _is_scene(event_ids: bytes) -> bool:
    try:
        return not names_in(event_ids)
    except BrokenRecord:
        return False


def _steps(run: RecordedRun) -> tuple[StepView, ...]:
    """Return the steps. The seconds of each are from the last act before it to its own first call, where it has one."""
    shown: list[StepView] = []
    began = run.opened_at
    for step in run.steps:
        begun = [
            (call.at, call.executed.seconds if call.executed else 0.0) for call in step.calls if call.at is not None
        ]
        shown.append(_step(run, step, max(0.0, begun[0][0] - began) if begun else None))
        began = max([began, *(at + seconds for at, seconds in begun)])
    return tuple(shown)


def _step(run: RecordedRun, step: RecordedStep, seconds: float | None) -> StepView:
    """Return the step; its texts share STEP_CHARS."""
    room, response = _Room(STEP_CHARS), step.response
    if response is None:
        calls = tuple(_call(run, call, room) for call in step.calls)
        return StepView(number=step.number, provider="", model="", seconds=seconds, calls=calls)
    return StepView(
        number=step.number,
        provider=response.provider,
        model=response.model,
        finish_reason=response.finish_reason,
        reasoning=room.take(response.reasoning),
        text=room.take(response.content),
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        cached_tokens=response.usage.cached_tokens,
        cost=response.usage.cost,
        seconds=seconds,
        from_text=response.from_fallback,
        calls=tuple(_call(run, call, room) for call in step.calls),
    )


def _call(run: RecordedRun, recorded: RecordedCall, room: _Room) -> CallView:
    call, done = recorded.call, recorded.executed
    name = call.name if call is not None else ""
    rule = done.rule if done is not None else ""
    is_act = done is not None and done.category is Category.TERMINAL and name != "noop"
    return CallView(
        index=recorded.index,
        name=name,
        arguments=room.take(_as_json(call.arguments)) if call is not None else "",
        status=done.status.value if done is not None else _status(run, recorded),
        rule=rule,
        judged=JUDGED.get(rule, ""),
        result=room.take(done.result.text if done is not None else call.problem if call is not None else ""),
        seconds=done.seconds if done is not None else None,
        authority=done.authority if done is not None else None,
        is_speech=is_act or is_speaking(name),
    )


def _status(run: RecordedRun, recorded: RecordedCall) -> str:
    """Say what is known of a call without a result: begun, unknown, or not done."""
    if not recorded.begun:
        return "not done"
    return "begun" if run.closed_at is None else "unknown"


def _as_json(value: object) -> str:
    return json.dumps(value, default=plain_form, ensure_ascii=False)


class _Room:
    """The characters that are left for the texts of one step."""

    def __init__(self, chars: int) -> None:
        self._left = chars

    def take(self, text: str) -> str:
        """Return as much of the text as there is room for; a mark says how much is left out."""
        shown = cut(text, self._left)
        self._left = max(0, self._left - len(text))
        return shown
