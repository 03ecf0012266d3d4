"""The page as a whole: every path answers, roles hold, no key is shown, and its actions do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from threading import Event as ThreadEvent

import orjson
import pytest
from twisted.internet.task import deferLater

from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.llm.testing import Call, Hang, RecordedRequest, Reply, Step
from tests.assistant.living import SAGE, reactor
from tests.assistant.page.served import HELLO, PLANTED, TOKENS, served

pytestmark = pytest.mark.usefixtures("reactor_baseline")
SECRETS = (PLANTED, *TOKENS.values())
ID = "assistant%3A1"
PAGES = (
    "/", f"/a/{ID}", f"/a/{ID}/character", "/live", "/runs", "/runs/run-1", "/approvals", "/money", "/settings",
    f"/settings?assistant={ID}", "/doctor", "/players/player%3A1",
    "/money/keys",
)  # fmt: skip
READS = (
    "/overview", "/assistants", f"/assistants/{ID}", f"/assistants/{ID}/settings", "/settings",
    f"/assistants/{ID}/character", f"/assistants/{ID}/lore/preview?line=mill", "/runs", "/runs/run-1", "/approvals",
    "/standing", "/usage", "/players/player%3A1", "/gateway/keys", "/openapi.json",
)  # fmt: skip
#: A word that only a player and the character say.
TOLD = "quagmire"


def tells(request: RecordedRequest) -> Step:
    said = (Call("say", {"text": f"The {TOLD} is deep, and my key is {PLANTED}."}),)
    return Reply(calls=said, reasoning=f"They ask of the {TOLD}, and {PLANTED} is my key.")


async def test_every_path_answers_and_none_shows_a_key(tmp_path: Path) -> None:
    async with served(tmp_path, tells) as page:
        await page.tell(f"Sage, is the {TOLD} deep? My key is {PLANTED}.")
        await page.log_in()
        answers = [await page.visiting.get(path) for path in PAGES]
        answers += [await page.api("owner", "GET", path) for path in READS]
        answers += [await page.visiting.get(path) for path in ("/healthz", "/readyz")]
        assert [got.status for got in answers] == [200] * len(answers)
        static = re.findall(r'(?:href|src)="(/static/[^"]+)"', answers[0].text)
        assert len(static) >= 2
        answers += [await page.visiting.get(path) for path in static]
        assert {got.status for got in answers} == {200}
        answers += [await page.visiting.get(path) for path in (f"/{PLANTED}", f"/runs/{PLANTED}")]
        answers.append(await page.api("owner", "GET", f"/assistants/{PLANTED}"))
        shown = b"".join(got.body + repr(got.headers).encode() for got in answers)
        assert [secret for secret in SECRETS if secret.encode() in shown] == []
        assert TOLD.encode() in shown


async def test_a_run_shows_the_exact_bytes_that_were_sent_though_its_first_sentence_was_spoken_early(
    tmp_path: Path,
) -> None:
    words = "The mill is the oldest house of the whole valley. It turns slowly, and the miller is asleep."
    early = Reply(calls=(Call("say", {"text": words}),), chunk_size=9, piece_seconds=0.01)
    async with served(tmp_path, lambda _: early) as page:
        await page.tell("Sage, tell me of the mill!")
        assert len(page.here.witness.heard) == 2
        run = await page.values("operator", "/runs/run-1")
        (step,) = run["steps"]
        assert [one["text"].encode() for one in step["asked"]] == [request.raw for request in page.fake.chats]
        seen = await page.values("viewer", "/overview")
        assert len(seen["timings"]) == 1
        assert 0 <= seen["timings"][0]["waiting"] <= seen["timings"][0]["first_sentence"]
        assert {span["circuit"] for span in seen["circuits"]} <= {"closed"}


async def test_a_viewer_reads_no_words_and_changes_nothing(tmp_path: Path) -> None:
    async with served(tmp_path, tells) as page:
        await page.tell(f"Sage, is the {TOLD} deep?")
        seen = [(await page.api("viewer", "GET", path)).body for path in READS]
        assert TOLD.encode() not in b"".join(seen)
        assert TOLD.encode() in b"".join([(await page.api("operator", "GET", path)).body for path in READS])
        run = await page.values("viewer", "/runs/run-1")
        assert run["is_hidden"]
        assert run["steps"][0]["calls"][0]["name"] == "say"
        assert (await page.api("viewer", "GET", f"/runs?text={TOLD}")).status == 403
        assert (await page.api("viewer", "GET", "/doctor")).status == 403
        for path in (f"/assistants/{ID}/stop", "/stop-all", f"/assistants/{ID}/start", f"/approvals/{ID}/1"):
            assert (await page.api("viewer", "POST", path)).status == 403
        for method, path in (
            ("PATCH", f"/assistants/{ID}/settings"),
            ("PATCH", f"/assistants/{ID}/character"),
            ("POST", f"/assistants/{ID}/lore"),
            ("POST", "/players/player%3A1/forget"),
            ("POST", f"/assistants/{ID}/forget"),
        ):
            assert (await page.api("operator", method, path)).status == 403
        assert SAGE.id in page.here.service.runners


async def test_it_is_stopped_and_started_by_program_and_by_form(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        done = orjson.loads((await page.api("operator", "POST", f"/assistants/{ID}/stop")).body)
        assert done["sentence"] == "Sage is stopped, and stays so until started again."
        assert done["was"] == ["Sage was waiting for something to do"]
        assert (await page.values("viewer", "/assistants"))[0]["state"] == "off"
        again = orjson.loads((await page.api("operator", "POST", f"/assistants/{ID}/stop")).body)
        assert again == {"sentence": "Sage does not run, and stays so until started again.", "was": []}
        assert (await page.api("operator", "POST", "/assistants/nobody/stop")).status == 404
        await page.api("operator", "POST", f"/assistants/{ID}/start")
        await page.here.service.runners[SAGE.id].settled()
        await page.tell("Sage, are you there?")
        assert page.here.witness.heard == ["Sage: Hello, Ann."]
        await page.log_in()
        got = await page.visiting.submit("/", {"do": "stop"})
        assert got.status == 303
        assert page.here.service.runners == {}
        got = await page.visiting.submit(f"/a/{ID}", {"do": "start", "confirm": "yes"})
        assert got.status == 303, got.text
        assert (await page.values("viewer", "/assistants"))[0]["state"] in {"opening", "awake"}


async def test_a_mind_is_cleared_by_program_and_by_form(tmp_path: Path) -> None:
    async with served(tmp_path, tells) as page:
        await page.tell(f"Sage, is the {TOLD} deep?")
        context = page.here.service.runners[SAGE.id].assistant.context  # type: ignore[union-attr]
        known = await context.memory.memories.recall("", hearers=frozenset())
        assert len(context.memory.history) > 0
        done = orjson.loads((await page.api("owner", "POST", f"/assistants/{ID}/forget", {})).body)
        assert "What it remembers of people is still there" in done["sentence"]
        assert len(context.memory.history) == 0
        assert await context.memory.memories.recall("", hearers=frozenset()) == known
        await page.tell("Sage, and now?")
        assert TOLD not in str(page.fake.chats[-1].messages[-1])
        await page.log_in()
        got = await page.visiting.submit(f"/a/{ID}", {"do": "forget_all", "confirm": "yes"})
        assert got.status == 303, got.text
        assert len(context.memory.history) == 0
        assert (await context.memory.memories.recall("", hearers=frozenset())).memories == ()
        assert (await page.values("operator", "/runs"))["runs"]


async def test_nothing_happens_after_a_stop_though_the_model_streams_and_the_disk_hangs(tmp_path: Path) -> None:
    long = Reply(calls=(Call("say", {"text": "The mill is old. " + "It turns slowly. " * 12}),), chunk_size=7)
    async with served(tmp_path, [Hang("mid", 20, long), HELLO]) as page:
        page.here.says(page.sage, "Sage, tell me of the mill!")
        while not page.fake.chats:
            await deferLater(reactor, 0.005)
        await deferLater(reactor, 0.05)
        released = ThreadEvent()
        assert isinstance(page.here.service.parts.journal, JournalFile)
        hanging = page.here.service.parts.journal.store.write(lambda _: released.wait(20))
        began = reactor.seconds()
        done = orjson.loads((await page.api("operator", "POST", "/stop-all")).body)
        heard, asked = list(page.here.witness.heard), len(page.fake.chats)
        assert reactor.seconds() - began < 1
        assert "Sage was thinking: step 1 of run-1" in done["was"][0]
        await deferLater(reactor, 0.2)
        assert (page.here.witness.heard, len(page.fake.chats)) == (heard, asked)
        released.set()
        await hanging
        await deferLater(reactor, 0.1)
        assert (page.here.witness.heard, len(page.fake.chats)) == (heard, asked)


async def test_a_setting_is_checked_written_and_used(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        path = f"/assistants/{ID}/settings"
        got = await page.api("owner", "PATCH", path, {"option": "max_steps", "value": "eleven"})
        assert got.status == 422
        assert "max_steps" in orjson.loads(got.body)["detail"]
        got = await page.api("owner", "PATCH", path, {"option": "max_steps", "valu": "3"})
        assert (got.status, got.headers["content-type"]) == (422, "application/problem+json")
        assert "valu" in orjson.loads(got.body)["detail"]
        assert not page.file.path.exists()
        got = await page.api("owner", "PATCH", path, {"option": "max_steps", "value": "3"})
        assert orjson.loads(got.body)["value"] == "3"
        assert page.file.path.read_text() == "[assistant]\nmax_steps = 3\n"
        await page.here.service.runners[SAGE.id].settled()
        assert page.here.service.runners[SAGE.id].config.assistant.max_steps == 3
        line = next(one for one in await page.values("viewer", path) if one["name"] == "max_steps")
        assert (line["value"], line["set_by"]) == ("3", "assistant")
        got = await page.api("owner", "PATCH", path, {"option": "model.model", "value": "other"})
        assert got.status == 422
        assert "has no model 'other'" in orjson.loads(got.body)["detail"]
        assert "other" not in page.file.path.read_text()
        forced = {"option": "model.model", "value": "other", "force": True}
        assert (await page.api("owner", "PATCH", path, forced)).status == 200
        assert page.file.path.read_text().endswith('[model]\nmodel = "other"\n')


async def test_what_a_player_had_forgotten_is_gone_from_every_answer(tmp_path: Path) -> None:
    async with served(tmp_path, tells) as page:
        await page.tell(f"Sage, is the {TOLD} deep?")
        got = await page.api("owner", "POST", "/players/player%3A1/forget")
        assert got.status == 200, got
        await page.log_in()
        seen = [(await page.api("owner", "GET", path)).body for path in READS]
        seen += [(await page.visiting.get(path)).body for path in PAGES]
        assert TOLD.encode() not in b"".join(seen)
