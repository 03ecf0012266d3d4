import json
from dataclasses import replace

import pytest
from msgspec import structs
from twisted.internet.task import Clock

from mud_assistant.llm.messages import JSON
from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import Status
from mud_assistant.tools.execution.dispatch import Dispatcher
from mud_assistant.tools.game import Person, Scene, Thing
from mud_assistant.tools.policy.config import PolicyConfig
from mud_assistant.tools.result import Executed
from mud_assistant.tools.testing import ANNA, Act, RecordingWorld, now, tool_call, tool_context
from mud_assistant.tools.testing.memories import ListedMemories
from mud_assistant.tools.tool import Category, Registry
from mud_assistant.tools.trust import Kind, Principal
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, ALL_WORLD_TOOLS, WORLD_TOOLS

ZOE = Principal("player:zoe", "Zoe")
HALL = Scene(
    "The Hall",
    "A hall\x1b[0m of stone.",
    ("north",),
    (Person("Anna", "A tall woman."), Person("Bert", is_ai=True)),
    (Thing("old map", "A map of the sea."),),
)


@pytest.fixture
def world() -> RecordingWorld:
    return RecordingWorld(HALL)


def use(
    name: str, world: RecordingWorld | None = None, context: ToolContext | None = None, **arguments: JSON
) -> Executed:
    """The answer to one call, as a run of its own."""
    tools = (*WORLD_TOOLS, *ACCOUNT_TOOLS)
    dispatcher = Dispatcher(Registry(tools), PolicyConfig(frozenset(tool.name for tool in tools)), Clock())
    (executed,) = now(dispatcher.answer_all([tool_call(name, **arguments)], context or tool_context(world)))
    return executed


def test_the_categories() -> None:
    categories = {tool.name: tool.category for tool in WORLD_TOOLS}
    assert {name for name, category in categories.items() if category is Category.SAFE_CHAIN} == {
        "look",
        "inspect",
        "who",
        "remember",
        "recall",
    }
    changing = [name for name, category in categories.items() if category is Category.DANGEROUS]
    assert changing == ["move", "take", "drop", "give", "follow", "stay", "home"]
    assert Category.ASYNC_REQUIRED not in categories.values()


def test_look_shows_the_scene(world: RecordingWorld) -> None:
    assert json.loads(use("look", world).result.text) == {
        "room": "The Hall",
        "description": "A hall of stone.",
        "exits": ["north"],
        "people": [{"name": "Anna", "is_ai": False}, {"name": "Bert", "is_ai": True}],
        "things": ["old map"],
        "you_carry": [],
    }


def test_inspect_describes_one_thing(world: RecordingWorld) -> None:
    assert use("inspect", world, target="The Map").result.text == "A map of the sea."
    missing = use("inspect", world, target="lamp")
    assert (missing.status, missing.result.failed) == (Status.FAILED, True)
    assert missing.result.text == "There is no 'lamp' here. You see: old map, Anna, Bert, north."


def test_who_marks_the_ais(world: RecordingWorld) -> None:
    people = json.loads(use("who", world).result.text)["people"]
    assert [person["name"] for person in people if person["is_ai"]] == ["Sage", "Bert"]


def test_say_speaks_the_bare_clean_words(world: RecordingWorld) -> None:
    use("say", world, text='Sage: "Good \u202eday.\x1b[2J"')
    assert world.acts == [Act("say", "Good day.")]


def test_a_long_speech_is_shortened(world: RecordingWorld) -> None:
    use("say", world, text="word " * 400)
    assert len(world.acts[0].text) <= 1200


@pytest.mark.parametrize(("verb", "text"), [("say", " \n"), ("say", '""'), ("emote", "\u200b"), ("emote", " ")])
def test_an_empty_text_is_to_be_tried_again(world: RecordingWorld, verb: str, text: str) -> None:
    executed = use(verb, world, text=text)
    assert executed.status is Status.FAILED
    assert "'text'" in executed.result.text
    assert world.acts == []


def test_emote_is_one_line_after_the_name(world: RecordingWorld) -> None:
    use("emote", world, text="*Sage smiles\nand nods*")
    assert world.acts == [Act("emote", "smiles and nods")]


def test_whisper_is_one_line_to_one_person(world: RecordingWorld) -> None:
    executed = use("whisper", world, target="anna", text='"Psst!\nThe key."')
    assert world.acts == [Act("whisper", "Psst! The key.", "Anna")]
    assert executed.category is Category.TERMINAL
    assert use("whisper", world, target="anna", text="\u200b").status is Status.FAILED


def test_whisper_to_nobody_says_who_is_here(world: RecordingWorld) -> None:
    assert use("whisper", world, target="Zoe", text="hi").result.text == "There is no 'Zoe' here. Here are: Anna, Bert."


def test_a_page_is_one_line_to_one_person_anywhere(world: RecordingWorld) -> None:
    executed = use("page", world, target="anna", text='"Psst!\nThe \u202ekey."')
    assert world.acts == [Act("page", "Psst! The key.", "Anna")]
    assert executed.category is Category.TERMINAL
    missing = use("page", world, target="Zoe", text="hi")
    assert (missing.status, missing.result.text) == (
        Status.FAILED,
        "There is no 'Zoe' here. In the game are: Anna, Bert.",
    )


def test_a_channel_is_spoken_on_in_one_line(world: RecordingWorld) -> None:
    executed = use("channel", world, channel="Public", text='"Good day.\nAll of you."')
    assert world.acts == [Act("channel", "Good day. All of you.", "public")]
    assert executed.category is Category.TERMINAL
    assert use("channel", world, channel="staff", text="hi").result.text.endswith("Your channels: public.")


@pytest.mark.parametrize(("verb", "to"), [("page", "target"), ("channel", "channel")])
def test_no_words_go_nowhere(world: RecordingWorld, verb: str, to: str) -> None:
    executed = use(verb, world, None, **{to: "anna", "text": "\u200b"})
    assert executed.status is Status.FAILED
    assert "'text'" in executed.result.text
    assert world.acts == []


def test_speech_beyond_the_room_is_for_worlds_that_have_it() -> None:
    assert not set(ACCOUNT_TOOLS) & set(ALL_WORLD_TOOLS)


@pytest.mark.parametrize("kind", [Kind.PLAYER, Kind.OPERATOR])
def test_what_comes_too_late_is_not_said(world: RecordingWorld, kind: Kind) -> None:
    executed = use("say", context=tool_context(world, requester=structs.replace(ZOE, kind=kind)), text="Here I am.")
    assert (executed.status, executed.result.text) == (
        Status.UNHEARD,
        "Zoe is not here any more, so it was not said.",
    )
    assert executed.result.failed
    assert world.acts == []


@pytest.mark.parametrize("change", [{"askers": (ZOE, ANNA)}, {"requester": ANNA, "askers": (ZOE, ANNA)}])
def test_it_is_said_as_long_as_one_of_those_who_asked_is_there(
    world: RecordingWorld, change: dict[str, object]
) -> None:
    context = replace(tool_context(world, requester=ZOE), **change)  # type: ignore[arg-type]  # as parametrized
    assert use("say", context=context, text="Here I am.").status is Status.DONE


@pytest.mark.parametrize(
    "requester", [None, structs.replace(ZOE, kind=Kind.WORLD), structs.replace(ZOE, kind=Kind.ASSISTANT)]
)
def test_only_people_can_be_too_far_away(world: RecordingWorld, requester: Principal | None) -> None:
    assert use("say", context=tool_context(world, requester=requester), text="Here I am.").status is Status.DONE


def test_who_spoke_from_elsewhere_is_to_be_answered_there(world: RecordingWorld) -> None:
    context = replace(tool_context(world, requester=ZOE), answer_by="page")
    executed = use("say", context=context, text="Here I am.")
    assert executed.status is Status.FAILED
    assert executed.result.text == "Zoe is not here and would not hear you, so it was not said. Use page."
    assert world.acts == []


def test_on_an_errand_it_speaks_where_the_requester_is_not(world: RecordingWorld) -> None:
    dispatcher = Dispatcher(Registry(WORLD_TOOLS), PolicyConfig(frozenset({"move", "say"})), Clock())
    calls = [tool_call("move", direction="north"), tool_call("say", text="Bread is ready.")]
    executed = now(dispatcher.answer_all(calls, tool_context(world)))
    assert [one.status for one in executed] == [Status.DONE, Status.DONE]
    assert world.acts[-1] == Act("say", "Bread is ready.")


def test_move_shows_the_next_room(world: RecordingWorld) -> None:
    assert json.loads(use("move", world, direction="North").result.text)["room"] == "The Hall, north"
    assert world.acts == [Act("move", target="north")]


def test_noop_takes_any_length_of_reason_and_does_nothing(world: RecordingWorld) -> None:
    assert use("noop", world, reason="x" * 100_000).status is Status.DONE
    assert use("noop", world).status is Status.DONE
    assert world.acts == []


def test_what_is_remembered_can_be_recalled_with_its_origin() -> None:
    context = tool_context()
    assert use("remember", context=context, text="Anna lost\nher key.").result.text == "You will remember it."
    assert json.loads(use("recall", context=context, query="key").result.text) == {
        "memories": [f"just now, you noted for {ANNA.name}: Anna lost her key."]
    }
    assert json.loads(use("recall", context=context).result.text)["memories"]
    assert json.loads(use("recall", context=context, query="dragon").result.text) == {"memories": []}


def test_a_fact_keeps_its_whole_length() -> None:
    context = tool_context()
    use("remember", context=context, text="key " * 125)
    (told,) = json.loads(use("recall", context=context, query="key").result.text)["memories"]
    assert told.endswith(": " + "key " * 124 + "key")


def test_forgetting_is_said() -> None:
    context = tool_context(memories=ListedMemories(most=1))
    use("remember", context=context, text="one")
    assert use("remember", context=context, text="two").result.text.endswith("To make room you forgot 1 old thing(s).")


def test_nothing_cannot_be_remembered() -> None:
    assert use("remember", text="\u200b").status is Status.FAILED
