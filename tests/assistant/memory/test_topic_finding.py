"""Which topic a line finds: by the owner's keys, by its words, by its meaning; and which lines find none."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mud_assistant.assistant.characters.character import Topic
from mud_assistant.assistant.journal.tables.told_topics import Told
from mud_assistant.assistant.memory.recall.vectors import Vector, make_vector
from mud_assistant.assistant.memory.recall_file import RecallInMemory
from mud_assistant.assistant.memory.topics import TopicFinder, TopicIndex
from mud_assistant.assistant.memory.topics.line_kinds import LineKind, asking_part, kind_of
from mud_assistant.assistant.memory.topics.next_saying import (
    BEGIN_AGAIN_SECONDS,
    gives_up,
    is_guess,
    next_saying,
    solves,
    wants_more,
    with_said,
)

TALK = Path(__file__).parents[3].parent / "shared/data/talk"
MILL = Topic("The mill", ("It burned.",), ("What happened to the mill?", "Who is the miller?"), ("mill",))
INN = Topic("The inn", ("Over the square.",), ("Where can I sleep?", "Is there an inn?"))
ODA = Topic("Oda", ("A good soul.",), ("Who is Oda?", "What do you think of Oda?"))
LOST = Topic(
    "A loss", ("Where?",), ("I have lost my hat.", "My ring is gone.", "I cannot find my knife."), ("lost", "gone")
)
KIND = Topic("Kindness", ("Hush.",), ("You are kind.", "You are very kind to me.", "I like you."), ("kind", "like you"))
NAMED = Topic("A name", ("Welcome.",), ("My name is somebody.", "I am somebody."), ("my name", "i am somebody"))
THEFT = Topic("Hearsay", ("Is it so?",), ("Somebody stole a spoon.", "Somebody is a thief."), ("stole", "a thief"))
TOLD = (LOST, KIND, NAMED, THEFT)
JOKES = (Topic("A joke", ("One.",), ("Tell me a joke.",)), Topic("Another joke", ("Two.",), ("Tell me a joke.",)))


def titles(line: str, *topics: Topic, names: tuple[str, ...] = ()) -> list[str]:
    found = TopicFinder(TopicIndex(topics or (MILL, INN, ODA))).find_by_words(line, names=names, mine=("sage",))
    return [topic.title for topic in found.meant]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Where's the old mill?", "The mill"),
        ("who is the miller", "The mill"),
        ("I am tired. Where can I sleep?", "The inn"),
        ("well, is there an inn, old man?", "The inn"),
        ("Do you like Oda?", "Oda"),
    ],
)
def test_a_line_finds_a_topic_by_its_words(line: str, title: str) -> None:
    assert titles(line) == [title]


@pytest.mark.parametrize(
    "line",
    [
        "I lost my hat at the mill.",
        "go to the mill",
        "What do you think of Bea?",
        "Who is Bea?",
        "Where did I sleep?",
        "My brother has an inn.",
        "Well, how are you?",
        "asdf",
        "",
    ],
)
def test_a_line_that_tells_orders_or_is_of_somebody_else_finds_none(line: str) -> None:
    assert titles(line) == []


def test_a_person_who_is_present_is_no_topic_in_small_letters_either() -> None:
    assert titles("what do you think of bea", ODA, names=("bea",)) == []


def test_two_topics_that_the_same_words_ask_for_are_both_found() -> None:
    assert titles("Tell me a joke!", *JOKES, MILL) == ["A joke", "Another joke"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("I used to be a soldier.", LineKind.TELLS),
        ("I need a bed for the night.", LineKind.ASKS),
        ("What is my name?", LineKind.OF_SELF),
        ("What should I read?", LineKind.ASKS),
        ("Please give me the lamp.", LineKind.ORDERS),
        ("give me a riddle", LineKind.ASKS),
        ("The mill is old.", LineKind.STATES),
    ],
)
def test_what_a_line_does(line: str, kind: LineKind) -> None:
    assert kind_of(line) is kind


def test_the_part_of_a_line_that_asks() -> None:
    assert asking_part("I am a carpenter. Is there any work?") == "Is there any work?"
    assert asking_part("How old are you, old man?") == "How old are you?"
    assert asking_part("That is a fine boat, who made it") == "That is a fine boat, who made it"


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("I've lost my hat!", "A loss"),
        ("You are so kind.", "Kindness"),
        ("My name is Bea.", "A name"),
        ("I'm Bea", None),
        ("I am Bea Smith", "A name"),
        ("The other day Bea stole a spoon.", "Hearsay"),
        ("My ring is gone. Who is Oda?", "Oda"),
        ("Thanks, and who is the miller?", "The mill"),
        ("I have found my hat.", None),
        ("Have you lost a hat?", None),
        ("Who stole a spoon?", None),
        ("Oda is very kind.", None),
        ("You are not kind.", None),
        ("I am not Bea.", None),
        ("I like beer.", None),
    ],
)
def test_a_topic_whose_samples_tell_answers_what_is_told(line: str, title: str | None) -> None:
    assert titles(line, *TOLD, MILL, INN, ODA) == ([title] if title else [])


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("I lost a shoe", "A loss"),
        ("I have found my hat.", None),
        ("You're kindness itself, so kind!", "Kindness"),
        ("She is so kind!", None),
        ("You are never kind.", None),
        ("Did you lose it?", None),
    ],
)
async def test_however_near_a_line_that_tells_needs_a_key_and_the_slant_of_a_sample(
    line: str, title: str | None
) -> None:
    worker = RecallInMemory("english")
    worker.meaning = Meanings({text: (1.0, 0.0) for topic in TOLD for text in topic.asks} | {line: (1.0, 0.0)})
    finder = TopicFinder(TopicIndex((LOST, KIND)), worker)
    finder.prepare()
    assert [topic.title for topic in (await finder.find(line)).meant] == ([title] if title else [])
    await worker.close()


class Meanings:
    """Vectors by table: what makes them for a process, as far as topics need it."""

    model = "a table"

    def __init__(self, vectors: dict[str, tuple[float, float]]) -> None:
        self._vectors = vectors
        self.is_away = False

    async def of_texts(self, texts: list[str]) -> list[Vector | None]:
        return [] if self.is_away else [make_vector(self.model, self._vectors.get(text, (0.0, 1.0))) for text in texts]

    async def of_query(self, text: str) -> Vector | None:
        return next(iter(await self.of_texts([text])), None)

    async def fill(self, worker: object, assistant: str) -> None:
        """Memories are none of its business here."""

    async def stop(self) -> None:
        """Nothing runs."""


async def test_a_line_finds_a_topic_by_its_meaning_once_the_samples_have_vectors() -> None:
    worker = RecallInMemory("english")
    finder = TopicFinder(TopicIndex((MILL, INN, ODA)), worker)
    line = "does nobody grind corn any more?"
    assert not (await finder.find(line)).meant, "nothing makes vectors"
    worker.meaning = meanings = Meanings(
        {MILL.asks[0]: (1.0, 0.1), line: (1.0, 0.0), "how far is the sea?": (-1.0, 0.0)}
    )
    meanings.is_away = True
    assert not (await finder.find(line)).by_meaning, "none can be made now, so words it is"
    meanings.is_away = False
    finder.prepare()
    found = await finder.find(line)
    assert [topic.title for topic in found.meant] == ["The mill"]
    assert found.by_meaning
    assert not (await finder.find("how far is the sea?")).meant
    assert [topic.title for topic in (await finder.find("Who is Oda?")).meant] == ["Oda"]
    meanings.is_away = True
    assert not (await finder.find(line)).meant, "the vector of the line cannot be had"
    await worker.close()


@given(st.lists(st.sampled_from(["solved", "moon", "the", "a", "Comb", "combs", "is it"]), max_size=6))
def test_only_the_answer_solves(words: list[str]) -> None:
    line = " ".join(words)
    assert solves(line, ("a comb",)) == bool({"Comb", "combs"} & set(words))


@pytest.mark.parametrize(
    "line",
    [
        "Go on",
        "and then?",
        "more!",
        "And?",
        "tell me more",
        "another one",
        "what happened next?",
        "weiter",
        "et puis après ?",
        "Then what?",
    ],
)
def test_a_line_that_wants_more(line: str) -> None:
    assert wants_more(line)


@pytest.mark.parametrize(
    "line",
    [
        "more bread please",
        "go on a journey with me",
        "Tell me another story.",
        "and then I went home",
        "continue to the inn",
        "what next to the well is that",
        "",
    ],
)
def test_a_line_that_wants_something_else(line: str) -> None:
    assert not wants_more(line)


def test_giving_up_and_guessing() -> None:
    assert all(map(gives_up, ("I give up", "what's the answer?", "no idea", "Tell me the answer")))
    assert not any(map(gives_up, ("is it a lamp?", "give me a hint")))
    assert all(map(is_guess, ("Is it a lamp?", "the moon", "I think it's time.")))
    assert not any(map(is_guess, ("who are you?", "Tell me a story", "is it far to the inn from the old mill here")))


class Listening(RuleBasedStateMachine):
    """Somebody asks for a topic again and again, at any times: what they hear, and what the room does."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.topics = {
            "says": Topic("says", ("a", "b", "c")),
            "one": Topic("one", ("a",)),
            "parts": Topic("parts", ("a", "b", "c", "d"), parts=True),
        }
        self.told = dict.fromkeys(self.topics, Told())
        self.heard: dict[str, list[tuple[int, float]]] = {name: [] for name in self.topics}
        self.last = ""

    @rule(name=st.sampled_from(["says", "one", "parts"]))
    def ask(self, name: str) -> None:
        which = next_saying(self.topics[name], self.told[name], self.now, is_last=self.last == name)
        if which is not None:
            self.told[name] = with_said(self.told[name], which, self.now)
            self.heard[name].append((which, self.now))
            self.last = name

    @rule(seconds=st.sampled_from([1.0, 700.0, 90_000.0, BEGIN_AGAIN_SECONDS + 1]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def never_alike_in_a_row(self) -> None:
        for name in ("says", "parts"):
            places = [which for which, _ in self.heard[name]]
            assert all(one != other for one, other in pairwise(places))

    @invariant()
    def parts_follow_each_other(self) -> None:
        heard = self.heard["parts"]
        for (one, at), (other, later) in pairwise(heard):
            assert other == one + 1 or (other == 0 and one == 3 and later - at >= BEGIN_AGAIN_SECONDS)

    @invariant()
    def the_only_thing_is_not_said_again_at_once(self) -> None:
        times = [at for _, at in self.heard["one"]]
        assert all(later - at >= 600 for at, later in pairwise(times))


TestListening = Listening.TestCase


def test_topics_found_by_words_in_the_visible_talk() -> None:
    """Holds the figure of docs/decisions/0034: of 48 lines by words alone, no wrong topic and none for 40 others."""
    path = TALK / "topics.jsonl"
    if not path.exists():
        pytest.skip("the lines of the talk are not here")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    topics = [Topic(row["topic"], ("Said.",), tuple(row["samples"])) for row in rows if row["topic"]]
    asked = [(line, row["topic"]) for row in rows for line in row["asked"]]
    found = [(next(iter(titles(line, *topics)), None), topic) for line, topic in asked]
    assert sum(one == topic for one, topic in found if topic) >= 10
    assert [(one, topic) for one, topic in found if one and one != topic] == []
