"""Runs whose first sentence was spoken early are told as they were, and come out as they did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace as changed
from twisted.internet.task import deferLater

from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.surfaces.replay.command import ReplayOptions, replay
from mud_assistant.llm.testing import Call, EndEarly, Hang, Reply, Step
from tests.assistant.living import living, reactor
from tests.assistant.surfaces.replay.recording import ANNA, NOON, name_of, said, writing

FIRST, REST = "The well lies north of the mill, Ann.", "Past the old oak. Mind the wolves!"
WHOLE = f"{FIRST} {REST}"
SAYS = Reply(calls=(Call("say", {"text": WHOLE}), Call("emote", {"text": "nods."})), chunk_size=7)
BESIDE = Reply(f"{FIRST} So.", calls=(Call("look"),), chunk_size=7)
DAY: list[Step] = [
    Reply("Hello."),
    SAYS,
    Reply(WHOLE, chunk_size=7),
    Reply(calls=(Call("say", {"text": f"{FIRST} "}),), chunk_size=7),
    BESIDE,
    Reply(calls=(Call("say", {"text": REST}),), chunk_size=7),
    Reply(calls=(Call("say", f'{{"text": "{FIRST} Past the o'),), finish="length", chunk_size=7),
    EndEarly(11, SAYS),
]
LINES = ("Hello!", "Where is the well?", "The well?", "Say it.", "Look!", "Go on.", "And on.")


async def lived(file: JournalPlace, day: list[Step], lines: tuple[str, ...]) -> list[str]:
    """What was heard of the runs that answer these lines, which are written to the file."""
    async with (
        writing(file, "assistant:1") as journal,
        living(day, {"may_repeat": True}, provider="local", ann=ANNA, journal=journal) as life,
    ):
        for number, line in enumerate(lines):
            await life.assistant.inbox.take(changed(said(number, line), at=reactor.seconds()))
            await life.assistant.settled()
        return life.witness.heard


async def test_they_come_out_as_they_did(
    journal_place: JournalPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = await lived(journal_place, DAY, LINES)
    assert heard.count(f"Sage: {FIRST}") == 6
    (tmp_path / "s.toml").write_text("")
    assert replay(ReplayOptions(name_of(journal_place), offline=True, config=tmp_path / "s.toml"), lambda: NOON) == 0
    assert capsys.readouterr().out.endswith("7 runs run again: all as they were.\n")


async def test_a_difference_is_told_of_the_whole_call(
    journal_place: JournalPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await lived(journal_place, [SAYS], LINES[:1])
    (tmp_path / "s.toml").write_text('[assistant]\ntools = ["say"]\n')
    assert replay(ReplayOptions(name_of(journal_place), offline=True, config=tmp_path / "s.toml"), lambda: NOON) == 1
    out = capsys.readouterr().out
    assert "differs: step 2, emote: was done then, and would be refused now" in out


async def test_the_transcript_tells_what_was_said_when(
    journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    await lived(journal_place, [SAYS], LINES[:1])
    replay(ReplayOptions(name_of(journal_place)), lambda: NOON)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    at = lines.index("step 1: the beginning of an answer, before the rest of it came")
    assert lines[at + 1].startswith(f'say {{"text": "{FIRST}"}} -> done')
    assert lines[at + 2].startswith("step 2: local/sage, tool_calls, ")
    assert lines[at + 3].startswith(f'say {{"text": "{REST}"}} -> done')
    assert lines[at + 4].startswith('emote {"text": "nods."} -> done')
    replay(ReplayOptions(name_of(journal_place), json=True), lambda: NOON)
    [run] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [step["is_beginning"] for step in run["steps"]] == [True, False]


async def test_a_run_that_is_open_after_its_beginning(
    journal_place: JournalPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with (
        writing(journal_place, "assistant:1") as journal,
        living([Hang("mid", 11, SAYS)], provider="local", journal=journal) as life,
    ):
        await life.ann.say("Sage, the well?")
        while not life.witness.heard:
            await deferLater(reactor, 0.005)
    (tmp_path / "s.toml").write_text("")
    assert replay(ReplayOptions(name_of(journal_place), offline=True, config=tmp_path / "s.toml"), lambda: NOON) == 0
    assert "With the recorded answers it now ends: answered with say" in capsys.readouterr().out
