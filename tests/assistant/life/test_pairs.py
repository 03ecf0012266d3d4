"""How much two assistants talk with each other: by itself, and through real loops in one room."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from twisted.internet.task import Clock

from mud_assistant.assistant.life.life_state import LifeState, Pair, StoredLife
from mud_assistant.assistant.life.pairs import (
    FAREWELL,
    LAST_LINE,
    MOST_LINES,
    NOTHING_NEW,
    REST_SECONDS,
    RESTS,
    UNHEARD,
    PairLine,
    PairTalks,
    decide_answer,
    keep_pairs,
)
from mud_assistant.resilience import Launcher
from mud_assistant.tools import Kind, Principal
from tests.assistant.journal.keeping import started
from tests.assistant.life.lives import Lived, Town, acts, town
from tests.assistant.life.talkers import Chatterbox, give_model
from tests.assistant.living import reactor

pytestmark = pytest.mark.usefixtures("reactor_baseline")
ROOK = Principal("assistant:2", "Rook", Kind.ASSISTANT)
NOON = 1_700_000_000.0
FRESH = ("The forge is cold.", "Snow fell on the hills.", "Who mended your roof?", "A wolf howled twice.")


def heard(pair: Pair, words: str, *before: str, now: float = NOON, is_watched: bool = True) -> tuple[Pair, str]:
    return decide_answer(pair, PairLine(now, words, before, ("Sage", "Rook"), is_watched))


def test_six_lines_are_exchanged_and_the_sixth_is_not_answered() -> None:
    clock = Clock()
    sage, rook = PairTalks(clock.seconds, "Sage"), PairTalks(clock.seconds, "Rook")
    lines = 0
    speaker, listener, names = rook, sage, ("Rook", "Sage")
    while lines < 20:
        lines += 1
        words = f"{names[1]}, word{lines} thing{lines} other{lines}."
        speaker.said([names[1]], words)
        if listener.heard(Principal(names[0], names[0], Kind.ASSISTANT), words, is_watched=True):
            break
        speaker, listener, names = listener, speaker, (names[1], names[0])
    assert lines == MOST_LINES
    assert sage.pairs["Rook"].count == rook.pairs["Sage"].count == MOST_LINES


def test_the_pair_rests_for_half_an_hour_and_what_is_said_meanwhile_does_not_make_it_longer() -> None:
    pair, why = heard(Pair(5, NOON + 60), "A wolf howled twice.")
    assert why == LAST_LINE
    for minutes in (1, 15, 29):
        again, why = heard(pair, "And then?", now=NOON + 60 * minutes)
        assert (again, why) == (pair, RESTS)
    after, why = heard(pair, "And then?", now=NOON + REST_SECONDS)
    assert (after.count, why) == (1, "")


def test_a_clock_that_was_set_back_keeps_nobody_silent_for_long() -> None:
    assert heard(Pair(MOST_LINES, NOON + 10 * REST_SECONDS), "And then?")[1] == ""


@pytest.mark.parametrize("words", ["Farewell, Sage.", "Good night!", "I have to go now.", "See you tomorrow, Sage"])
def test_a_farewell_ends_it(words: str) -> None:
    pair, why = heard(Pair(1, NOON + 60), words)
    assert (pair.count, why) == (MOST_LINES, FAREWELL)


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        ("Sage, the forge is cold.", True),
        ("The forge is cold again, Sage, cold.", True),
        ("The forge, Sage?", True),
        ("Sage!", True),
        ("Sage, I have not seen a wolf since the harvest.", False),
        ("The forge has been hot since Ann mended it.", False),
    ],
)
def test_a_line_whose_words_stood_in_the_last_two_ends_it(words: str, *, ends: bool) -> None:
    pair, why = heard(Pair(2, NOON + 60), words, "The forge is cold.", "Is it, Rook? Snow fell.")
    assert (why, pair.count) == ((NOTHING_NEW, MOST_LINES) if ends else ("", 3))


def test_only_the_last_two_lines_count() -> None:
    talks = PairTalks(lambda: NOON, "Sage")
    for words in FRESH[:3]:
        assert talks.heard(ROOK, words, is_watched=True) == ""
    assert talks.heard(ROOK, FRESH[0], is_watched=True) == ""
    assert talks.heard(ROOK, FRESH[2], is_watched=True) == NOTHING_NEW


def test_with_nobody_there_it_does_not_answer_and_nothing_is_counted() -> None:
    talks = PairTalks(lambda: NOON, "Sage")
    assert talks.heard(ROOK, FRESH[0], is_watched=False) == UNHEARD
    assert talks.pairs == {}
    assert talks.heard(ROOK, FRESH[0], is_watched=True) == ""


def test_random_talks_are_never_longer_than_that() -> None:
    for seed in range(200):
        dice, clock, lines = Random(seed), Clock(), list[float]()  # noqa: S311
        talks = PairTalks(clock.seconds, "Sage")
        for number in range(60):
            clock.advance(dice.choice((1.0, 30.0, 400.0, 2000.0)))
            words = f"{number} {dice.random()}"
            if not talks.heard(ROOK, words, is_watched=dice.random() < 0.9):
                talks.said([ROOK.id], f"{dice.random()}")
                lines += [clock.seconds()] * 2
        for at in lines:
            assert sum(at <= other < at + REST_SECONDS for other in lines) <= MOST_LINES


async def test_the_count_outlives_a_restart_and_ends_with_the_other(tmp_path: Path) -> None:
    launcher = Launcher()
    async with started(tmp_path / "j", reactor) as journal:
        stored = StoredLife(journal.lease, lambda: NOON)
        talks = PairTalks(stored.wall, "Sage")
        keep_pairs(talks, stored, launcher)
        for words in FRESH[:3]:
            talks.heard(ROOK, words, is_watched=True)
            talks.said([ROOK.id], f"Is it so? {words[::-1]}")
        await launcher.stop()
        again = StoredLife(journal.lease, lambda: NOON + 60)
        assert (await again.load()).pairs == {ROOK.id: Pair(MOST_LINES, NOON + REST_SECONDS)}
        later = PairTalks(again.wall, "Sage")
        keep_pairs(later, again, launcher)
        assert later.heard(ROOK, FRESH[3], is_watched=True) == RESTS
        later.forget(ROOK.id)
        assert later.heard(ROOK, FRESH[3], is_watched=True) == ""
        await launcher.stop()
        assert LifeState(pairs=later.pairs) == await again.load()


@asynccontextmanager
async def two() -> AsyncIterator[Town]:
    """Ann with Sage and Rook in the library; each has a model that talks to the other."""
    async with town(Lived("Sage"), Lived("Rook")) as made:
        for name, other in (("Sage", "Rook"), ("Rook", "Sage")):
            give_model(made.assistants[name], Chatterbox(other))
        yield made


def lines_of(made: Town) -> Sequence[str]:
    return [line for name in ("Sage", "Rook") for line in acts(made.witness, name)]


async def test_two_characters_exchange_six_lines_and_rest() -> None:
    async with two() as made:
        ann = made.ann()
        await ann.say("Sage, good morning")
        made.pass_by(120.0)
        among = len(lines_of(made))
        assert among == MOST_LINES  # the first of them was for Ann, and named Rook as well
        for name in ("Sage", "Rook"):
            latest = made.assistants[name].context.memory.reasons.latest
            assert [one.why for one in latest if one.what.startswith("answering")] in ([], [LAST_LINE])
        await ann.say("Rook, what did you say?")
        made.pass_by(120.0)
        assert len(lines_of(made)) == among + 1  # who asked is answered, and the other keeps still
        made.pass_by(REST_SECONDS)
        await ann.say("Rook, what did you say?")
        made.pass_by(120.0)
        assert len(lines_of(made)) == among + 1 + MOST_LINES


async def test_nobody_answers_the_other_once_the_player_idles() -> None:
    async with two() as made:
        await made.ann().say("Good morning")
        made.pass_by(960.0)
        await made.bodies["Rook"].say("Sage, the cat has eaten all your candles")
        made.pass_by(120.0)
        assert lines_of(made) == ["Rook: Sage, the cat has eaten all your candles"]
        (reason,) = made.assistants["Sage"].context.memory.reasons.latest[:1]
        assert (reason.what, reason.why, reason.taken) == ("answering Rook", UNHEARD, False)
        before = replace(reason, times=1)
        await made.bodies["Rook"].say("Sage, and your butter")
        made.pass_by(10.0)
        assert replace(made.assistants["Sage"].context.memory.reasons.latest[0], times=1, at=before.at) == before
