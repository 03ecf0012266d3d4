"""Which words ask for a fact of the world outside, and that it is looked up before a small model is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.loop.unasked import MAX_QUERY_CHARS, query_of
from mud_assistant.llm.testing import Call, Reply
from mud_assistant.tools import Category, Kind, Person, Principal, Registry, Scene, Source, Thing, Tool, ToolContext
from mud_assistant.tools.tool import Arguments
from mud_assistant.tools.verbs import WORLD_TOOLS
from tests.assistant.living import living

SCENE = Scene(
    "The Old Library",
    "Books.",
    ("south", "up"),
    (Person("Visitor"), Person("Mira")),
    (Thing("old map"), Thing("hearth"), Thing("book of herbs")),
)


@pytest.mark.parametrize(
    ("words", "query"),
    [
        ("Sage, how tall is the Eiffel Tower?", "how tall is the Eiffel Tower"),
        ("How many people live in Iceland, Sage?", "How many people live in Iceland"),
        ("who invented the telephone", "who invented the telephone"),
        ("@Sage what's the capital of Velmora?", "what's the capital of Velmora"),
        ("Do you know who wrote Hamlet?", "who wrote Hamlet"),
        ("Sage, can you please tell me how long the Nile is?", "how long the Nile is"),
        ("I wonder when Rome was founded?", "when Rome was founded"),
        ("Tell me about Mount Harrow, Sage", "Mount Harrow"),
        ("search the web for leeks", "leeks"),
        ("Who wrote the book The Glass Orchard?", "Who wrote the book The Glass Orchard"),
        ("Why is the sky blue?", "Why is the sky blue"),
        ("How old is the mill of the valley?", "How old is the mill of the valley"),
    ],
)
def test_what_is_looked_up(words: str, query: str) -> None:
    assert query_of(words, ("Sage",), SCENE) == query


@pytest.mark.parametrize(
    "words",
    [
        *("Hello Sage, who are you?", "How are you?", "Sage?", "What is it?", "Who is that?", "", "?"),
        *("What can you see here?", "Where is the hearth?", "What is on the map?", "Who is Mira?", "Where is my hat?"),
        *("Where does the way south lead?", "What did Visitor say?", "Nice fire.", "Go up.", "What do you want?"),
        *("Is it cold?", "Good morning!", "What is this place called?"),
    ],
)
def test_what_is_about_the_game_is_not(words: str) -> None:
    assert query_of(words, ("Sage",), SCENE) is None


@given(st.text(max_size=400), st.booleans())
def test_any_words_make_a_query_or_none(words: str, seen: bool) -> None:
    query = query_of(words, ("Sage", "Old (Sage"), SCENE if seen else None)
    assert query is None or 0 < len(query) <= MAX_QUERY_CHARS


class _Search(Arguments):
    query: str


async def test_what_another_assistant_asks_is_not_looked_up() -> None:
    """Its questions come by themselves, and the quota of the web is the owner's."""
    queries: list[str] = []

    async def search(arguments: _Search, _: ToolContext) -> str:
        queries.append(arguments.query)
        return "Nothing was found."

    found = Tool("web_search", "Search.", _Search, Category.ASYNC_REQUIRED, search, source=Source.WEB)
    registry, says = Registry([*WORLD_TOOLS, found]), Reply(calls=(Call("say", {"text": "Who knows?"}),))
    model = {"search_first": True, "asking": "tools"}
    async with living(lambda _: says, {"may_repeat": True}, model, registry=registry) as life:
        oda = life.world.add(Principal("assistant:2", "Oda", Kind.ASSISTANT))
        await oda.say("Sage, how tall is the Eiffel Tower?")
        await life.assistant.settled()
        assert len(life.fake.chats) == 1
        await life.say("Sage, who invented the telephone?")
        assert queries == ["who invented the telephone"]
