"""Somebody who knows you: three weeks of visits, and what the character is shown of those who come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from mud_assistant.tools import Principal
from tests.assistant.memory.days import DAY, HOUR, Days, days

IDA, OTTO, WREN, CALEB, SUSA = PEOPLE = tuple(
    Principal(f"player:{number}", name) for number, name in enumerate(("Ida", "Otto", "Wren", "Caleb", "Susa"), 1)
)
STRANGER, FRIEND = "Good day, traveller.", "There you are again, {{user}}."
#: What each tells in the course of the days, by the day.
TOLD: dict[Principal, dict[int, tuple[str, ...]]] = {
    IDA: {
        0: ("I'm a glassblower from Murano Sands.", "My husband is called Piet.", "I have two goats."),
        2: ("I am scared of thunder.", "My eldest daughter Lisbet is learning the harp.", "I adore roasted chestnuts."),
        5: ("I dropped my silver thimble by the old bridge.", "Next week I have to speak before the guild."),
        9: ("My favourite season is autumn.", "I bought a second furnace.", "You promised me a song about the sea."),
        14: ("I moved to the house beside the chapel.", "I no longer like chestnuts, they made me ill."),
    },
    OTTO: {
        1: ("I was born in Kaltenfels, up in the mountains.", "I drive the mail coach for a living."),
        3: ("My horse is named Bruno.", "I can't stand the cold.", "My brother Emil owes me ten crowns."),
        6: ("Somebody stole my whip last night.", "I play cards on Sundays."),
        10: ("I will race against Hannes on Saturday.", "My mother is very ill."),
        15: ("My horse is called Falke now, I sold Bruno.",),
    },
    WREN: {
        0: ("We came here from the marshes of Ull.", "I gather herbs for the apothecary."),
        4: ("Our cat's name is Pepper.", "I love rain.", "My greatest fear is fire."),
        8: ("I lost the key to my chest.", "I am going to visit my aunt in Torrow tomorrow."),
        12: ("I once saw a white stag.", "My twin brother lives in Esk."),
        17: ("I found my key under the bed!",),
    },
    CALEB: {
        2: ("I used to be a sailor, now I mend clocks.", "I come from Port Hale."),
        7: ("My late wife was called Oriel.", "I have a wooden leg.", "I enjoy chess more than anything."),
        11: ("My son Jory is coming home in three days.", "I am terrified of rats."),
        16: ("I have mislaid my spectacles.", "My birthday is on the 2nd of March."),
    },
    SUSA: {
        1: ("I am the new schoolmistress.", "I live in the attic of the mill."),
        5: ("My parrot is called Admiral.", "I dislike onions.", "I grew up in Vell."),
        9: ("I'm getting married in the spring.", "I will sing at the harvest feast on Sunday."),
        13: ("My sister Dorrit has had a baby.", "I am allergic to cats."),
        18: ("I have lost my voice, and my blue shawl is missing.",),
    },
}
#: What they ask in the end, with what must be in the prompt.
ASKED: dict[Principal, tuple[tuple[str, str], ...]] = {
    IDA: (
        ("Where am I from?", "Murano Sands"), ("What do I do for a living?", "glassblower"),
        ("What is my husband's name?", "Piet"), ("Do I have any animals?", "goats"),
        ("What am I afraid of?", "thunder"), ("What is my daughter called?", "Lisbet"),
        ("What did I lose by the bridge?", "thimble"), ("What was I going to do before the guild?", "speak before"),
        ("What is my favourite season?", "autumn"), ("What did I buy?", "furnace"),
        ("What did you promise me?", "song about the sea"), ("Where do I live now?", "chapel"),
        ("Do I like chestnuts?", "no longer like chestnuts"), ("What do you know about me?", "glassblower"),
        ("Who is Lisbet?", "harp"),
    ),
    OTTO: (
        ("Where was I born?", "Kaltenfels"), ("What is my job?", "mail coach"), ("What is my horse called?", "Falke"),
        ("What can't I stand?", "cold"), ("Who owes me money?", "Emil"), ("What was stolen from me?", "whip"),
        ("What do I do on Sundays?", "cards"), ("Whom did I want to race?", "Hannes"),
        ("How is my mother, did I say?", "very ill"), ("Do you remember me?", "mail coach"),
        ("What do you know about Ida?", "glassblower"), ("Where does Wren come from?", "marshes of Ull"),
        ("What is Caleb afraid of?", "rats"), ("Do you know Susa?", "schoolmistress"),
        ("What did I sell?", "Bruno"),
    ),
    WREN: (
        ("Where do we come from?", "marshes of Ull"), ("What is my trade?", "herbs"),
        ("What is our cat called?", "Pepper"), ("What weather do I love?", "rain"), ("What do I fear most?", "fire"),
        ("Did I find my key?", "under the bed"), ("Whom was I going to visit?", "aunt in Torrow"),
        ("What animal did I see once?", "white stag"), ("Where does my twin brother live?", "Esk"),
        ("What do you know of me?", "marshes of Ull"), ("What does Otto do?", "mail coach"),
        ("Who is Caleb?", "mend clocks"), ("What do you know about Susa?", "attic of the mill"),
        ("Have you met Ida?", "glassblower"), ("Tell me about Otto.", "Kaltenfels"),
    ),
    CALEB: (
        ("What was I before I mended clocks?", "sailor"), ("Where am I from?", "Port Hale"),
        ("What was my wife's name?", "Oriel"), ("What is my leg made of?", "wooden leg"),
        ("What game do I enjoy?", "chess"), ("Who is coming home?", "Jory"), ("What am I terrified of?", "rats"),
        ("What am I missing?", "spectacles"), ("When is my birthday?", "2nd of March"),
        ("What do you remember about me?", "Port Hale"), ("What do you know about Wren?", "herbs"),
        ("What is Otto's horse called?", "Falke"), ("Does Susa have a pet?", "Admiral"),
        ("What does Ida like?", "autumn"), ("Did you ever talk to Wren?", "marshes"),
    ),
    SUSA: (
        ("What am I?", "schoolmistress"), ("Where do I live?", "attic of the mill"),
        ("What is my parrot's name?", "Admiral"), ("Which food do I dislike?", "onions"),
        ("Where did I grow up?", "Vell"), ("When do I get married?", "spring"),
        ("What did I plan for the harvest feast?", "sing at the harvest"), ("Who had a baby?", "Dorrit"),
        ("What am I allergic to?", "cats"), ("What is missing?", "shawl"), ("Who am I?", "schoolmistress"),
        ("What do you know about Caleb?", "Port Hale"), ("Who is Ida married to?", "Piet"),
        ("What did Otto lose?", "whip"), ("Is Wren afraid of anything?", "fire"),
    ),
}  # fmt: skip
#: Questions of time, on the last day, with what was said then.
DATED = {
    IDA: (
        ("When did I lose my thimble?", "16 days ago"), ("What did I tell you a week ago?", "chapel"),
        ("When did I buy the furnace?", "12 days ago"), ("When did I move to the chapel?", "7 days ago"),
    ),
    OTTO: (
        ("What did I tell you two weeks ago?", "Emil"), ("When did I sell Bruno?", "6 days ago"),
        ("When was my whip stolen?", "15 days ago"), ("What did I say six days ago?", "Falke"),
    ),
    WREN: (
        ("When did I find my key?", "4 days ago"), ("What did I say four days ago?", "under the bed"),
        ("When did I lose my key?", "13 days ago"), ("What did I tell you in the last week?", "under the bed"),
    ),
    CALEB: (
        ("When did I mislay my spectacles?", "5 days ago"), ("What did I tell you five days ago?", "spectacles"),
        ("What did I say about Jory ten days ago?", "coming home"), ("When did I tell you of my leg?", "14 days ago"),
    ),
    SUSA: (
        ("What did I tell you three days ago?", "shawl"), ("When did my sister have a baby?", "8 days ago"),
        ("What did I say last week?", "Dorrit"), ("How long ago did I say that I grew up in Vell?", "16 days ago"),
    ),
}  # fmt: skip


def last_turn(prompt: str) -> str:
    """What stands beside the line, without the turns before it."""
    return prompt[prompt.rfind("\n(") :]


def three_weeks() -> tuple[Days, dict[str, list[str]]]:
    """Twenty-one days of visits; the character, and how each was greeted, visit by visit."""
    life = days(greeting=STRANGER, more_greetings=(FRIEND,))
    greeted: dict[str, list[str]] = {who.id: [] for who in PEOPLE}
    for day in range(21):
        begin = life.clock.seconds()
        for who, lines in TOLD.items():
            if day in lines:
                greeted[who.id] += life.come(who)
                for line in lines[day]:
                    life.say(who, line)
                life.say(who, "What can you see here?")
                life.leave(who)
                life.pass_time(HOUR / 2)
        life.pass_time(begin + DAY - life.clock.seconds())
    return life, greeted


@pytest.fixture(scope="module")
def weeks() -> tuple[Days, dict[str, list[str]]]:
    return three_weeks()


def test_strangers_are_greeted_as_such_and_friends_as_friends(weeks: tuple[Days, dict[str, list[str]]]) -> None:
    _, greeted = weeks
    for who in PEOPLE:
        first, *others = greeted[who.id]
        assert first == STRANGER
        assert len(others) == len(TOLD[who]) - 1
        assert all(greeting.startswith(f"There you are again, {who.name}.") for greeting in others)


def test_what_was_open_is_asked_about_once_a_visit(weeks: tuple[Days, dict[str, list[str]]]) -> None:
    _, greeted = weeks
    everything = " ".join(line for lines in greeted.values() for line in lines)
    assert 'You told me: "I dropped my silver thimble by the old bridge." Has it turned up?' in everything
    assert 'You told me: "My son Jory is coming home in three days." How did it go?' in everything


def probe(life: Days, probes: Mapping[Principal, Sequence[tuple[str, str]]]) -> tuple[int, list[tuple[str, str, str]]]:
    """Let each ask their questions in a visit. Return how many there were, and those whose answer no prompt had."""
    missed, count = list[tuple[str, str, str]](), 0
    for who, asked in probes.items():
        life.come(who)
        for question, wanted in asked:
            count += 1
            if wanted not in last_turn(life.say(who, question)):
                missed.append((who.name, question, wanted))
            life.pass_time(60)
        life.leave(who)
    return count, missed


def test_what_is_asked_is_in_the_prompt(weeks: tuple[Days, dict[str, list[str]]]) -> None:
    life, _ = weeks
    count, missed = probe(life, ASKED)
    assert count - len(missed) >= 0.95 * count, missed


def test_a_time_that_is_asked_for_is_in_the_prompt() -> None:
    life, _ = three_weeks()
    count, missed = probe(life, DATED)
    assert count - len(missed) >= 0.8 * count, missed


def test_what_was_whispered_is_only_for_who_whispered_it() -> None:
    life = days(greeting=STRANGER)
    life.come(IDA)
    life.whisper(IDA, "My brother Rolf is a deserter.")
    life.say(IDA, "My sister is called Anke.")
    life.pass_time(3 * DAY)
    life.come(OTTO)
    told = life.say(OTTO, "What do you know about Ida?")
    assert "Anke" in last_turn(told)
    assert "Rolf" not in last_turn(told)
    assert "Rolf" not in last_turn(life.say(IDA, "What is my brother called?"))
    assert "Rolf" in last_turn(life.whisper(IDA, "What is my brother called?"))


def test_two_of_one_name_are_told_apart_and_a_former_name_is_known() -> None:
    life = days()
    other = Principal("player:9", "Ida")
    life.come(IDA)
    life.say(IDA, "I am a baker.")
    life.leave(IDA)
    life.come(other)
    life.say(other, "I am a hunter.")
    life.leave(other)
    renamed = replace(OTTO, name="Ottokar")
    life.come(OTTO)
    life.say(OTTO, "I come from Kaltenfels.")
    life.leave(OTTO)
    life.come(renamed)
    life.come(WREN)
    told = last_turn(life.say(WREN, "What do you know about Ida?"))
    assert "2 people called Ida" in told
    assert "baker" in told
    assert "hunter" in told
    assert "Kaltenfels" in last_turn(life.say(WREN, "What do you know about Otto?"))
    assert "Kaltenfels" in last_turn(life.say(WREN, "Do you know Ottokar?"))
    assert "Kaltenfels" not in last_turn(life.say(WREN, "Do you know Ott?"))
    assert "never met anybody called Zacharias" in last_turn(life.say(WREN, "Do you know Zacharias?"))


@pytest.mark.parametrize(
    ("answer", "asked_again"),
    [
        ("It went very well, I passed.", False),
        ("Fine, thanks.", False),
        ("Not yet, they put it off.", True),
        ("", True),
    ],
)
def test_an_open_matter_is_closed_or_kept_by_the_answer(answer: str, asked_again: bool) -> None:
    life = days(greeting=STRANGER, more_greetings=(FRIEND,))
    life.come(IDA)
    life.say(IDA, "My exam is tomorrow.")
    life.leave(IDA)
    life.pass_time(HOUR * 20)
    assert "exam" not in " ".join(life.come(IDA))  # its day is not over
    life.leave(IDA)
    life.pass_time(DAY)
    assert life.come(IDA) == ['There you are again, Ida. You told me: "My exam is tomorrow." How did it go?']
    if answer:
        life.say(IDA, answer)
    life.leave(IDA)
    life.come(IDA)  # the same visit
    life.leave(IDA)
    life.pass_time(DAY)
    assert ("How did it go?" in " ".join(life.come(IDA))) is asked_again


def test_a_private_matter_is_not_asked_about_aloud() -> None:
    life = days(greeting=STRANGER, more_greetings=(FRIEND,))
    life.come(IDA)
    life.whisper(IDA, "I have lost my wedding ring.")
    life.leave(IDA)
    life.pass_time(2 * DAY)
    assert life.come(IDA) == ["There you are again, Ida."]


def test_a_greeting_for_strangers_alone_is_said_to_no_friend() -> None:
    for greeting, again in ((STRANGER, "Welcome back, Ida."), ("Willkommen, Fremder.", "Willkommen, Fremder.")):
        life = days(greeting=greeting)
        assert life.come(IDA) == [greeting]
        life.leave(IDA)
        life.pass_time(2 * DAY)
        assert life.come(IDA) == [again]


def asked_after(life: Days, who: Principal, line: str) -> str:
    """Return what the character says to a line."""
    life.say(who, line)
    return life.witness.heard[-1].removeprefix("Sage: ")


def test_a_small_model_that_tells_something_else_is_not_heard() -> None:
    life = days()
    life.come(IDA)
    life.say(IDA, "I have lost my red scarf.")
    life.say(IDA, "I come from Lindby.")
    assert asked_after(life, IDA, "what did I lose?") == "You have lost your red scarf. Has it turned up?"
    assert "You come from Lindby." in asked_after(life, IDA, "do you remember me?")
    assert '"I come from Lindby."' in asked_after(life, IDA, "what did I tell you about Lindby?")
    assert asked_after(life, IDA, "what did I tell you about my uncle?") == "Nothing that I remember."
    assert "scarf" not in asked_after(life, IDA, "where do I find the inn?")
    assert "may be said of that" in asked_after(life, IDA, "do you know where I can sleep?")


def test_what_somebody_did_not_tell_everybody_is_theirs_to_tell() -> None:
    life = days()
    life.come(IDA)
    life.come(OTTO)
    life.say(OTTO, "I drive the mail coach.")
    life.whisper(OTTO, "I am in love with Wren. Tell no one!")
    asked = asked_after(life, IDA, "whom does Otto love?")
    assert "Otto" in asked
    assert "Wren" not in asked
    assert '"' not in asked
    assert "Wren" not in asked_after(life, IDA, "what did Otto tell you about me?")
    assert '"I drive the mail coach."' in asked_after(life, IDA, "what do you think of Otto?")
    assert '"' not in asked_after(life, IDA, "do you know Jorinde?")
