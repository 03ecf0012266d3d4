import pytest

from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.testing import ANNA, SAGE, now
from mud_assistant.tools.trust import Principal
from tests.guards import FlushFailures

BEN = Principal("player:ben", "Ben")
MIRA = next(resident.principal for resident in HAMLET.residents if resident.greeting)


class Diary:
    """Ears that write down what they perceive."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        self.lines.append(f"{speaker.name} says{f' to {target.name}' if target else ''}: {text}")

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        self.lines.append(f"{speaker.name} whispers: {text}")

    def heard_page(self, speaker: Principal, text: str) -> None:
        self.lines.append(f"{speaker.name} pages: {text}")

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        self.lines.append(f"{speaker.name} on {channel}: {text}")

    def saw_emote(self, actor: Principal, text: str) -> None:
        self.lines.append(f"{actor.name} {text}")

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        self.lines.append(f"{giver.name} gives me the {thing} ({authority})")

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        self.lines.append(f"{who.name} comes from {from_direction or 'nowhere'}")

    def saw_departure(self, who: Principal, direction: str) -> None:
        self.lines.append(f"{who.name} goes {direction or 'away'}")


class Scenario:
    """Sage, Anna and Ben in the library, each with a diary."""

    def __init__(self) -> None:
        self.world = EmbeddedWorld()
        self.diaries = [Diary(), Diary(), Diary()]
        bodies = [self.world.add(who, "library") for who in (SAGE, ANNA, BEN)]
        for body, diary in zip(bodies, self.diaries, strict=True):
            body.listener = diary
        self.sage, self.anna, self.ben = bodies
        self.heard_by_sage, self.heard_by_anna, self.heard_by_ben = (diary.lines for diary in self.diaries)


@pytest.fixture
def scenario() -> Scenario:
    return Scenario()


def test_every_exit_leads_somewhere_and_back() -> None:
    rooms = {room.key: room for room in HAMLET.rooms}
    for room in HAMLET.rooms:
        for way in room.exits:
            assert room.key in [back.to for back in rooms[way.to].exits]
        assert all(thing.description for thing in room.things)
    assert all(resident.room in rooms for resident in HAMLET.residents)


def test_newcomers_start_in_the_first_room_and_are_seen() -> None:
    world, diary = EmbeddedWorld(), Diary()
    world.add(SAGE, listener=diary)
    anna = world.add(ANNA)
    assert now(anna.look()).room == "The Old Library"
    assert diary.lines == ["Anna comes from nowhere"]


def test_nobody_is_in_the_game_twice(scenario: Scenario) -> None:
    with pytest.raises(ValueError, match="player:anna is in the game already"):
        scenario.world.add(ANNA, "mill")


def test_speech_is_heard_by_all_others_in_the_room(scenario: Scenario) -> None:
    now(scenario.anna.say("Hello!"))
    now(scenario.anna.say("And you?", to="sag"))
    assert scenario.heard_by_sage == ["Anna says: Hello!", "Anna says to Sage: And you?"] == scenario.heard_by_ben
    assert scenario.heard_by_anna == []


def test_a_whisper_is_heard_by_one(scenario: Scenario) -> None:
    now(scenario.anna.whisper("ben", "psst"))
    assert scenario.heard_by_ben == ["Anna whispers: psst"]
    assert scenario.heard_by_sage == scenario.heard_by_anna == []


def test_an_emote_is_seen(scenario: Scenario) -> None:
    now(scenario.sage.emote("smiles"))
    assert scenario.heard_by_anna == ["Sage smiles"]


def test_nothing_is_heard_in_another_room(scenario: Scenario) -> None:
    now(scenario.ben.move("up"))
    scenario.heard_by_ben.clear()
    now(scenario.anna.say("Is he gone?"))
    assert scenario.heard_by_ben == []


def test_leaving_and_coming_are_seen_at_both_ends_with_directions(scenario: Scenario) -> None:
    now(scenario.ben.move("south"))
    now(scenario.anna.move("s"))
    now(scenario.anna.move("n"))
    assert scenario.heard_by_sage == ["Ben goes south", "Anna goes south", "Anna comes from south"]
    assert scenario.heard_by_ben == ["Anna comes from north", "Anna goes north"]


def test_who_leaves_the_game_is_seen_leaving_once(scenario: Scenario) -> None:
    scenario.world.remove(scenario.ben)
    scenario.world.remove(scenario.ben)
    assert scenario.heard_by_sage == ["Ben goes away"]
    assert [person.name for person in now(scenario.sage.who())] == ["Sage", "Anna", "Mira", "Tom", "Oda", "Venn"]


@pytest.mark.parametrize(
    "direction",
    ["south", "S", "s.", "go south", "Village Square", "the square", "to the village square", "go to square"],
)
def test_the_ways_to_say_where_to_go(scenario: Scenario, direction: str) -> None:
    assert now(scenario.anna.move(direction)).room == "The Village Square"


def test_an_unknown_way_lists_the_ways(scenario: Scenario) -> None:
    with pytest.raises(ToolFailed, match=r"Exits: south \(The Village Square\), up \(The Attic\)\."):
        now(scenario.anna.move("west"))
    assert now(scenario.anna.look()).room == "The Old Library"


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("the old map", "A mill, a square"),
        ("Map", "A mill, a square"),
        ("herbs", "good for the throat"),
        ("south", "It leads to The Village Square."),
        ("sage", "This is Sage."),
        ("me", "This is Anna."),
        ("here", "full of books"),
        ("library", "full of books"),
    ],
)
def test_what_can_be_inspected(scenario: Scenario, target: str, part: str) -> None:
    assert part in now(scenario.anna.inspect(target))


def test_what_is_not_here_is_answered_with_what_is(scenario: Scenario) -> None:
    with pytest.raises(
        ToolFailed, match=r"There is no 'the dragon' here\. You see: old map, hearth, book of herbs, Sage, Ben\."
    ):
        now(scenario.anna.inspect("the dragon"))


def test_whispering_to_oneself_or_to_nobody_is_refused(scenario: Scenario) -> None:
    with pytest.raises(ToolFailed, match="Here are: Sage, Ben"):
        now(scenario.anna.whisper("Anna", "hm"))
    now(scenario.anna.move("up"))
    with pytest.raises(ToolFailed, match="Nobody else is here"):
        now(scenario.anna.whisper("Sage", "hm"))


def test_a_page_is_heard_by_one_wherever_they_are(scenario: Scenario) -> None:
    now(scenario.ben.move("up"))
    scenario.heard_by_ben.clear()
    now(scenario.sage.page("ben", "Come down."))
    assert scenario.heard_by_ben == ["Sage pages: Come down."]
    assert scenario.heard_by_anna == ["Ben goes up"]
    now(scenario.sage.page("mira", "Bread?"))  # who lives in the place listens in silence
    assert not any("Bread" in line for diary in scenario.diaries for line in diary.lines)


def test_who_left_the_game_cannot_be_paged(scenario: Scenario) -> None:
    scenario.world.remove(scenario.ben)
    with pytest.raises(ToolFailed, match=r"There is no 'ben' here\. In the game are: Anna, Mira, Tom, Oda, Venn\."):
        now(scenario.sage.page("ben", "Still there?"))


def test_a_channel_is_heard_by_all_the_others(scenario: Scenario) -> None:
    now(scenario.ben.move("up"))
    now(scenario.sage.speak_on("PUBLIC", "Tea is ready."))
    assert scenario.heard_by_anna[-1] == scenario.heard_by_ben[-1] == "Sage on public: Tea is ready."
    assert scenario.heard_by_sage == ["Ben goes up"]


def test_who_is_in_the_room_hears(scenario: Scenario) -> None:
    assert scenario.sage.hears(BEN)
    now(scenario.ben.move("up"))
    assert not scenario.sage.hears(BEN)
    assert not scenario.sage.hears(SAGE)
    now(scenario.ben.move("down"))
    assert scenario.sage.hears(BEN)
    scenario.world.remove(scenario.ben)
    assert not scenario.sage.hears(BEN)


def test_a_resident_greets_whoever_comes_and_listens_in_silence(scenario: Scenario) -> None:
    for way in ("south", "east"):
        now(scenario.anna.move(way))
    assert scenario.heard_by_anna == ["Mira says to Anna: Good day! Bread is not ready yet."]
    now(scenario.anna.whisper("mira", "When?"))
    assert len(scenario.heard_by_anna) == 1
    for way in ("west", "west"):
        now(scenario.anna.move(way))
    assert [person.name for person in now(scenario.anna.look()).people] == ["Tom"]
    assert len(scenario.heard_by_anna) == 1


def test_ais_are_marked_and_residents_are_not(scenario: Scenario) -> None:
    assert [person.name for person in now(scenario.ben.who()) if person.is_ai] == ["Sage"]


def alone(body: EmbeddedBody, principal: Principal) -> bool:
    return body.alone_with(principal)


def test_alone_with_means_the_only_other_one(scenario: Scenario) -> None:
    assert not alone(scenario.sage, ANNA)
    now(scenario.ben.move("up"))
    assert alone(scenario.sage, ANNA)
    assert alone(scenario.anna, SAGE)
    assert not alone(scenario.sage, BEN)
    now(scenario.anna.move("south"))
    now(scenario.anna.move("east"))
    assert alone(scenario.anna, MIRA)
    assert not alone(scenario.sage, ANNA)


def test_an_answer_is_heard_by_everybody_after_what_it_answers(scenario: Scenario) -> None:
    class Parrot(Diary):
        def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
            super().heard_say(speaker, text, target)
            if speaker is ANNA:
                now(scenario.sage.say("Hello, Anna!"))

    scenario.sage.listener = Parrot()
    now(scenario.anna.say("Hello!"))
    assert scenario.heard_by_ben == ["Anna says: Hello!", "Sage says: Hello, Anna!"]


def test_ears_that_fail_are_nobody_elses_trouble(scenario: Scenario, flush_failures: FlushFailures) -> None:
    class Blind(Diary):
        def saw_emote(self, actor: Principal, text: str) -> None:
            raise KeyError(actor, text)

    scenario.sage.listener = Blind()
    now(scenario.anna.emote("waves"))
    assert scenario.heard_by_ben == ["Anna waves"]
    assert len(flush_failures(KeyError)) == 1


def test_who_left_while_it_was_told_hears_no_more(scenario: Scenario) -> None:
    class Bouncer(Diary):
        def saw_emote(self, actor: Principal, text: str) -> None:
            super().saw_emote(actor, text)
            scenario.world.remove(scenario.ben)

    scenario.sage.listener = Bouncer()
    now(scenario.anna.emote("nods"))
    assert scenario.heard_by_ben == []
    assert scenario.heard_by_anna == ["Ben goes away"]
