"""What is told a model beside a line, and what is made of its answer."""

import pytest

from assistant.language.attend import Turn, View, notes_on
from assistant.language.check import Heard
from assistant.language.persons import asks_of_self, to_second
from assistant.language.things import absent_things, known_words, things_said_to_be_here
from assistant.language.words import names_in
from assistant.loop.talk.answer import Line, fallback, judge
from assistant.loop.talk.question import example_turns, front, last_turns, without_name

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


def line_of(text: str, earlier: tuple[Turn, ...] = ()) -> Line:
    heard = Heard(now=(text,), earlier=[turn.heard for turn in earlier], name="Ulric", people=("Nell",))
    return Line("Nell", text, TOWER, notes_on(text, "Nell", TOWER, earlier), earlier, heard)


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
    assert judge("There is a door in the east.", line_of("Which ways lead out of here?"))[0] == ""
    assert fallback(line_of("Which ways lead out of here?")) == notes.text()


def test_the_room_says_where_its_stair_leads() -> None:
    notes = notes_on("Where does the stair lead?", "Nell", TOWER, ())
    assert notes.text() == "A stair winds down, and down is The Study."
    assert fallback(line_of("Where does the stair lead?")) not in notes.text()  # it may not be what was asked


def test_what_the_speaker_told_of_themselves_is_told_again_in_the_second_person() -> None:
    earlier = (Turn("Nell", "I keep seven goats on the hill.", "Yes."), Turn("Bert", "I hate goats.", "Yes."))
    assert notes_on("How many goats do I keep?", "Nell", TOWER, earlier).facts == ("You keep seven goats on the hill.",)


@pytest.mark.parametrize("text", ["What is your cat doing?", "Why is the piano so loud?", "How many swords hang here?"])
def test_a_thing_that_is_not_there_is_denied(text: str) -> None:
    line = line_of(text)
    assert line.notes.absent
    assert judge("It is very nice and big.", line)[0] == ""
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
    ("answer", "text", "told"),
    [
        ("I sell silk.", "What do I sell?", "I sell silk."),
        ("My feet hurt.", "What hurts me?", "My feet hurt me."),
        ("I lost my scarf.", "What did I lose?", "I lost my red scarf at the fair."),
    ],
)
def test_what_the_speaker_told_of_themselves_is_told_back_as_theirs(answer: str, text: str, told: str) -> None:
    line = line_of(text, (Turn("Nell", told),))
    assert judge(answer, line)[0] == to_second(answer)
    assert judge(to_second(answer), line)[0] == to_second(answer)


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


def test_persons_are_turned_whole() -> None:
    assert (
        to_second("I am glad. My dog likes me, and we were out.")
        == "You are glad. Your dog likes you, and you were out."
    )
    assert asks_of_self("Do you still know the name of my horse?")
    assert not asks_of_self("What is your name?")


def test_names_are_found_by_their_last_word_and_in_the_plural() -> None:
    assert names_in("Look at the maps and that chart.", ["star chart", "old map", "stool"]) == ["old map", "star chart"]


def test_examples_have_no_noun_of_the_scene() -> None:
    scene = View("Odo", "You own mules.", things=("pebble", "windows", "elephant"))
    shown = known_words(*(text for turn in example_turns(scene) for text in turn))
    assert not shown & {"mule", "pebble", "window", "elephant"}


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
