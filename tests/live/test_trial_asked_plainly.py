"""A small model is asked in plain turns when the settings say so: through the real command, against a fake server."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.llm.testing import Call, FakeChat, FakeOllama, FakeServer, RecordedRequest, Reply, Step, serve
from mud_assistant.tools.web.testing import FakeSearxng, known
from tests.live.command import Result, reactor, run

SETTINGS = "[model]\nprovider = '{provider}'\nurl = '{url}'\nmodel = '{model}'\nasking = '{asking}'\n"


async def trial(
    folder: Path, fake: FakeServer, provider: str, asking: str, given: str, *, model: str = "sage"
) -> Result:
    async with serve(fake, reactor) as url:
        place = f"{url}/v1" if provider == "local" else url
        settings = SETTINGS.format(model=model, provider=provider, url=place, asking=asking)
        (folder / "sage.toml").write_text(settings)
        return await run(["trial", "--config", str(folder / "sage.toml")], given.encode())


def last(request: RecordedRequest) -> str:
    return str(request.messages[-1]["content"])


@pytest.mark.parametrize(("provider", "fake"), [("local", FakeChat), ("ollama", FakeOllama)])
async def test_a_line_is_answered_without_tools_and_what_it_names_stands_before_it(
    tmp_path: Path, provider: str, fake: type[FakeChat | FakeOllama]
) -> None:
    server = fake(reactor, [Reply(text="A mill, a square and a garden.")])
    result = await trial(tmp_path, server, provider, "plain", "Sage, what is on the old map?\n")
    assert 'Sage says, "A mill, a square and a garden."' in result.out
    (request,) = server.chats
    assert not request.tools
    assert "The old map: A map of the valley" in last(request).partition("What is on")[0]
    assert last(request).endswith("What is on the old map?")


async def test_a_deed_is_done_by_rule_and_no_model_is_asked(tmp_path: Path) -> None:
    server = FakeChat(reactor, [])
    result = await trial(tmp_path, server, "local", "plain", "Sage, please go up.\n/look\n")
    assert "Sage leaves up." in result.out
    assert server.chats == []


async def test_an_echo_is_refused_and_asked_for_once_more(tmp_path: Path) -> None:
    line = "Sage, the river has flooded all the fields again."
    server = FakeChat(reactor, [Reply(text=line), Reply(text="Then the mill stands still.")])
    result = await trial(tmp_path, server, "local", "plain", f"{line}\n")
    assert 'Sage says, "Then the mill stands still."' in result.out
    assert result.out.count("Sage says") == 1
    first, second = server.chats
    assert float(str(first.body["temperature"])) < float(str(second.body["temperature"]))


async def test_when_no_answer_is_fit_to_be_said_what_is_known_is_said(tmp_path: Path) -> None:
    server = FakeChat(reactor, [Reply(text="I can't assist with that.")] * 2)
    result = await trial(tmp_path, server, "local", "plain", "Sage, where is your piano?\n")
    assert 'Sage says, "I see no piano here."' in result.out


async def test_a_whisper_is_whispered_back_and_a_fact_is_told_again(tmp_path: Path) -> None:
    def brain(request: RecordedRequest) -> Step:
        return Reply(text="You keep seven goats." if "How many" in last(request) else "That is good to know.")

    lines = "/whisper I keep seven goats.\n/whisper How many goats do I keep?\n"
    server = FakeChat(reactor, brain)
    result = await trial(tmp_path, server, "local", "plain", lines)
    assert 'Sage whispers to you, "You keep seven goats."' in result.out
    assert '(Visitor said: "I keep seven goats.")' in last(server.chats[-1])


async def test_a_gift_is_answered_and_thanked_for_by_rule_when_no_answer_is_fit(tmp_path: Path) -> None:
    server = FakeChat(reactor, [Reply(text="You give me the old map.")] * 9)
    result = await trial(tmp_path, server, "local", "plain", "/take old map\n/give old map\n/look\n")
    assert "You give the old map to Sage." in result.out
    assert 'Sage says, "Thank you, ' in result.out
    assert any(last(request).endswith("gives you the old map.)") for request in server.chats)


@pytest.mark.parametrize(("asking", "has_tools"), [("auto", False), ("tools", True)])
async def test_auto_goes_by_the_size_that_the_name_tells(tmp_path: Path, asking: str, has_tools: bool) -> None:
    server = FakeChat(reactor, [Reply(text="Good day to you.")], models=["tiny:0.5b"])
    await trial(tmp_path, server, "local", asking, "Sage, hello there my friend!\n", model="tiny:0.5b")
    assert bool(server.chats[0].tools) is has_tools


async def test_what_a_search_found_stands_before_the_line_and_its_source_below_the_answer(tmp_path: Path) -> None:
    """The search is made by rule, and the number of the source is set by rule where the model leaves it out."""
    server = FakeChat(reactor, [Reply(text="The Meriden Lighthouse is 61 metres tall.")])
    async with serve(server, reactor) as model, serve(FakeSearxng(reactor, known), reactor) as search:
        (tmp_path / "sage.toml").write_text(
            SETTINGS.format(model="sage", provider="local", url=f"{model}/v1", asking="plain")
            + f"search_first = true\n[web]\nsearch_provider = 'searxng'\n[web.providers.searxng]\nurl = '{search}'\n"
        )
        given = b"Sage, how tall is the Meriden Lighthouse?\n"
        result = await run(["trial", "--config", str(tmp_path / "sage.toml")], given)
    (request,) = server.chats
    assert "61" in last(request).partition("\n")[0]
    assert 'Sage says, "The Meriden Lighthouse is 61 metres tall [1].' in result.out
    assert "[1] " in result.out.partition("metres tall [1]")[2]


async def test_hurried_spelling_is_read_as_it_was_meant(tmp_path: Path) -> None:
    server = FakeChat(reactor, [Reply(text="A mill and a square.")])
    await trial(tmp_path, server, "local", "plain", "sage whats on the old map lol\n")
    assert last(server.chats[0]).endswith("What's on the old map?")


async def test_a_model_that_only_thinks_is_given_room_to_answer(tmp_path: Path) -> None:
    thought = Reply(reasoning="Hm. Who asks?", finish="length")
    server = FakeChat(reactor, [thought, Reply(text="Good evening.", reasoning="A guest.")])
    result = await trial(tmp_path, server, "local", "plain", "Sage, a fine evening to you, old friend!\n")
    assert 'Sage says, "Good evening."' in result.out
    first, second = server.chats
    assert int(str(second.body["max_tokens"])) > int(str(first.body["max_tokens"]))
    assert "stop" not in second.body


async def test_a_local_model_whose_calls_cannot_be_read_is_asked_plainly_after_a_while(tmp_path: Path) -> None:
    """Tools are tried natively and as text first: nothing but what was learned of the model changes the way."""

    def brain(request: RecordedRequest) -> Step:
        if request.tools or "tool" in str(request.messages[0]["content"]):
            return Reply(calls=(Call("say", "<<< no JSON at all >>>"),))
        return Reply(text="At last, a plain word.")

    lines = "".join(f"Sage, what is matter number {number}?\n" for number in range(9))
    server = FakeChat(reactor, brain)
    result = await trial(tmp_path, server, "local", "auto", lines)
    assert "At last, a plain word." in result.out
    assert not server.chats[-1].tools


PLACE = """
name = "Marlo"
[[rooms]]
key = "steg"
name = "Der Steg"
exits = { norden = "gasse" }
things = { Seil = "Ein dickes Seil.", Fass = "Ein Fass." }
fixed = ["Fass"]
[[rooms]]
key = "gasse"
name = "Die Gasse"
exits = { "zurück" = "steg" }
"""


@pytest.mark.parametrize(
    ("line", "chosen", "seen"),
    [
        ("Geh bitte nach norden, Marlo.", "go", "Marlo leaves norden."),
        ("Gib mir bitte das Seil.", "give", "Marlo gives you the Seil."),
        ("Nimm das Fass.", "take", 'Marlo says, "The Fass cannot be taken."'),
        ("Nimm das Seil.", "talk", 'Marlo says, "So sei es."'),
    ],
)
async def test_a_deed_asked_for_in_another_language_is_chosen_by_the_model(
    tmp_path: Path, line: str, chosen: str, seen: str
) -> None:
    """It tells the kind of deed in one word, weighed by what is possible; the thing is what the line names."""
    server = FakeChat(reactor, [Reply(text=chosen), *[Reply(text="So sei es.")] * 2])
    (tmp_path / "place.toml").write_text(PLACE)
    async with serve(server, reactor) as url:
        settings = SETTINGS.format(model="sage", provider="local", url=f"{url}/v1", asking="plain")
        (tmp_path / "sage.toml").write_text(settings)
        place = ["--place", str(tmp_path / "place.toml"), "--config", str(tmp_path / "sage.toml")]
        result = await run(["trial", *place], f"{line}\n".encode())
    assert seen in result.out
    asked = server.chats[0]
    assert last(asked) == line.replace(", Marlo", "")
    assert asked.body["max_tokens"] == 2
    assert asked.body["logit_bias"]
