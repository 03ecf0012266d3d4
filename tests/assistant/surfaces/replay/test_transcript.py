from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.events.events import Arrived, Noticed
from mud_assistant.assistant.events.outcome import Answered, Failed, Limit, LimitReached, NothingToDo
from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.assistant.surfaces.replay.command import ReplayOptions, replay
from mud_assistant.llm import Usage
from mud_assistant.tools import Category, Principal, Status
from tests.assistant.surfaces.replay.recording import (
    ANNA,
    BEGUN,
    NOON,
    NOT_DONE,
    TRIGGER,
    Fate,
    Step,
    answer,
    call,
    came_to,
    looks,
    name_of,
    one_run,
    reactor,
    record,
    said,
    says,
    spoke,
    writing,
)

HOSTILE = "\x7f\x1b[2J\x1b]0;owned\x07Hi\nrun-99  forged\r\u202e\x9b31m|r{red$you"


def told(capsys: pytest.CaptureFixture[str], file: JournalPlace, status: int = 0, **wanted: object) -> str:
    assert replay(ReplayOptions(name_of(file), **wanted), lambda: NOON) == status  # type: ignore[arg-type]  # each test names its own
    return capsys.readouterr().out


async def every_kind(journal: StoredJournal) -> None:
    """Runs that answered, were refused, failed, are unknown, and go on."""
    ask, move = call("look"), call("move", direction="north")
    broken = call("say", "cut off in the middle")
    await record(journal, [said(1)], [looks(), says("Books, mostly.")], Answered(("say",)))
    failed = came_to(move, "There is no exit north.", Status.FAILED, Category.DANGEROUS)
    steps: list[Step] = [
        (answer(move, move, broken), [failed, NOT_DONE, NOT_DONE]),
        (answer(move, text="Hm."), [BEGUN]),
    ]
    await record(journal, [said(2, "Go!")], steps, LimitReached(Limit.STEPS))
    await record(journal, [said(3)], [], Failed("ollama: nobody answers", lasting=True))
    await record(journal, [said(4)], [(answer(ask, usage=Usage()), [BEGUN])])


async def test_a_run_tells_when_whose_what_was_heard_and_what_came_of_it(
    journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(journal_place) as journal:
        await every_kind(journal)
    assert told(capsys, journal_place, run=["run-1"]).splitlines() == [
        "run-1  2027-01-15 08:00:00 UTC  Sage",
        '  heard: Anna says to you: "Sage, hello?"',
        "  step 1: ollama/qwen3:4b, tool_calls, 100 tokens in, 5 out",
        '    look {} -> done in 0.25 s: {"room":"The Old Library"}',
        "  step 2: ollama/qwen3:4b, tool_calls, 100 tokens in, 5 out",
        '    say {"text": "Books, mostly."} -> done in 0.25 s: You said it. Everybody in the room heard you.',
        "  -> answered with say; 200 tokens in, 10 out, 0.0 s",
    ]


async def test_refused_failed_unknown_and_unfinished_calls_are_told_apart(
    journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(journal_place) as journal:
        await every_kind(journal)
    text = told(capsys, journal_place)
    move = '    move {"direction": "north"} -> '
    for line in (
        f"{move}failed in 0.25 s: There is no exit north.",
        f"{move}not done: refused, or its arguments did not fit",
        "    say {} -> not done: cut off in the middle",
        f"{move}begun; its result is not known: it may or may not have happened",
        "    text: Hm.",
        "  -> limit reached: steps; 200 tokens in, 10 out, 0.0 s",
        "  -> failed: ollama: nobody answers (a setting must change); tokens not reported, 0.0 s",
        "    look {} -> begun; its result is not known",
        "  -> still open: it goes on now, or its process died; tokens not reported",
    ):
        assert line in text.splitlines()


async def test_a_run_that_only_overheard_has_no_steps(
    journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(journal_place) as journal:
        await record(journal, [Arrived(id="a", at=1.0, who=ANNA, origin="north")], [], NothingToDo())
    assert told(capsys, journal_place).splitlines()[1:] == [
        "  heard: Anna arrives from north.",
        "  -> nothing to do; tokens not reported, 0.0 s",
    ]


async def test_the_last_runs_are_shown_and_the_others_are_counted(
    journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(journal_place) as journal:
        for number in range(25):
            await record(journal, [said(number)], [], NothingToDo())
    few, some, every = (told(capsys, journal_place, **how) for how in ({"last": 2}, {}, {"all": True}))
    assert [line.split()[0] for line in few.splitlines() if line.startswith("run-")] == ["run-24", "run-25"]
    assert few.startswith("(23 earlier runs are not shown; --all shows every run)\n")
    assert some.count("run-") == 20
    assert every.count("run-") == 25
    assert "earlier" not in every


async def test_runs_are_chosen_by_assistant_and_by_id(
    journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("Sage", "Rook"):
        async with writing(journal_place, name) as journal:
            await record(journal, [said(1, f"Hello {name}")], [], NothingToDo())
    assert "Hello Rook" not in told(capsys, journal_place, assistant="Sage")
    assert told(capsys, journal_place, run=["run-2", "run-1", "run-2"]).count("  heard: ") == 2
    told(capsys, journal_place, 2, assistant="Sage", run=["run-2"])


@pytest.mark.parametrize("run", ["run-3", "run-99999999999999999999", "run-", "run-٣", "x", "run--1", HOSTILE])
async def test_a_run_that_is_not_there_is_one_sentence(
    run: str, journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    await one_run(journal_place, says("Yes."))
    assert replay(ReplayOptions(name_of(journal_place), run=[run]), lambda: NOON) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("mud-assistant: there is no run '")
    assert printed.err.count("\n") == 1
    assert "\x1b" not in printed.err


async def test_an_assistant_that_is_not_there_is_told_with_those_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await one_run(tmp_path / "j", says("Yes."))
    assert replay(ReplayOptions(tmp_path / "j", assistant="Rook"), lambda: NOON) == 2
    assert capsys.readouterr().err.endswith("there is no assistant 'Rook' in " + f"{tmp_path / 'j'}, but: Sage.\n")


async def test_json_is_everything_there_is_uncut(
    journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(journal_place) as journal:
        await every_kind(journal)
    first, second, third, fourth = (json.loads(line) for line in told(capsys, journal_place, json=True).splitlines())
    assert (first["run"], first["assistant"], first["opened_at"], first["closed_at"]) == ("run-1", "Sage", NOON, NOON)
    assert first["heard"][0]["line"] == 'Anna says to you: "Sage, hello?"'
    assert first["outcome"] == {"kind": "answered", "acts": ["say"]}
    assert first["usage"]["input_tokens"] == 200
    assert [step["calls"][0]["tool"] for step in first["steps"]] == ["look", "say"]
    assert [done["status"] for done in second["steps"][0]["calls"]] == ["failed", None, None]
    assert second["steps"][1]["calls"][0]["status"] == "unknown"
    assert third["outcome"]["kind"] == "failed"
    assert (fourth["outcome"], fourth["closed_at"]) == (None, None)


async def test_parked_events_and_unknown_calls_are_told_on_their_own(
    journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(journal_place) as journal:
        await every_kind(journal)
        for _ in range(3):
            await record(journal, [said(9, "The one that kills")], [], Failed("internal error (KeyError)", bug=True))
    parked = told(capsys, journal_place, parked=True)
    assert parked.startswith('event-9  Sage\n  heard: Anna says to you: "The one that kills"\n  parked: 3 runs over it')
    assert json.loads(told(capsys, journal_place, parked=True, json=True))["crashes"] == 3
    unknown = told(capsys, journal_place, unknown=True)
    assert unknown.startswith("run-2 step 2  2027-01-15 08:00:00 UTC  Sage\n  move {")
    assert unknown.count("run-") == 1
    assert json.loads(told(capsys, journal_place, unknown=True, json=True))["arguments"] == {"direction": "north"}


async def test_nothing_there_is_said_as_such(journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]) -> None:
    async with writing(journal_place):
        pass
    assert told(capsys, journal_place) == "There is no run in this journal.\n"
    assert told(capsys, journal_place, parked=True) == "No event is parked.\n"
    assert told(capsys, journal_place, unknown=True) == "There is no call whose outcome is unknown.\n"
    assert told(capsys, journal_place, offline=True) == "There is no run in this journal.\n"
    assert told(capsys, journal_place, json=True) == ""


async def hostile(file: JournalPlace) -> None:
    """A journal in which everything that a stranger can write is an attack."""
    nasty = call("whisper", target=HOSTILE, text=HOSTILE)
    weird = call(HOSTILE)
    async with writing(file, HOSTILE) as journal:
        event = Noticed(id=HOSTILE, at=1.0, who=Principal("x", HOSTILE), text=HOSTILE)
        response = answer(nasty, weird, text=HOSTILE)
        fates: list[Fate] = [came_to(nasty, HOSTILE, Status.FAILED, Category.TERMINAL), BEGUN]
        await record(journal, [event], [(response, fates)], Answered((HOSTILE,)))
        poison = said(2, HOSTILE, Principal("y", HOSTILE))
        for _ in range(3):
            await record(journal, [poison], [], Failed(HOSTILE, bug=True))
        await journal.accept(said(3), TRIGGER)


@pytest.mark.parametrize("how", [{}, {"parked": True}, {"unknown": True}, {"offline": True}])
@pytest.mark.parametrize("as_json", [False, True])
async def test_nothing_a_stranger_wrote_steers_the_terminal_or_forges_a_line(
    how: dict[str, object], as_json: bool, journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    await hostile(journal_place)
    replay(ReplayOptions(name_of(journal_place), json=as_json, **how), lambda: NOON)  # type: ignore[arg-type]
    printed = capsys.readouterr()
    assert printed.out
    for text in (printed.out, printed.err):
        assert all(char == "\n" or char.isprintable() for char in text)
        assert not any(line.startswith("run-99") for line in text.splitlines())


async def test_a_record_that_damage_took_is_told_and_the_rest_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await one_run(tmp_path / "j", looks(), says("Books."))
    with closing(sqlite3.connect(tmp_path / "j")) as db, db:
        db.execute("UPDATE responses SET payload = replace(payload, 'look', 'lock') WHERE step = 1")
        db.execute("UPDATE results SET payload = x'00' WHERE step = 2")
        db.execute("UPDATE runs SET outcome = x'00'")
    assert replay(ReplayOptions(tmp_path / "j"), lambda: NOON) == 2
    printed = capsys.readouterr()
    assert "  step 1: the answer cannot be read\n    look {} -> done" in printed.out
    assert '    say {"text": "Books."} -> begun; its result is not known' in printed.out
    assert "  3 records of this run cannot be read\n  -> how it ended is lost" in printed.out
    assert "3 records in it are damaged or of a newer version" in printed.err


async def test_an_event_that_damage_took_is_told_where_it_is_parked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(tmp_path / "j") as journal:
        await journal.accept(said(1), TRIGGER)
    with closing(sqlite3.connect(tmp_path / "j")) as db, db:
        db.execute("UPDATE events SET payload = x'00'")
    async with writing(tmp_path / "j") as journal:
        assert await journal.pending() == ()
    assert "  heard: an event that cannot be read\n  parked: it cannot be read" in told(
        capsys, tmp_path / "j", parked=True
    )


async def test_a_step_that_spoke_twice_shows_both(
    journal_place: JournalPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = call("say", text="Eins"), call("emote", text="lächelt")
    await one_run(journal_place, (answer(first, second), [spoke(first), spoke(second)]))
    assert 'emote {"text": "lächelt"} -> done' in told(capsys, journal_place)


async def test_the_keys_of_the_settings_are_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version wrote an answer down as it came; cleaning it for the terminal puts the key together."""
    monkeypatch.chdir(tmp_path)
    key = "sk-planted-0123456789abc"
    (tmp_path / "assistant.toml").write_text('[model]\nprovider = "openai"\nmodel = "m"\nkey = "env:PLANTED"\n')
    await one_run(tmp_path / "journal.sqlite", says("It is " + "\u200b".join(key)))
    for as_json in (False, True):
        wanted = ReplayOptions(tmp_path / "journal.sqlite", json=as_json)
        assert replay(wanted, lambda: NOON, environment={"PLANTED": key}) == 0
        shown = capsys.readouterr().out
        assert "[key]" in shown
        assert "planted" not in shown.replace("\\u200b", "")


async def test_settings_that_are_wrong_keep_nobody_from_reading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assistant.toml").write_text("model = 3")
    await one_run(tmp_path / "journal.sqlite", says("Hello."))
    assert "Hello." in told(capsys, tmp_path / "journal.sqlite")
    (tmp_path / "assistant.toml").write_text('[model]\nprovider = "openai"\nmodel = "m"\nkey = "env:MISSING"\n')
    assert "Hello." in told(capsys, tmp_path / "journal.sqlite")


async def test_a_character_is_called_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "j"
    storing = JournalFile(path, reactor, lambda: NOON, JournalConfig())
    await storing.open()
    for whose, name in (("assistant:12", "Old Mara"), ("assistant:13", "Ben")):
        await storing.storage_of(whose, 10, name)
    storage = await storing.storage_of("assistant:13", 10, "Benno")
    assert isinstance(storage.journal, StoredJournal)
    await record(storage.journal, [said(1)], [says("Yes.")], Answered(("say",)))
    await storing.close()
    printed = told(capsys, path)
    assert "Benno" in printed
    assert "assistant:13" not in printed
    assert "Benno" in told(capsys, path, assistant="benno")
    assert json.loads(told(capsys, path, json=True))["name"] == "Benno"
    assert json.loads(told(capsys, path, json=True))["assistant"] == "assistant:13"
    with pytest.raises(AssertionError):
        told(capsys, path, assistant="Nobody")
    assert "but: Benno." in capsys.readouterr().err


async def test_a_journal_of_an_earlier_version_calls_a_character_what_its_id_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for whose, name in (("assistant:old mara", "Old Mara"), ("assistant:12", "assistant:12"), ("Sage", "Sage")):
        path = tmp_path / name
        async with writing(path, whose) as journal:
            await record(journal, [said(1)], [says("Yes.")], Answered(("say",)))
        assert f"  {name}\n" in told(capsys, path)
