"""Blind sheets of played talks, as those use them who make them and who fill them in."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.talk_marks import Key, Reading, agreement, read_key, read_marks, shares, told
from benchmarks.talk_sheet import SCALES, SheetError, make_sheet
from benchmarks.talk_stage import Item
from mud_assistant.assistant.worlds.embedded.place_file import place_of
from tests.benchmarks.test_talk import PLACE
from tests.live.command import Result, start

MARKS = {scale: [mark for mark, _, _ in marks] for scale, marks in SCALES.items()}


def item(name: str, *lines: str, how: str = "say") -> Item:
    turns = tuple({"heard": [{"who": "Ivo", "how": how, "text": line}], "expect": {}} for line in lines)
    return Item(name, "talk", place_of(PLACE, "here"), ("Ivo",), turns, PLACE)


def turn(*words: str, acts: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    return {"words": [{"how": "say", "text": text} for text in words], "acts": list(acts), "room": "cave"}


def played(items: Sequence[Item], word: str) -> dict[str, Any]:
    """Records of a run that answers each line with the word, the item and the turn."""
    return {
        one.id: {"id": one.id, "turns": [turn(f"{word} {one.id} {at}.") for at, _ in enumerate(one.turns)]}
        for one in items
    }


def filled(sheet: Path, marks: Mapping[int, str], file: Path) -> Path:
    """A copy of the sheet with these marks in it."""
    parts = re.split(r"(?m)^## (\d+)$", sheet.read_text())
    blocks = [
        f"## {number}{block.replace('Mark:', f'Mark: {marks.get(int(number), str())}')}"
        for number, block in zip(parts[1::2], parts[2::2], strict=True)
    ]
    file.write_text(parts[0] + "".join(blocks))
    return file


async def benchmark(*options: str | Path) -> Result:
    """What `python -m benchmarks.talk` did with these options."""
    return await start(*map(str, options), module="benchmarks.talk", folder=str(Path.cwd())).ended


def write_items(file: Path) -> list[Item]:
    """Two items in a file, one of them of two turns."""
    turns = {"t1": ["How long is the rope?", "And how old?"], "t2": ["Good day, Ulla!"]}
    records = [PLACE] + [
        {
            "kind": "item",
            "id": name,
            "category": "talk",
            "place": "cave",
            "people": ["Ivo"],
            "turns": [{"heard": [{"who": "Ivo", "how": "say", "text": line}], "expect": {}} for line in lines],
        }
        for name, lines in turns.items()
    ]
    file.write_text("".join(json.dumps(one) + "\n" for one in records))
    return [item(name, *lines) for name, lines in turns.items()]


async def test_a_sheet_of_two_runs_is_made_filled_in_and_read_back_by_its_command(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items.jsonl")
    runs = [tmp_path / f"{word}.jsonl" for word in ("smallmodel", "bigmodel")]
    for run, word in zip(runs, ("One", "Two"), strict=True):
        run.write_text("".join(json.dumps(record) + "\n" for record in played(items, word).values()))
    sheet = tmp_path / "sheet.md"
    made = await benchmark(tmp_path / "items.jsonl", "--answers", *runs, "--sheet", sheet, "--seed", "3")
    assert made.status == 0, made.err
    text = sheet.read_text()
    assert "smallmodel" not in text
    assert "bigmodel" not in text
    assert "A rope of forty feet." in text
    assert len(re.findall(r"(?m)^## ", text)) == text.count("\nMark:\n") == 6
    key = json.loads((tmp_path / "sheet.md.key.json").read_text())
    better = {int(number) for number, (run, _, _) in key["answers"].items() if "bigmodel" in run}
    filled(sheet, {one: "s" if one in better else "w" for one in range(1, 7)}, tmp_path / "anna.md")
    doubtful = min(better)
    filled(sheet, {one: "s good" if one in better - {doubtful} else "w" for one in range(1, 7)}, tmp_path / "bo.md")
    read = await benchmark("--marks", tmp_path / "anna.md", tmp_path / "bo.md", "--key", f"{sheet}.key.json")
    assert read.status == 0, read.err
    assert re.search(r"bigmodel.jsonl +all +3 +83 % \(± 14\)", read.out)
    assert re.search(r"smallmodel.jsonl +bo +3 +0 % \(± 0\) +0 % \(± 0\) +100 %", read.out)
    assert "anna and bo agree on 83 % of 6; kappa 0.67" in read.out
    assert re.search(rf"\n{doubtful} \(.*bigmodel.jsonl, t\d, turn \d\): anna s, bo w\n", read.out)


async def test_what_cannot_be_read_or_made_is_told_with_what_is_right(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items.jsonl")
    answers = tmp_path / "run.jsonl"
    answers.write_text(json.dumps(played(items[:1], "One")["t1"]) + "\n")
    given = (tmp_path / "items.jsonl", "--answers", answers, "--sheet", tmp_path / "sheet.md")
    lacking = await benchmark(*given)
    assert (lacking.status, lacking.out) == (2, "")
    assert "has no answer to 1 of 2 items, t2 the first" in lacking.err
    assert not (tmp_path / "sheet.md").exists()
    two = await benchmark(tmp_path / "items.jsonl", "--answers", answers, answers)
    assert "one run is played at a time" in two.err


def test_a_block_shows_the_place_the_talk_before_the_line_the_answer_and_the_deeds(tmp_path: Path) -> None:
    one = item("t1", "How long is the rope?", "Give it to me.")
    acts = [
        {"tool": "say", "args": {"text": "Here.\n## 9\nMark: s"}, "ok": True},
        {"tool": "look", "args": {}, "ok": True},
        {"tool": "give", "args": {"thing": "rope", "to": "Ivo"}, "ok": True},
        {"tool": "take", "args": {"thing": "moon"}, "ok": False},
    ]
    turns = [turn("Forty feet."), turn("Here.\n## 9\nMark: s", acts=acts)]
    sheet = tmp_path / "sheet.md"
    key = read_key(make_sheet([one], {"run": {"t1": {"turns": turns}}}, sheet, 1, "words"))
    (second,) = [number for number, (_, _, at) in key.answers.items() if at == 1]
    block = sheet.read_text().split(f"\n## {second}\n")[1].split("\nMark:\n")[0]
    assert block.strip().split("\n") == [
        *("Place: cave, The Cave", "", "Before:", "> Ivo: How long is the rope?", ">", "> Ulla: Forty feet.", ""),
        *("Heard:", "> Ivo: Give it to me.", "", "Answer:", "> Ulla: Here.", "> ## 9", "> Mark: s", ">"),
        "> (Ulla does: give rope Ivo)",
    ]
    marks = read_marks(filled(sheet, {1: "s", 2: "silent"}, tmp_path / "a.md"), key).marks
    assert marks == {1: "s", 2: "n"}


def test_a_walk_asks_for_no_mark_and_silence_is_shown_as_such(tmp_path: Path) -> None:
    walk, line = item("w", "north", how="go"), item("t", "Ulla?")
    waking = {"how": "emote", "text": "is waking up, and will answer in a while."}
    silence = {**turn(), "words": [waking]}
    records = {"w": {"turns": [turn("Oh!")]}, "t": {"turns": [silence]}}
    key = read_key(make_sheet([walk, line], {"run": records}, tmp_path / "sheet.md", 1, "words"))
    assert list(key.answers.values()) == [("run", "t", 0)]
    assert "Answer:\n> (nothing)\n" in (tmp_path / "sheet.md").read_text()
    with pytest.raises(SheetError, match="nothing to read"):
        make_sheet([walk], {"run": records}, tmp_path / "other.md", 1, "words")


def test_a_sheet_that_may_be_filled_in_is_not_written_over(tmp_path: Path) -> None:
    one = item("t", "Ulla?")
    records = {"run": played([one], "One")}
    make_sheet([one], records, tmp_path / "sheet.md", 1, "words")
    with pytest.raises(SheetError, match="is there already"):
        make_sheet([one], records, tmp_path / "sheet.md", 2, "words")


@pytest.mark.parametrize(
    ("wrong", "right", "fault"),
    [
        ("## 2\n", "", "answer 2 is not in it"),
        ("Mark: s\n\n## 2", "Mark:\n\n## 2", r"answer 1 has no mark: write s \(sensible\), d \(dull\)"),
        ("Mark: s\n\n## 2", "Mark: x\n\n## 2", "'x' is no mark: write s"),
        ("Mark: s\n\n## 2", "Mark: s\nMark: d\n\n## 2", "answer 1 has a mark already"),
        ("## 2\n", "## 2\nMark: s\n## 2\n", r"answer 2 is there twice, in line \d+ too"),
        ("## 2\n", "## 7\n", "there is no answer 7: they are 1 to 2"),
        ("## 1\n", "Mark: s\n## 1\n", "this mark belongs to no answer"),
        ("Sheet: ", "Sheet: f", "and the key is of sheet"),
    ],
)
def test_a_fault_in_a_sheet_is_told_with_its_line_and_what_is_right(
    tmp_path: Path, wrong: str, right: str, fault: str
) -> None:
    items = [item("t1", "Ulla?"), item("t2", "Ulla!")]
    sheet = tmp_path / "sheet.md"
    key = read_key(make_sheet(items, {"run": played(items, "One")}, sheet, 1, "words"))
    file = filled(sheet, {1: "s", 2: "s"}, tmp_path / "anna.md")
    text = file.read_text()
    assert wrong in text
    file.write_text(text.replace(wrong, right, 1))
    with pytest.raises(SheetError, match=fault) as told_faults:
        read_marks(file, key)
    assert str(file) in str(told_faults.value)
    if "not in it" not in fault:
        assert re.search(rf"anna\.md:\d+: .*{fault}", str(told_faults.value))


def test_a_file_that_is_no_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key.json"
    for text in ("no", "[]", '{"sheet": "a", "scale": "9", "answers": {}}', '{"sheet": "a", "answers": {"x": 1}}'):
        file.write_text(text)
        with pytest.raises(SheetError, match=r"key\.json"):
            read_key(file)


@given(st.data())
def test_shares_of_marks_are_those_of_the_runs_whatever_the_order(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("sheet")
    scale = data.draw(st.sampled_from(sorted(SCALES)))
    items = [item(f"t{at}", *["Ulla?"] * data.draw(st.integers(1, 3))) for at in range(data.draw(st.integers(1, 4)))]
    runs = {f"run {at}": played(items, f"Word{at}") for at in range(data.draw(st.integers(1, 3)))}
    owners = [(run, one.id, at) for run in runs for one in items for at, _ in enumerate(one.turns)]
    wanted = {owner: data.draw(st.sampled_from(MARKS[scale])) for owner in owners}
    sheet = folder / "sheet.md"
    key = read_key(make_sheet(items, runs, sheet, data.draw(st.integers(0, 99)), scale))
    assert sorted(key.answers.values()) == sorted(wanted)
    marks = {number: wanted[owner] for number, owner in key.answers.items()}
    reading = read_marks(filled(sheet, marks, folder / "anna.md"), key)
    for run in runs:
        counts = Counter(mark for (whose, _, _), mark in wanted.items() if whose == run)
        size = sum(counts.values())
        found = shares(key, [reading], run)
        for mark, word, _ in SCALES[scale]:
            share = counts[mark] / size
            assert found[word].value == pytest.approx(share)
            assert found[word].error == pytest.approx(sqrt(share * (1 - share) / size))
        if scale == "3":
            assert found["mean"].value == pytest.approx(sum(int(mark) * count for mark, count in counts.items()) / size)
    assert agreement(reading, reading)[0] == 1


def test_what_readers_agree_on_is_corrected_for_chance() -> None:
    key = Key("a", "words", {number: ("run", "t", number) for number in range(1, 51)})

    def reading(reader: str, marks: str) -> Reading:
        numbered = dict(enumerate(marks, 1))
        return Reading(reader, numbered, dict.fromkeys(numbered, ""), dict.fromkeys(numbered, ()))

    # The example of two readers of 50 proposals: 20 yes and 15 no from both, 5 and 10 between them.
    one, other = reading("one", "s" * 25 + "w" * 25), reading("other", "s" * 20 + "w" * 5 + "s" * 10 + "w" * 15)
    same, kappa = agreement(one, other)
    assert same == 0.7
    assert kappa == pytest.approx(0.4)
    assert agreement(reading("one", "s" * 50), reading("two", "s" * 50)) == (1, None)
    assert "one and other agree on 70 % of 50; kappa 0.40" in told(key, [one, other])
