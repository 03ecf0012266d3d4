"""A household after a key, a model or a search provider was refused: what lifts it, how often is asked meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from twisted.internet.task import deferLater

from mud_assistant.assistant.service import runner as runners
from mud_assistant.assistant.service.runner import RunnerState
from mud_assistant.llm.testing import Call, FakeChat, HttpError, RecordedRequest, Reply, Step, serve
from mud_assistant.tools.web.testing import FakeTavily
from tests.assistant.living import reactor
from tests.assistant.service.village import village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))
SEARCH = Reply(calls=(Call("web_search", {"query": "well"}),))


def local(url: str, **more: object) -> dict[str, object]:
    model = {"provider": "local", "url": url, "model": "sage", "max_attempts": 1, "examples": False, "key": "file:key"}
    return {"model": model, "assistant": more}


def write_key(folder: Path, key: str, name: str = "key") -> None:
    path = folder / name
    path.touch(mode=0o600)
    path.write_text(key)


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await deferLater(reactor, 0.01)


async def test_new_settings_lift_the_refusal_of_the_same_key(tmp_path: Path) -> None:
    steps: list[Step] = [HttpError(401, "not paid"), HELLO, HELLO]  # one for each line
    fake = FakeChat(reactor, lambda _: steps.pop(0))
    write_key(tmp_path, "planted-key")
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(local(url))
        here.says(sage, "Sage, hello")
        await sage.settled()
        assert "not paid" in sage.trouble
        here.says(sage, "Sage, hello?")
        await sage.settled()
        assert len(fake.chats) == 1
        again = here.start(local(url, max_steps=3))
        await again.settled()
        assert here.witness.heard[-1] == "Sage: Hello, Ann."


async def test_another_assistant_that_waits_for_the_same_key_goes_on_as_well(tmp_path: Path) -> None:
    is_paid: list[bool] = []
    fake = FakeChat(reactor, lambda _: HELLO if is_paid else HttpError(401, "not paid"))
    write_key(tmp_path, "planted-key")
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(local(url))
        here.says(sage, "Sage, hello")
        await sage.settled()
        assert sage.assistant is not None
        assert sage.assistant.tick.paused
        is_paid.append(True)
        here.service.settings_changed()
        await sage.settled()
        assert here.witness.heard[-1] == "Sage: Hello, Ann."


async def test_a_key_file_that_was_put_right_is_read_when_the_old_key_is_refused(tmp_path: Path) -> None:
    def brain(request: RecordedRequest) -> Step:
        return HELLO if request.authorization == "Bearer planted-right" else HttpError(401, "bad key")

    fake = FakeChat(reactor, brain)
    write_key(tmp_path, "planted-wrong")
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(local(url))
        here.says(sage, "Sage, hello")
        await sage.settled()
        write_key(tmp_path, "planted-right")
        assert sage.assistant is not None
        sage.assistant.tick.resume()  # as it does by itself a few seconds later
        await sage.settled()
        assert here.witness.heard[-1] == "Sage: Hello, Ann."
        assert len(fake.chats) == 2


async def test_who_waits_for_a_model_does_not_show_a_refused_key_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(runners, "LONGEST_PAUSE", 0.01)
    fake = FakeChat(reactor, lambda _: HELLO, "planted-right")
    write_key(tmp_path, "planted-wrong")
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(local(url))
        await until(lambda: sage.state is RunnerState.WAITING)
        await deferLater(reactor, 0.3)
        assert len(fake.requests) == 1
        assert "refused the key" in sage.trouble
        write_key(tmp_path, "planted-right")
        here.says(sage, "Sage, hello")
        await sage.settled()
        assert here.witness.heard[-1] == "Sage: Hello, Ann."


async def test_new_settings_lift_the_refusal_of_a_search_provider(tmp_path: Path) -> None:
    def brain(request: RecordedRequest) -> Step:
        known = [message["content"] for message in request.messages if message["role"] == "tool"]
        asks = request.messages[-1]["role"] == "user"
        return SEARCH if asks else Reply(calls=(Call("say", {"text": str(known[-1])[:200]}),))

    fake, tavily = FakeChat(reactor, brain), FakeTavily(reactor, key="planted-right")
    write_key(tmp_path, "planted-key")
    write_key(tmp_path, "planted-wrong", "tavily")
    async with serve(fake, reactor) as url, serve(tavily, reactor) as searching:
        web = {"search_provider": "tavily", "providers": {"tavily": {"url": searching, "key": "file:tavily"}}}
        async with village(tmp_path, settings={"web": web}) as here:
            sage = here.start({**local(url), "web": web})
            for _ in range(3):
                here.says(sage, "Sage, search")
                await sage.settled()
            assert len(tavily.requests) == 1
            write_key(tmp_path, "planted-right", "tavily")
            again = here.start({**local(url, max_steps=4), "web": web})
            here.says(again, "Sage, search now")
            await again.settled()
            assert len(tavily.requests) == 2
            assert "The well" in " ".join(here.witness.heard)
