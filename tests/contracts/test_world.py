"""What every `World` does, whatever game is behind it. A new adapter joins by a builder in BUILDERS."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld
from mud_assistant.tools.errors import Status, ToolFailed
from mud_assistant.tools.execution.dispatch import Dispatcher
from mud_assistant.tools.game import GameCommand, Person, Scene, Thing, World
from mud_assistant.tools.policy.config import PolicyConfig
from mud_assistant.tools.result import Executed
from mud_assistant.tools.testing import ANNA, SAGE, Act, RecordingWorld, now, tool_call, tool_context
from mud_assistant.tools.tool import Registry
from mud_assistant.tools.trust import Kind, Principal
from mud_assistant.tools.verbs import WORLD_TOOLS


@dataclass
class Subject:
    """Sage in a room with Anna, a thing or more and an exit or more; `witnessed` is what Anna perceives of him."""

    world: World
    witnessed: Callable[[], list[Act]]


class Witness:
    """Ears that note acts as a recording world does."""

    def __init__(self) -> None:
        self.acts: list[Act] = []

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        assert (speaker, target) == (SAGE, None)
        self.acts.append(Act("say", text))

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        assert speaker == SAGE
        self.acts.append(Act("whisper", text, ANNA.name))

    def heard_page(self, speaker: Principal, text: str) -> None:
        assert speaker == SAGE
        self.acts.append(Act("page", text, ANNA.name))

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        assert speaker == SAGE
        self.acts.append(Act("channel", text, channel))

    def saw_emote(self, actor: Principal, text: str) -> None:
        assert actor == SAGE
        self.acts.append(Act("emote", text))

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        assert giver == SAGE
        self.acts.append(Act("give", thing, ANNA.name))

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        assert (who, from_direction) == (SAGE, "")

    def saw_departure(self, who: Principal, direction: str) -> None:
        assert who == SAGE
        self.acts.append(Act("move", target=direction))


def recording() -> Subject:
    hall = Scene(
        "Hall", "A hall.", ("north", "east"), (Person("Anna", id=ANNA.id),), (Thing("old map", "A map."), Thing("lamp"))
    )
    commands = {"give": GameCommand("", "give"), "hand": GameCommand("", "give"), "py": GameCommand("", "py", (), 5)}
    commands |= {"get": GameCommand("", "get"), "drop": GameCommand("", "drop")}
    world = RecordingWorld(hall, SAGE, commands=commands)
    return Subject(world, lambda: world.acts)


def handle(subject: Subject, name: str, **arguments: str) -> Executed:
    """Handle a thing as a run of its own, through the dispatcher; Anna asks."""
    anna = next(Principal(one.id or ANNA.id, one.name) for one in now(subject.world.look()).people)
    dispatcher = Dispatcher(Registry(WORLD_TOOLS), PolicyConfig(frozenset({"take", "drop", "give"})), Clock())
    (executed,) = now(
        dispatcher.answer_all([tool_call(name, **arguments)], tool_context(subject.world, requester=anna))
    )
    return executed


def names(things: tuple[Thing, ...]) -> list[str]:
    return [thing.name for thing in things]


def embedded() -> Subject:
    world, witness = EmbeddedWorld(), Witness()
    world.add(ANNA, listener=witness)
    return Subject(world.add(SAGE), lambda: witness.acts)


BUILDERS = {"recording": recording, "embedded": embedded}


@pytest.fixture(params=list(BUILDERS.values()), ids=list(BUILDERS))
def subject(request: pytest.FixtureRequest) -> Subject:
    build: Callable[[], Subject] = request.param
    return build()


def test_look_shows_the_room_without_oneself(subject: Subject) -> None:
    scene = now(subject.world.look())
    assert scene.room
    assert scene.description
    assert scene.exits
    assert scene.things
    assert [person.name for person in scene.people] == ["Anna"]


def test_looking_changes_nothing(subject: Subject) -> None:
    assert now(subject.world.look()) == now(subject.world.look())
    assert subject.witnessed() == []


@pytest.mark.parametrize("written", [str, str.upper, "the {}".format, " {}. ".format])
def test_everything_in_the_scene_can_be_inspected(subject: Subject, written: Callable[[str], str]) -> None:
    scene = now(subject.world.look())
    names = [*(thing.name for thing in scene.things), *(person.name for person in scene.people), *scene.exits]
    assert all(now(subject.world.inspect(written(name))) for name in names)


def test_inspecting_what_is_not_there_says_what_is(subject: Subject) -> None:
    with pytest.raises(ToolFailed, match=r"There is no 'purple dragon' here\..*old map"):
        now(subject.world.inspect("purple dragon"))


def test_who_lists_oneself_as_an_ai_and_the_others(subject: Subject) -> None:
    people = {person.name: person.is_ai for person in now(subject.world.who())}
    assert people["Sage"] is True
    assert people["Anna"] is False


def test_what_is_done_is_perceived_once_and_in_order(subject: Subject) -> None:
    now(subject.world.say("Hello {world} |r"))
    now(subject.world.emote("smiles"))
    now(subject.world.whisper("anna", "psst"))
    assert subject.witnessed() == [
        Act("say", "Hello {world} |r"),
        Act("emote", "smiles"),
        Act("whisper", "psst", "Anna"),
    ]


@pytest.mark.parametrize("target", ["Zoe", "", "Sage"])
def test_whispering_to_who_is_not_there_is_refused(subject: Subject, target: str) -> None:
    with pytest.raises(ToolFailed, match="Anna"):
        now(subject.world.whisper(target, "psst"))
    assert subject.witnessed() == []


@pytest.mark.parametrize("target", ["Anna", "anna", "the ANNA", "An"])
@pytest.mark.parametrize("verb", ["whisper", "page"])
def test_what_is_for_one_person_reaches_nobody_else_of_the_name(subject: Subject, verb: str, target: str) -> None:
    anna = next(one.id for one in now(subject.world.look()).people) or ANNA.id
    speak = getattr(subject.world, verb)
    for only in (frozenset[str](), frozenset({"player:zoe"}), frozenset({"channel:public"})):
        with pytest.raises(ToolFailed):
            now(speak(target, "psst", only=only))
    assert subject.witnessed() == []
    now(speak(target, "psst", only=frozenset({"player:zoe", anna})))
    assert subject.witnessed() == [Act(verb, "psst", "Anna")]


def test_who_is_in_the_scene_hears_and_nobody_else_does(subject: Subject) -> None:
    assert subject.world.hears(ANNA)
    assert not subject.world.hears(Principal("player:zoe", "Zoe"))
    now(subject.world.move(now(subject.world.look()).exits[0]))
    assert not subject.world.hears(ANNA)
    assert subject.witnessed()[1:] == []


def test_a_player_is_present_who_hears_and_does_not_idle(subject: Subject) -> None:
    anna = next(one.id for one in now(subject.world.look()).people)
    (present,) = subject.world.present(900.0)
    assert (present.id, present.name, present.kind, present.permission) == (anna, "Anna", Kind.PLAYER, 1)
    now(subject.world.move(now(subject.world.look()).exits[0]))
    assert subject.world.present(900.0) == ()


def test_who_somebody_is_can_be_told_wherever_they_are(subject: Subject) -> None:
    anna = next(one.id for one in now(subject.world.look()).people)
    here = subject.world.who_is(anna)
    assert here is not None
    assert (here.id, here.name, here.kind, here.permission) == (anna, "Anna", Kind.PLAYER, 1)
    now(subject.world.move(now(subject.world.look()).exits[0]))
    assert subject.world.who_is(anna) == here
    for nobody in ("", "player:", "player:zoe", "character:0", "character:x", "character:99999999", "account:²"):
        assert subject.world.who_is(nobody) is None


def test_a_clock_has_an_hour_and_goes_forward(subject: Subject) -> None:
    before, after = subject.world.time(), subject.world.time()
    assert (before is None) == (after is None)
    if before is not None and after is not None:
        assert before.seconds <= after.seconds
        assert 0 <= after.hour < 24
        assert after.pace > 0


def test_a_page_and_a_channel_reach_beyond_the_room(subject: Subject) -> None:
    now(subject.world.page("anna", "Hello {world} |r"))
    now(subject.world.speak_on("Public", "Good day."))
    now(subject.world.move(now(subject.world.look()).exits[0]))
    now(subject.world.page("Anna", "I am gone."))
    now(subject.world.speak_on("public", "All of us."))
    assert [act for act in subject.witnessed() if act.verb != "move"] == [
        Act("page", "Hello {world} |r", "Anna"),
        Act("channel", "Good day.", "public"),
        Act("page", "I am gone.", "Anna"),
        Act("channel", "All of us.", "public"),
    ]


@pytest.mark.parametrize("target", ["Zoe", "", "Sage"])
def test_paging_who_is_not_in_the_game_is_refused(subject: Subject, target: str) -> None:
    with pytest.raises(ToolFailed, match="Anna"):
        now(subject.world.page(target, "psst"))
    assert subject.witnessed() == []


@pytest.mark.parametrize("channel", ["staff", ""])
def test_a_channel_that_is_not_there_is_answered_with_those_that_are(subject: Subject, channel: str) -> None:
    with pytest.raises(ToolFailed, match="public"):
        now(subject.world.speak_on(channel, "psst"))
    assert subject.witnessed() == []


@pytest.mark.parametrize("written", [str, str.upper, " {} ".format])
def test_moving_leads_to_another_room_that_is_then_seen(subject: Subject, written: Callable[[str], str]) -> None:
    before = now(subject.world.look())
    there = now(subject.world.move(written(before.exits[0])))
    assert there.room != before.room
    assert now(subject.world.look()) == there
    assert subject.witnessed() == [Act("move", target=before.exits[0])]


def test_moving_where_no_exit_is_lists_the_exits_and_stays(subject: Subject) -> None:
    before = now(subject.world.look())
    for nowhere in ("sideways", ""):
        with pytest.raises(ToolFailed, match=f"Exits: {before.exits[0]}"):
            now(subject.world.move(nowhere))
    assert now(subject.world.look()) == before
    assert subject.witnessed() == []


def test_the_way_to_a_room_is_found_by_its_name_without_a_step(subject: Subject) -> None:
    way = now(subject.world.look()).exits[0]
    there = now(subject.world.move(way)).room
    now(subject.world.go_home())
    acts = list(subject.witnessed())
    for written in (there, there.upper(), f"the {there}"):
        found = now(subject.world.route(written))
        assert (found.room, found.steps) == (there, (way,))
    with pytest.raises(ToolFailed, match="No way to 'purple dragon' is known from here"):
        now(subject.world.route("purple dragon"))
    assert subject.witnessed() == acts


def test_a_line_is_resolved_without_anything_happening(subject: Subject) -> None:
    by_name, by_alias = now(subject.world.resolve("give coin to anna")), now(subject.world.resolve("hand coin to anna"))
    assert by_name == by_alias == GameCommand("give coin to anna", "give")
    assert now(subject.world.resolve("py 1")).permission == 5
    assert subject.witnessed() == []


@pytest.mark.parametrize("line", ["frobnicate", "", "gi ve"])
def test_a_line_that_is_no_command_is_refused(subject: Subject, line: str) -> None:
    with pytest.raises(ToolFailed, match=r"There is no command .*give"):
        now(subject.world.resolve(line))


def test_a_resolved_command_runs_and_the_game_prints_something(subject: Subject) -> None:
    assert now(subject.world.execute(now(subject.world.resolve("py 1"))))


@pytest.mark.parametrize("written", [str, str.upper, "the {}".format, " {}. ".format])
def test_a_thing_is_taken_and_put_down(subject: Subject, written: Callable[[str], str]) -> None:
    assert now(subject.world.look()).carried == ()
    taken = handle(subject, "take", thing=written("old map"))
    assert taken.status is Status.DONE, taken.result.text
    scene = now(subject.world.look())
    assert names(scene.carried) == ["old map"]
    assert "old map" not in names(scene.things)
    assert now(subject.world.inspect("old map"))
    dropped = handle(subject, "drop", thing=written("old map"))
    assert dropped.status is Status.DONE, dropped.result.text
    scene = now(subject.world.look())
    assert scene.carried == ()
    assert "old map" in names(scene.things)


@pytest.mark.parametrize("is_carried", [True, False])
def test_a_thing_is_given_and_taken_first_where_it_only_lies_there(subject: Subject, *, is_carried: bool) -> None:
    if is_carried:
        handle(subject, "take", thing="old map")
    given = handle(subject, "give", thing="the Map", person="anna")
    assert given.status is Status.DONE, given.result.text
    scene = now(subject.world.look())
    assert scene.carried == ()
    assert "old map" not in names(scene.things)


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("take", {"thing": "purple dragon"}, "There is no 'purple dragon' here. Things here: "),
        ("take", {"thing": "Anna"}, "There is no 'Anna' here. Things here: "),
        ("drop", {"thing": "old map"}, "There is no 'old map' here. You carry: nothing."),
        ("give", {"thing": "purple dragon", "person": "Anna"}, "There is no 'purple dragon' here. Here are: "),
        ("give", {"thing": "old map", "person": "Zoe"}, "There is no 'Zoe' here. Here are: Anna"),
        ("give", {"thing": "old map", "person": "Sage"}, "There is no 'Sage' here. Here are: Anna"),
    ],
)
def test_what_is_not_there_is_not_handled(
    subject: Subject, tool: str, arguments: dict[str, str], sentence: str
) -> None:
    before = now(subject.world.look())
    executed = handle(subject, tool, **arguments)
    assert executed.status is Status.FAILED
    assert executed.result.text.startswith(sentence)
    assert now(subject.world.look()) == before
    assert subject.witnessed() == []


def test_what_is_carried_already_is_not_taken_again(subject: Subject) -> None:
    handle(subject, "take", thing="old map")
    again = handle(subject, "take", thing="old map")
    assert (again.status, again.result.text) == (Status.FAILED, "You carry the old map already.")


def test_home_is_where_it_started_and_no_place_to_go_from_there(subject: Subject) -> None:
    start = now(subject.world.look())
    with pytest.raises(ToolFailed, match="You are at home already"):
        now(subject.world.go_home())
    assert not subject.world.is_left_alone()
    now(subject.world.move(start.exits[0]))
    assert subject.world.is_left_alone()
    assert now(subject.world.go_home()).room == start.room
    assert now(subject.world.look()).room == start.room
    assert not subject.world.is_left_alone()
