"""What is told a model beside a line, and what is made of its answer."""

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.language.attend import Turn, View, notes_on, place_asked
from mud_assistant.assistant.language.check import Heard
from mud_assistant.assistant.language.knowing import facts_in, find_facts
from mud_assistant.assistant.language.persons import asks_of_self
from mud_assistant.assistant.language.things import absent_things, known_words, things_said_to_be_here
from mud_assistant.assistant.language.words import names_in
from mud_assistant.assistant.loop.talk.answer import Line, fallback, judge
from mud_assistant.assistant.loop.talk.question import (
    example_turns,
    front,
    last_turns,
    must_not_be_copied,
    without_name,
)

TOWER = View(
    "Ulric",
    "You are an old watcher of the stars who lives alone in a tower. You like visitors.",
    "The Observatory",
    "A round room under an open dome. A stair winds down, a door in the east leads to the balcony.",
    (("down", "The Study"), ("east", "The Balcony")),
    ("telescope", "star chart", "stool"),
    people=("Nell",),
    details={
        "telescope": "It points at the planet Vell, which has three moons.",
        "star chart": "A chart of the northern sky. The Swan is drawn in silver ink.",
        "stool": "A low stool with one leg shorter than the others.",
    },
)


def line_of(text: str, earlier: tuple[Turn, ...] = (), *, is_strict: bool = False) -> Line:
    heard = Heard(now=(text,), earlier=[turn.heard for turn in earlier], name="Ulric", people=("Nell",))
    view = replace(TOWER, is_tiny=is_strict)
    return Line("Nell", text, view, notes_on(text, "Nell", TOWER, earlier), earlier, heard)


def test_a_thing_that_is_named_is_described() -> None:
    assert notes_on("What does the telescope point at?", "Nell", TOWER, ()).facts == (
        "The telescope: It points at the planet Vell, which has three moons.",
    )


def test_it_means_the_thing_of_the_line_before() -> None:
    notes = notes_on("And how many moons does it have?", "Nell", TOWER, (Turn("Nell", "See the telescope?", "Yes."),))
    assert "Vell" in notes.text()


def test_the_ways_out_are_told_with_the_rooms_behind_them() -> None:
    notes = notes_on("Which ways lead out of here?", "Nell", TOWER, ())
    assert notes.text() == "From here one can go down to The Study or east to The Balcony."
    assert fallback(line_of("Which ways lead out of here?")) == ""  # nothing of the room is put in


def test_the_room_says_where_its_stair_leads() -> None:
    notes = notes_on("Where does the stair lead?", "Nell", TOWER, ())
    assert "Down is The Study." in notes.facts


@pytest.mark.parametrize("text", ["What is your cat doing?", "Why is the piano so loud?", "How many swords hang here?"])
def test_a_thing_that_is_not_there_is_denied(text: str) -> None:
    line = line_of(text)
    assert line.notes.absent
    assert fallback(line) == f"I see no {line.notes.absent[0]} here."


def test_a_thing_that_was_told_of_is_not_denied() -> None:
    earlier = (Turn("Nell", "I have bought a piano.", "Yes."),)
    assert notes_on("Why is the piano so loud?", "Nell", TOWER, earlier).absent == ()
    assert notes_on("My cat ran away. Where is the cat?", "Nell", TOWER, ()).absent == ()


def test_things_that_are_invented_are_not_said() -> None:
    said, faults = judge("I see a telescope. A golden harp stands there.", line_of("What a fine place."))
    assert (said, len(faults)) == ("I see a telescope.", 1)


def test_a_language_is_noticed_and_answered_in() -> None:
    line = line_of("Bonjour, comment allez-vous ce matin ?")
    assert line.notes.language == "French"
    assert judge("Good morning!", line) == ("", ["is in another language"])
    assert judge("Good morning!", line, is_last=True)[0] == "Good morning!"
    assert fallback(line) == "Je parle un peu français, mais pas bien."


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("I sell silk from Ravenna.", "I come from Ravenna and sell silk."),
        ("I am a mason from Wells too.", "Good day, I'm a mason from Wells."),
    ],
)
def test_a_very_small_model_that_takes_a_story_for_its_own_is_asked_again(answer: str, text: str) -> None:
    assert judge(answer, line_of(text, is_strict=True)) == ("", ["takes what it was told for its own"])
    assert judge(answer, line_of(text))[0] == answer


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("I lost many a thing too.", "I have lost my hat."),
        ("No Jonas came by my fire.", "Has my friend Jonas come by this week?"),
        ("I do not know if your brother came.", "Did my brother come through here?"),
        ("Goodbye, I am off to bed myself.", "Farewell, I am off to Karlsford."),
    ],
)
def test_the_persons_of_an_answer_are_never_turned(answer: str, text: str) -> None:
    assert judge(answer, line_of(text))[0] == answer


def test_what_was_written_to_the_character_is_its_own_in_the_first_person() -> None:
    assert facts_in(TOWER.persona) == (
        "I am an old watcher of the stars who lives alone in a tower.",
        "I like visitors.",
    )
    told = "You are shrewd, you miss your son Ned who writes to you, and you fear storms since one took your ship."
    assert facts_in(told) == (
        "I am shrewd.",
        "I miss my son Ned who writes to me.",
        "I fear storms since one took my ship.",
    )
    assert facts_in("Ulric has a sister, Ada. Ulric's boots are wet.", "Ulric") == (
        "I have a sister, Ada.",
        "My boots are wet.",
    )


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("Do you have any children?", "I hope that my daughter Ria comes home."),
        ("Who taught you to sail?", "My uncle Bo taught me to sail."),
        ("When do you sail?", "I sail on Mondays."),
        ("How much is a passage?", "A passage costs four coins."),
        ("Are you ever scared?", "I fear the fog."),
        ("What do you do?", "I am the captain of the Gull."),
        ("Do you trust the mayor?", "I do not trust the mayor."),
    ],
)
def test_a_line_finds_the_fact_that_it_asks_for(line: str, fact: str) -> None:
    facts = facts_in(
        "You are the captain of the Gull. Your uncle Bo taught you to sail. You sail on Mondays. A passage costs four "
        "coins. You fear the fog, you hope that your daughter Ria comes home, and you do not trust the mayor."
    )
    assert find_facts(line, facts)[0] == fact


@pytest.mark.parametrize("line", ["Good morning!", "What is the weather like?", "Tell me a joke.", "Do you like jazz?"])
def test_a_line_that_asks_for_no_fact_finds_none(line: str) -> None:
    assert find_facts(line, facts_in("You are the captain of the Gull, and you fear the fog.")) == []


def test_a_question_about_the_speaker_is_told_from_one_about_the_character() -> None:
    assert asks_of_self("Do you still know the name of my horse?")
    assert not asks_of_self("What is your name?")
    assert not asks_of_self("May I sit down?")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("How do I get to the mill?", "mill"),
        ("Where is the old chapel?", "old chapel"),
        ("Which way is it to the harbour?", "harbour"),
        ("Where can I get something to eat?", "inn tavern alehouse pub kitchen galley canteen bakery"),
        ("Where is the telescope?", ""),
        ("What is on the chart?", ""),
    ],
)
def test_the_place_that_a_line_asks_the_way_to(line: str, place: str) -> None:
    assert place_asked(line, TOWER) == place


def test_names_are_found_by_their_last_word_and_in_the_plural() -> None:
    assert names_in("Look at the maps and that chart.", ["star chart", "old map", "stool"]) == ["old map", "star chart"]


def test_what_the_examples_tell_of_character_and_place_is_true() -> None:
    shown = [text for turn in example_turns(TOWER) for text in turn]
    assert "I am an old watcher of the stars who lives alone in a tower." in shown
    assert "I see the telescope, the star chart and the stool." in [message.text for message in front(TOWER)]
    scene = View("Odo", "You own mules.", things=("pebble", "windows", "elephant"))
    assert "elephant" not in must_not_be_copied(scene)[-3]


def test_who_is_there_stands_before_the_line() -> None:
    earlier = (Turn("Nell", "Good evening.", "Welcome."),)
    shown = last_turns("What do you see?", TOWER, notes_on("", "Nell", TOWER, ()), earlier, "It is evening.")
    assert [message.text for message in shown] == ["Good evening.", "Welcome.", "(It is evening.)\nWhat do you see?"]


def test_the_front_stays_the_same_whatever_is_said() -> None:
    first, second = front(TOWER), front(TOWER)
    assert [message.text for message in first] == [message.text for message in second]
    notes = notes_on("Hello", "Nell", TOWER, ())
    assert last_turns("Ulric, hello there.", TOWER, notes, ())[-1].text == "Hello there."


def test_the_name_that_is_called_is_left_out() -> None:
    assert without_name("Marlo, what is in the barrel?", "Marlo") == "What is in the barrel?"
    assert without_name("Good morning, Marlo!", "Marlo") == "Good morning!"
    assert without_name("Marlo!", "Marlo") == "Marlo!"


def test_things_are_absent_only_where_they_are_pointed_at() -> None:
    known = known_words("A room with a lamp.")
    assert absent_things("Which bird is painted on the lamp?", known) == []
    assert absent_things("Who broke that vase?", known) == ["vase"]
    assert things_said_to_be_here("There is no vase. A lamp hangs here. A violin cost me dear.", known) == frozenset()
    assert things_said_to_be_here("A violin hangs here.", known) == {"violin"}
