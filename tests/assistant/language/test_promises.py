"""What a player asks for later, and what a character promises in its own words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.events.goal import GoalKind
from mud_assistant.assistant.language.later.chores import chore_gesture
from mud_assistant.assistant.language.later.hours import DAY, HOUR, MINUTE
from mud_assistant.assistant.language.later.listed_goals import listed
from mud_assistant.assistant.language.later.wishes import Asked
from mud_assistant.assistant.language.promises import accepts, promised_in, request_in
from mud_assistant.assistant.language.times import When
from mud_assistant.assistant.loop.promise_goals import NAMES_TIME, PROMISES

DAWN, NOON, DUSK = When(hour=6), When(hour=12), When(hour=18)
EVENINGS = When(hour=19, every=DAY)
ANN, BACK = When(person="Ann"), When(person="")


def remind(when: When, what: str = "") -> Asked:
    """Return a wish to be reminded."""
    return Asked(GoalKind.REMIND, when, what)


def tell(what: str, whom: str = "Ann", when: When = ANN) -> Asked:
    """Return a wish that somebody be told something."""
    return Asked(GoalKind.TELL, when, what, whom)


def come(when: When, place: str = "") -> Asked:
    """Return a wish that the character be somewhere."""
    return Asked(GoalKind.COME, when, place=place)


def wait(what: str, when: When = BACK, place: str = "") -> Asked:
    """Return a wish that the character stay."""
    return Asked(GoalKind.WAIT, when, what, place=place)


def chore(what: str, when: When, place: str = "") -> Asked:
    """Return a wish that something be tended."""
    return Asked(GoalKind.CHORE, when, what, place=place)


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("Remind me at dawn to feed the hens.", remind(DAWN, "feed the hens")),
        ("marlo pls remind me abt my rope in 10 mins thx", remind(When(seconds=10 * MINUTE), "your rope")),
        ("Remind me, please, to thank Nell when I return.", remind(BACK, "thank Nell")),
        ("remind me to pay you at noon", remind(NOON, "pay me")),
        ("Don't let me forget the bread at noon!", remind(NOON, "the bread")),
        ("At dusk, would you be so kind as to remind me of my promise?", remind(DUSK, "your promise")),
        ("Would you mind waking me at dawn, Marlo?", remind(DAWN, "wake up")),
        ("let me know when it is noon", remind(NOON)),
        ("Tell Ann when she comes that dinner is ready.", tell("dinner is ready")),
        ("if you see Ann, tell her I left the key with Nell", tell("I left the key with Nell")),
        ("could you let ann know I'm at the jetty when she gets here?", tell("I'm at the jetty")),
        ("Ask Ann to wait for me when she comes in.", tell("wait for me")),
        ("I'm off. Say hello to Ann when you see her!", tell("hello")),
        ("tell Wat at noon that I am sorry", tell("I am sorry", "Wat", NOON)),
        ("Let me know when Ann gets here.", tell("Ann is here", "")),
        ("give me a shout if ann turns up", tell("Ann is here", "")),
        ("come back in an hour", come(When(seconds=HOUR))),
        ("Meet me at the old mill at noon, Marlo.", come(NOON, "old mill")),
        ("be at the inn at dusk or I go alone", come(DUSK, "inn")),
        ("wait for me at the inn at noon", come(NOON, "inn")),
        ("Wait here until I am back.", wait("wait here")),
        ("don't go anywhere till i get back", wait("don't go anywhere")),
        ("stay here while I fetch the rope", wait("stay here")),
        ("stay in the library until I return", wait("stay in the library", place="library")),
        ("stay here for ten minutes", wait("stay here", When(seconds=10 * MINUTE))),
        ("stay here and wait for Ann until she comes", wait("stay here and wait for Ann", ANN)),
        ("guard my bag until I'm back", wait("guard my bag")),
        ("mind the fire every evening", chore("mind the fire", EVENINGS)),
        ("please water the plants in the attic each evening", chore("water the plants", EVENINGS, "attic")),
        ("Would you mind feeding my cat at dawn?", chore("feed my cat", DAWN)),
        ("so, light the lamps when Ann comes", chore("light the lamps", ANN)),
        ("give me a nudge in fifteen", remind(When(seconds=15 * MINUTE))),
        ("remind me in an hour and a quarter", remind(When(seconds=75 * MINUTE))),
        ("remind me in 1.5 hours of the pie", remind(When(seconds=90 * MINUTE), "the pie")),
        ("set a timer for 20 minutes", remind(When(seconds=20 * MINUTE))),
        ("five minute timer please: the eggs", remind(When(seconds=5 * MINUTE), "the eggs")),
        ("set an alarm for 7am", remind(When(hour=7))),
        ("two minutes, then call me", remind(When(seconds=2 * MINUTE))),
        ("I leave in half an hour, remind me please", remind(When(seconds=30 * MINUTE), "you leave")),
        ("tell me in ten minutes to take the bread out", remind(When(seconds=10 * MINUTE), "take the bread out")),
        ("remnid me in 5 minuets pls", remind(When(seconds=5 * MINUTE))),
        ("lmk if ann's online", tell("Ann is here", "")),
        ("I'd be grateful if you told me when Ann arrives", tell("Ann is here", "")),
        ("I want to know as soon as Ann is back", tell("Ann is here", "")),
        ("i'm waiting for ann, poke me when she's in", tell("Ann is here", "")),
        ("notify me on Ann's return", tell("Ann is here", "")),
        ("Leave Ann a message: I am at the mill", tell("I am at the mill")),
        ("Could you take a message for Ann? Tell her the boat is mended.", tell("the boat is mended")),
        ('When Ann comes, say "the boat is mended" please', tell("the boat is mended")),
        ("ask Ann when she comes if she has my book", tell("whether she has my book")),
        ("tell Ann from me that I left, when she comes", tell("I left")),
        ("thank Ann for me when you see her", tell("thank you")),
        ("apologise to Ann for me when she comes", tell("sorry")),
        ("watch my bag for ten minutes", wait("watch my bag", When(seconds=10 * MINUTE))),
    ],
)  # fmt: skip
def test_what_a_line_asks_for_later(line: str, asked: Asked) -> None:
    assert request_in(line) == asked
    assert NAMES_TIME.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "Wait here.", "Follow me.", "Come here.", "Tell me a story.", "Tell Ann I said hello.", "Mind the fire.",
        "Tell Ann that dinner is at six.", "Tell me when the ferry leaves.", "Do you come here every evening?",
        "Don't remind me at dawn.", "You remind me of my mother.", "The cock wakes me at dawn.", "See you at noon.",
        "She told me to wait here until she came back.", "I will be back in an hour.",
        "Did you tell Ann when she came?",
        "Will you be at the inn tonight?", "Shall I wait here until you are back?", "Just wait till Ann hears of it.",
        "Give me the rope tomorrow.", "Come with me at noon.", "Be careful tonight.", "Go to sleep at nine.",
        "Mind your own business tonight.", "If you see Ann, run.",
        '"Come back at noon" is what he said.', "", "Let's meet at the mill at noon some time.",
        "That reminds me of ten minutes in the rain.", "The timer for ten minutes was wrong.",
        "They want to know when Ann comes.",
        "Remind me to scold him when he comes.", "Ask Bea to let me know when Ann comes.", "I'm in in ten minutes.",
        'The sign says "ring if you are back in ten".', "The massage took ten minutes.",
    ],
)  # fmt: skip
def test_what_is_asked_for_now_or_not_at_all_is_none(line: str) -> None:
    assert request_in(line) is None


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("I will remind you at dawn to feed your hens.", remind(DAWN, "feed your hens")),
        ("At dawn I will wake you, you have my word.", remind(DAWN, "wake up")),
        ("I'll tell Ann that you left the key when she comes.", tell("I left the key")),
        ("If I see Ann, I shall tell her to wait.", tell("wait")),
        ("I\u2019ll let you know when Ann gets here.", tell("Ann is here", "")),
        ("You have my word: I will be at the mill at noon.", come(NOON, "mill")),
        ("We shall meet at the well at noon.", come(NOON, "well")),
        ("I'm going to come back in an hour.", come(When(seconds=HOUR))),
        ("I'll be waiting here until you return.", wait("wait here")),
        ("I will not move until you are back.", wait("don't move")),
        ("If you like, I'll mind the fire every evening.", chore("mind the fire", EVENINGS)),
        ("I'll slay the dragon tomorrow!", None),
        ("I will bring you a gift next week.", None),
        ("I swear to find your ring.", None),
        ("I'll give you ten coins when you come back.", None),
    ],
)  # fmt: skip
def test_what_a_character_promises(words: str, asked: Asked | None) -> None:
    assert PROMISES.search(words)
    assert [(each.sentence, each.asked) for each in promised_in(f"Well now. {words} Goodbye!")] == [(words, asked)]


@pytest.mark.parametrize(
    "words",
    [
        "I will not wake you at dawn.", "I shall miss you tomorrow.", "I'll say!", "I will admit that it is late.",
        "I think I'll have some tea.", "That will be two pennies.", "I'll tell you a secret: she is in love.",
        "Shall I wake you at dawn?", "He will come at noon.", "I'd wake you at dawn.", "I would be there at noon.",
        '"I will be back at noon," he said, and was not.', "Perhaps I will come to the inn tonight.",
        "I'll have my supper at six.", "I'll see you tomorrow.", "I know what I will do tomorrow.",
        "If I pay you, I will be poor tomorrow.", "I go home at six.", "I'll fetch you an ale.",
    ],
)  # fmt: skip
def test_what_is_no_promise(words: str) -> None:
    assert promised_in(words) == []


def test_each_promise_of_a_sentence_is_found() -> None:
    words = "I'll wake you at dawn, and I'll mind the fire every evening."
    assert [each.asked for each in promised_in(words)] == [remind(DAWN, "wake up"), chore("mind the fire", EVENINGS)]


@pytest.mark.parametrize(
    "words",
    [
        "I will.", "Gladly.", "Of course.", "As you wish.", "Very well, at dawn.", "You can count on me.",
        "Yes, I shall.",
        "Consider it done.", "I won't forget.", "Oh, very well.", "Of course, I shall remind you.", "Aye.",
        "I'll see to it.",
    ],
)  # fmt: skip
def test_words_that_take_on_what_was_asked(words: str) -> None:
    assert accepts(words)


@pytest.mark.parametrize(
    "words",
    [
        "I will not.", "If I must remember everything, who bakes?", "Why should I?", "Of course not.", "Perhaps.",
        "Very well said.", "Gladly, if I had the time.", "Of course I remember the war.", "I would, but I sleep.",
        "I will have an ale.", "Yes, the bread is good.", "Certainly. And who pays me?", "", "No.",
    ],
)  # fmt: skip
def test_words_that_do_not(words: str) -> None:
    assert not accepts(words)


@pytest.mark.parametrize(
    ("what", "gesture"),
    [
        ("mind the fire", "minds the fire."), ("feed my cat", "feeds the cat."), ("watch your bag.",
        "watches the bag."),
        ("look after our horse", "looks after the horse."), ("tidy the desk", "tidies the desk."),
        ("polish the lamp", "polishes the lamp."), ("kill the king", ""), ("open the door", ""), ("mind the gap", ""),
        ("feed me", ""), ("", ""),
    ],
)  # fmt: skip
def test_only_tending_is_a_chore(what: str, gesture: str) -> None:
    assert chore_gesture(what) == gesture


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (remind(DAWN, "the bread"), "remind you at dawn: the bread"), (remind(NOON), "remind you at noon"),
        (tell("dinner is ready"), "tell Ann when they come: dinner is ready"),
        (tell("Ann is here", ""), "tell you when Ann comes"),
        (tell("she left", ""), "tell you when Ann comes: she left"),
        (tell("dinner is ready", "ANN"), "tell ANN when they come: dinner is ready"),
        (tell("I left", "Captain Reed", When(person="Reed")), "tell Captain Reed when they come: I left"),
        (tell("we eat", "Bea"), "tell Bea when Ann comes: we eat"),
        (tell("whether she has my book"), "ask Ann when they come: whether she has my book"),
        (remind(DAWN, "wake up"), "wake you at dawn"), (wait("don't move"), "not move until you are back"),
        (chore("guard the gate", When(hour=21, every=DAY)), "guard the gate every night"),
        (come(NOON, "mill"), "be at the mill at noon"),
        (wait("wait here"), "wait here until you are back"), (wait("wait here", NOON), "wait here until noon"),
        (wait("wait here", When(seconds=10 * MINUTE)), "wait here for ten minutes"),
        (remind(When(seconds=90 * MINUTE)), "remind you in 90 minutes"),
        (chore("feed my cat", DAWN), "feed your cat at dawn"),
    ],
)  # fmt: skip
def test_a_goal_is_listed_for_its_asker(asked: Asked, text: str) -> None:
    assert listed(asked) == text


def test_a_goal_is_listed_for_others() -> None:
    assert listed(remind(DAWN, "the bread"), "Bea") == "remind Bea at dawn: the bread"
    assert listed(wait("wait here"), "Bea") == "wait here until Bea is back"
    assert listed(remind(BACK, "the bread"), "Bea") == "remind Bea when they are back: the bread"


@pytest.mark.parametrize(
    "line",
    [
        "Remind me at dawn to feed the hens.", "Remind me the day after tomorrow at noon of the fair.",
        "Wake me in half an hour.", "Let me know when Ann is here.", "Don't move until I return.",
        "Guard the gate every night.", "Ask Ann when she comes whether she has my book.",
        "Tell my brother Tom when he is here that mother is ill.", "When my sister Ann comes, tell her we eat.",
        "Watch my bag for ten minutes.", "Remind me in an hour and a half of the pie.", "Wait here until noon.",
        "Come to the inn tomorrow evening.", "Remind me when I am back to eat.",
    ],
)  # fmt: skip
@pytest.mark.parametrize("said", ["I will {}.", "You have my word: I will {}.", "I shall {}."])
def test_what_is_said_of_a_promise_is_understood_as_that_promise(line: str, said: str) -> None:
    asked = request_in(line)
    assert asked is not None
    (found,) = promised_in(said.format(listed(asked)))
    assert found.asked is not None
    assert (found.asked.kind, found.asked.when, found.asked.whom) == (asked.kind, asked.when, asked.whom)


def test_who_somebody_is_to_the_speaker_is_no_part_of_their_name() -> None:
    asked = request_in("Tell my brother Tom when he is here that mother is ill.")
    assert asked == tell("mother is ill", "Tom", When(person="Tom"))


_ANY = st.text(max_size=60) | st.lists(
    st.sampled_from(
        ["I'll", "you", "tell", "Ann", "when", "she", "comes", "at dawn", "wait", "here", "until", "?", "the"]
    )
).map(" ".join)


@given(_ANY)
def test_any_line_is_taken(line: str) -> None:
    asked = request_in(line)
    assert asked is None or listed(asked)
    assert all(each.sentence in line for each in promised_in(line))
    assert accepts(line) in (True, False)
