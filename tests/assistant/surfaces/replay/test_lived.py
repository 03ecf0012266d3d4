"""Runs that an assistant really lived, with the real loop, client and journal, come out as they did."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.surfaces.replay.command import ReplayOptions, replay
from mud_assistant.llm.messages import JSON
from mud_assistant.llm.testing import Call, HttpError, Reply, Step
from tests.assistant.living import living, reactor
from tests.assistant.surfaces.replay.recording import NOON, name_of, said, writing


def calls(*given: tuple[str, Mapping[str, JSON]]) -> Reply:
    return Reply(calls=tuple(Call(name, arguments) for name, arguments in given))


DAY: list[Step] = [
    calls(("look", {}), ("who", {})),
    calls(("inspect", {"target": "unicorn"}), ("inspect", {"target": "hearth"})),
    calls(("say", {"text": "I see a hearth."})),
    calls(("move", {"direction": "nowhere"}), ("dance", {}), ("inspect", {"closely": True})),
    calls(("emote", {"text": "*shrugs*"}), ("say", {"text": "Sage: I cannot go there."})),
    calls(("whisper", {"target": "Nobody", "text": "Psst."})),
    Reply(text="Very well, then."),
    calls(("remember", {"text": "Ann likes tea."}), ("move", {"direction": "south"}), ("move", {"direction": "north"})),
    calls(("say", {"text": "\u200b"})),
    calls(("recall", {"query": "tea"})),
    calls(("say", {"text": "Tea!"})),
    calls(("look", {})),
    HttpError(503),
]


async def test_a_day_of_all_kinds_of_runs_is_replayed_without_a_difference(
    journal_place: JournalPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with (
        writing(journal_place, "assistant:1") as journal,
        living(DAY, {"max_steps": 4}, journal=journal) as life,
    ):
        for number, line in enumerate(("What is here?", "Go away!", "Whisper!", "Tea?", "More?")):
            await life.assistant.inbox.take(changed(said(number, line), at=reactor.seconds()))
            await life.assistant.settled()
    (tmp_path / "s.toml").write_text("[assistant]\nmax_steps = 4\n")
    assert replay(ReplayOptions(name_of(journal_place), offline=True, config=tmp_path / "s.toml"), lambda: NOON) == 0
    assert capsys.readouterr().out.endswith("5 runs run again: all as they were.\n")
    replay(ReplayOptions(name_of(journal_place)), lambda: NOON)
    transcript = capsys.readouterr().out
    for part in ("-> failed in", "not done: ", "-> answered with say", "-> failed: "):
        assert part in transcript


async def test_words_that_came_too_late_do_so_again(
    journal_place: JournalPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(journal_place, "assistant:1") as journal, living([DAY[2]], journal=journal) as life:
        life.world.remove(life.ann)
        await life.assistant.inbox.take(changed(said(0, "What is here?"), at=reactor.seconds()))
        await life.assistant.settled()
    (tmp_path / "s.toml").write_text("")
    assert replay(ReplayOptions(name_of(journal_place), offline=True, config=tmp_path / "s.toml"), lambda: NOON) == 0
    assert capsys.readouterr().out.endswith("1 run run again: all as they were.\n")
    replay(ReplayOptions(name_of(journal_place)), lambda: NOON)
    assert "-> unheard in" in capsys.readouterr().out
