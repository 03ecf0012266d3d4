"""What was said in private is in no prompt of a run that others hear, and is answered in private."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import succeed

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.events.classify import classify
from mud_assistant.assistant.events.events import ChannelSaid, Event, Paged, Said, Whispered
from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import StreamEntry
from mud_assistant.assistant.journal.tables.stream import with_audiences
from mud_assistant.assistant.loop.react import react
from mud_assistant.assistant.memory.stream.compaction import compact
from mud_assistant.assistant.runtime.build import manners_of
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.llm import ToolCall, tool_results, user
from mud_assistant.llm import assistant as said_by_model
from mud_assistant.llm.messages import ToolResult
from mud_assistant.tools import Principal, Registry
from mud_assistant.tools.testing import now
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, ALL_WORLD_TOOLS
from tests.assistant.living import ANN, SAGE
from tests.assistant.refusing import BEA, CID, PEOPLE, Calls, Still, still
from tests.effort import times

ALL = Registry([*ALL_WORLD_TOOLS, *ACCOUNT_TOOLS])


def event(kind: str, who: Principal, text: str, event_id: str) -> Event:
    match kind:
        case "whisper":
            return Whispered(id=event_id, at=0.0, who=who, text=text)
        case "page":
            return Paged(id=event_id, at=0.0, who=who, text=text)
        case "staff":
            return ChannelSaid(id=event_id, at=0.0, who=who, channel="staff", text=text)
        case _:
            return Said(id=event_id, at=0.0, who=who, text=f"Sage, {text}", to_me=True)


def blabbing(body: str) -> Calls:
    """A model that notes and says aloud, everywhere, all the secrets it reads, then whispers them back."""
    secrets = " ".join(sorted({word for word in body.replace("\\", " ").replace('"', " ").split() if "zq" in word}))
    last = json.loads(body)[-1]
    if last["role"] != "tool":
        return [
            ("remember", {"text": f"They told me {secrets} in the old mill."}),
            ("recall", {}),
            ("say", {"text": f"Hear: {secrets}"}),
            ("emote", {"text": f"writes {secrets} on the wall"}),
            ("execute_command", {"command": f"say {secrets}"}),
            ("whisper", {"target": "Bea", "text": f"Psst {secrets}"}),
            ("page", {"target": "Cid", "text": f"Psst {secrets}"}),
        ]
    return [("whisper", {"target": "Ann", "text": f"You said {secrets}"}), ("noop", {})]


def test_a_whisper_is_masked_for_others_and_whole_for_who_whispered() -> None:
    def brain(body: str) -> Calls:
        if "whispers to you" in json.loads(body)[-1]["content"]:
            return [("whisper", {"target": "Ann", "text": "I keep the zqheron."})]
        return [("say", {"text": "Good day."})]

    life = still(ALL, brain)
    life.hear(lambda id_: event("whisper", ANN, "the word is zqheron", id_))
    assert life.runs() == [Answered(("whisper",))]
    life.hear(lambda id_: event("say", BEA, "hello", id_))
    assert life.runs() == [Answered(("say",))]
    assert "zqheron" not in life.model.asked[-1]
    assert "Ann whispered something to you." in life.model.asked[-1]
    life.hear(lambda id_: event("whisper", ANN, "what was it?", id_))
    life.runs()
    assert "the word is zqheron" in life.model.asked[-1]
    assert "I keep the zqheron." in life.model.asked[-1]


def test_two_who_are_whispered_to_in_one_step_are_shown_neither() -> None:
    def brain(body: str) -> Calls:
        if "tell them" not in json.loads(body)[-1]["content"]:
            return [("noop", {})]
        return [("whisper", {"target": "Bea", "text": "zqheron"}), ("whisper", {"target": "Cid", "text": "zqstork"})]

    life = still(ALL, brain)
    for who in (BEA, CID):
        life.hear(partial(_aside, who))
    life.hear(lambda id_: event("say", ANN, "tell them", id_))
    assert life.runs() == [Answered(("whisper", "whisper"))]
    for who in (BEA, CID):
        life.hear(partial(event, "whisper", who, "what did you say?"))
        life.runs()
        shown = life.model.asked[-1]
        assert "[You said something to Bea in private.]" in shown
        assert not {word for word in ("zqheron", "zqstork") if word in shown}


def _aside(who: Principal, id_: str) -> Event:
    return Said(id=id_, at=0.0, who=who, text="What a day.")


def test_an_answer_aloud_to_a_whisper_is_sent_back_by_the_dispatcher() -> None:
    life = still(ALL, lambda body: [("say", {"text": "zqheron!"})] if "Use whisper" not in body else blab(body))
    heard = life.witness
    life.home.world.add(Principal("player:9", "Dan"), listener=heard)
    life.hear(lambda id_: event("whisper", ANN, "the word is zqheron", id_))
    assert life.runs() == [Answered(("whisper",))]
    assert not any("zqheron" in line for line in heard.heard)


def blab(_: str) -> Calls:
    return [("whisper", {"target": "Ann", "text": "zqheron"})]


def test_a_whisper_is_not_answered_where_nothing_is_granted_to_answer_it_with() -> None:
    life = still(ALL, settings={"tools": ("say", "look")})
    life.hear(lambda id_: event("whisper", ANN, "the word is zqheron", id_))
    life.runs()
    assert life.model.asked == []


def test_those_who_speak_in_one_moment_are_each_answered_where_they_spoke() -> None:
    def brain(body: str) -> Calls:
        last = json.loads(body)[-1]["content"]
        name = "Ann" if "Ann whispers" in last else "Bea"
        return (
            [("whisper", {"target": name, "text": "Yes."})]
            if "whispers to you" in last
            else [("say", {"text": "Yes."})]
        )

    life = still(ALL, brain)
    life.hear(lambda id_: event("whisper", ANN, "zqheron", id_))
    life.hear(lambda id_: event("say", CID, "hello", id_))
    life.hear(lambda id_: event("whisper", BEA, "zqstork", id_))
    assert life.runs() == [Answered(("whisper",)), Answered(("say",)), Answered(("whisper",))]
    for own, body in zip(("zqheron", None, "zqstork"), life.model.asked, strict=True):
        assert [secret for secret in ("zqheron", "zqstork") if secret in body] == ([own] if own else [])


MOMENTS = st.lists(
    st.tuples(st.sampled_from(PEOPLE), st.sampled_from(["whisper", "page", "staff", "say"]), st.booleans()),
    min_size=1,
    max_size=12,
)


def check(life: Still, asked: list[str], spoken: dict[str, tuple[str, str]], whose: tuple[str, str]) -> None:
    """No prompt of a run holds a secret of another's, or one of theirs that others would hear."""
    for body in asked:
        for secret, origin in spoken.items():
            assert secret not in body or may_know(origin, whose), (secret, origin, whose)


def may_know(origin: tuple[str, str], whose: tuple[str, str]) -> bool:
    """Those on the channel know what was said there, and everybody knows their own words."""
    return origin == whose or (origin[0] == "staff" and (whose[0] == "staff" or whose == ("private", origin[1])))


def audience(kind: str, who: Principal) -> tuple[str, str]:
    return ("staff", who.id) if kind == "staff" else ("private", who.id) if kind != "say" else ("room", "")


@given(moments=MOMENTS, window=st.sampled_from([4096, 8192]))
@settings(max_examples=times(16), deadline=None)
def test_no_secret_is_in_a_request_of_anothers_run(moments: list[Any], window: int) -> None:
    life = still(ALL, blabbing, window)
    spoken: dict[str, tuple[str, str]] = {}
    for number, (who, kind, is_summed_up) in enumerate(moments):
        secret = f"zq{number}qz"
        if kind != "say":
            spoken[secret] = audience(kind, who)
        text = secret if kind != "say" else "what do you know?"
        before = len(life.model.asked)
        if kind == "staff":  # overheard: what is said there wakes nobody
            text = f"Sage {text}"
        life.hear(partial(event, kind, who, text))
        life.run()
        check(life, life.model.asked[before:], spoken, audience(kind, who))
        if is_summed_up:
            summed_up(life, spoken)


def summed_up(life: Still, spoken: dict[str, tuple[str, str]]) -> None:
    """The oldest part is put in short by a model that repeats all; private and public never in one request."""

    async def ask(messages: Any) -> str:
        body = str(messages)
        origins = [origin for secret, origin in spoken.items() if secret in body]
        assert not origins or any(all(may_know(origin, whose) for origin in origins) for whose in origins)
        return await succeed("In short: " + " ".join(secret for secret in spoken if secret in body) + " and more.")

    budget, life.context.memory.history.budget = (
        life.context.memory.history.budget,
        max(300, life.context.memory.history.tokens),
    )
    now(compact(ask, life.context.memory.history, "Sage"))
    life.context.memory.history.budget = budget


async def test_no_secret_is_in_a_request_of_anothers_run_after_a_restart(tmp_path: Path, reactor: Any) -> None:
    spoken: dict[str, tuple[str, str]] = {}
    order = [
        (ANN, "whisper"),
        (BEA, "say"),
        (BEA, "page"),
        (ANN, "staff"),
        (CID, "say"),
        (ANN, "page"),
        (BEA, "whisper"),
    ]
    for number, (who, kind) in enumerate(order * 2):
        file = JournalFile(tmp_path / "journal.sqlite", reactor, lambda: 0.0, JournalConfig())
        await file.open()
        storage = await file.storage_of(SAGE.id, 100)
        life = still(ALL, blabbing, storage=storage)
        secret = f"zq{number}qz"
        if kind != "say":
            spoken[secret] = audience(kind, who)
        heard = event(kind, who, secret if kind != "say" else "what do you know?", f"e{number}")
        if kind == "staff":
            heard = ChannelSaid(id=heard.id, at=0.0, who=who, channel="staff", text=f"Sage {secret}")
        await storage.journal.accept(heard, classify(heard, manners_of(life.context.settings, SAGE)))
        await react(life.context)
        check(life, life.model.asked, spoken, audience(kind, who))
        await file.close()
    assert any("zq0qz" in memory.text for memory in await _stored(tmp_path, reactor))


async def _stored(folder: Path, reactor: Any) -> Any:
    file = JournalFile(folder / "journal.sqlite", reactor, lambda: 0.0, JournalConfig())
    await file.open()
    memories = await (await file.storage_of(SAGE.id, 100)).memories.about(ANN.id)
    await file.close()
    return memories


def test_what_an_older_journal_holds_is_private_as_far_as_can_be_told() -> None:
    look = ToolCall("c1", "look", {})
    whisper = ToolCall("c2", "whisper", {"target": "Ann", "text": "zqheron"})
    old = [
        StreamEntry((user('Ann whispers to you: "zqheron"'),), 9, (), 1, ("a",), 1),
        StreamEntry((user('Ann says: "hello"'),), 8, (), 1, ("a",), 2),
        StreamEntry((user('Ann pages you: "zqheron"\nBea says: "hi"'),), 8, (), 1, ("a", "b"), 3),
        StreamEntry((said_by_model(look), tool_results([ToolResult("c1", "look", "A room")])), 7, (), 1, ("a",), 4),
        StreamEntry((said_by_model(whisper), tool_results([ToolResult("c2", "whisper", "Done")])), 7, (), 1, ("a",), 5),
        StreamEntry((user("[What happened before, in short: Ann told zqheron.]"),), 8, (), 1, ("a", "b"), 6),
        StreamEntry((user('Bea says: "new"'),), 8, (), 1, ("b",), 7),
    ]
    found = with_audiences(old, {1, 2, 3, 4, 5, 6})
    everybody, ann = None, frozenset({"a"})
    nobody: frozenset[str] = frozenset()
    assert [entry.audience for entry in found] == [ann, everybody, nobody, everybody, ann, nobody, everybody]
    assert [entry.others_see for entry in found][:3] == ["Ann whispered something to you.", "", "Ann paged you."]


def noting(text: str) -> Any:
    def brain(body: str) -> Calls:
        return [("remember", {"text": text}), ("say", {"text": "I shall."})]

    return brain


@pytest.mark.parametrize("text", ["Bea's gold lies under the oak.", "A treasure is buried beneath some tree."])
def test_a_note_of_anothers_words_is_reached_when_they_ask_to_be_forgotten(text: str) -> None:
    life = still(ALL, noting(text))
    life.hear(lambda id_: Said(id=id_, at=0.0, who=BEA, text="My gold is under the oak."))
    life.run()
    life.hear(lambda id_: event("say", ANN, "keep in mind what she said", id_))
    life.runs()
    made, own = now(life.context.memory.memories.about(BEA.id))
    assert (made.text, own.text) == (text, "My gold is under the oak.")
    assert [kept.text for kept in now(life.assistant.rights.see(BEA)).memories] == [text, own.text]
    assert now(life.assistant.rights.forget(BEA)).memories == 2
    assert text not in [kept.text for kept in now(life.context.memory.memories.about(ANN.id))]


def test_a_note_of_ones_own_words_is_nobody_elses() -> None:
    life = still(ALL, noting("Ann likes rain."))
    life.hear(lambda id_: Said(id=id_, at=0.0, who=BEA, text="My gold is under the oak."))
    life.hear(lambda id_: event("say", ANN, "I like rain", id_))
    life.runs()
    assert [kept.text for kept in now(life.context.memory.memories.about(BEA.id))] == ["My gold is under the oak."]
    assert now(life.assistant.rights.forget(BEA)).memories == 1
    assert "Ann likes rain." in [kept.text for kept in now(life.context.memory.memories.about(ANN.id))]
