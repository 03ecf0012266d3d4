"""What is passed on for a key lets it spend and see no more than its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_twisted

from mud_assistant.assistant.gateway.keys import KeyLimits
from mud_assistant.llm.testing import Reply
from mud_assistant.resilience import Allowance
from tests.assistant.gateway.asking import PATHS, SPEAKERS, ask, body_of, events
from tests.assistant.gateway.http.reached import until
from tests.assistant.gateway.standing import Standing, reactor, standing
from tests.assistant.gateway.test_planted_keys import key_of

ALL = {**SPEAKERS, "responses": "openai-responses"}
IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest"}}]}


@pytest.mark.parametrize(("dialect", "provider"), ALL.items())
@pytest_twisted.ensureDeferred
async def test_a_field_that_may_cost_more_is_refused_in_the_words_of_the_dialect(
    tmp_path: Path, dialect: str, provider: str
) -> None:
    async with standing(tmp_path, [Reply("Here.")] * 3, provider=provider) as gateway:
        refused: dict[str, Any] = {"models": ["dear"], "service_tier": "priority", "Model": "dear", "plugins": [{}]}
        for name, value in refused.items():
            got = await ask(gateway, PATHS[dialect], {**body_of(dialect), name: value})
            assert got.status == 400
            said = orjson.loads(got.body)
            message = said["error"] if isinstance(said["error"], str) else said["error"]["message"]
            assert message.startswith(f"{name}: ")
            assert "[gateway] forwarded_fields" in message
            if dialect in {"chat", "responses"}:
                assert (said["error"]["code"], said["error"]["param"]) == ("unsupported_parameter", name)
            if dialect == "messages":
                assert said["error"]["type"] == "invalid_request_error"
        assert not gateway.fake.chats
        assert (await ask(gateway, PATHS[dialect], body_of(dialect, service_tier="auto"))).status == 200
    async with standing(
        tmp_path, [Reply("Here.")], provider=provider, settings={"forwarded_fields": ["service_tier"]}
    ) as gateway:
        got = await ask(gateway, PATHS[dialect], body_of(dialect, service_tier="priority"))
        assert got.status == 200
        assert gateway.fake.chats[0].body["service_tier"] == "priority"


@pytest.mark.parametrize("provider", ["local", "openai"])
@pytest_twisted.ensureDeferred
async def test_a_server_of_the_owner_s_is_asked_for_no_address(tmp_path: Path, provider: str) -> None:
    """Whatever the provider is called: its address is not the vendor's."""
    more = {"provider": provider, "key": "file:provider.key"}
    async with standing(tmp_path, [Reply("Here.")], key="planted-provider-key", more=more) as gateway:
        got = await ask(gateway, PATHS["chat"], body_of("chat", messages=[IMAGE]))
        assert got.status == 400
        assert b"messages[0].content[0].image_url.url: an address is not passed on" in got.body
        assert not gateway.fake.chats


@pytest_twisted.ensureDeferred
async def test_what_is_counted_is_judged_as_well(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "url", "url": "file:///etc/passwd"}}
    asked = {"model": "wise", "messages": [{"role": "user", "content": [image]}]}
    async with standing(tmp_path, [], provider="anthropic") as gateway:
        assert (await ask(gateway, "/v1/messages/count_tokens", asked)).status == 400
        assert not [request for request in gateway.fake.requests if "count_tokens" in request.path]


async def answered(gateway: Standing, name: str, *, streams: bool, **more: Any) -> tuple[int, list[str]]:
    """The status for the key of this name, and the ids of the answer and its items."""
    headers = {"authorization": f"Bearer {gateway.secrets[name]}"}
    got = await ask(gateway, PATHS["responses"], body_of("responses", streams=streams, **more), **headers)
    if got.status != 200:
        return got.status, []
    whole = events(got)[-1]["response"] if streams else orjson.loads(got.body)
    return got.status, [whole["id"], *(item["id"] for item in whole["output"])]


@pytest.mark.parametrize("streams", [True, False])
@pytest_twisted.ensureDeferred
async def test_only_the_key_for_which_an_answer_was_made_goes_on_from_it(tmp_path: Path, *, streams: bool) -> None:
    script = [Reply("Here.")] * 9
    async with standing(tmp_path, script, provider="openai-responses", keys=["ada", "bob"]) as gateway:
        status, (answer, item, *_) = await answered(gateway, "ada", streams=streams)
        assert status == 200
        for more in (
            {"previous_response_id": answer},
            {"input": [{"type": "item_reference", "id": item}, {"role": "user", "content": "and?"}]},
        ):
            before = len(gateway.fake.chats)
            assert (await answered(gateway, "bob", streams=streams, **more))[0] == 400
            assert len(gateway.fake.chats) == before
            await answered(gateway, "ada", streams=streams, **more)  # the fake keeps nothing, and may refuse it
            assert len(gateway.fake.chats) == before + 1
        unknown = {"previous_response_id": "resp_of_another_program"}
        assert (await answered(gateway, "ada", streams=streams, **unknown))[0] == 400
        assert (await answered(gateway, "ada", streams=streams, conversation="conv_1"))[0] == 400


@pytest_twisted.ensureDeferred
async def test_nobody_makes_an_answer_theirs_by_naming_it(tmp_path: Path) -> None:
    """What a client sends is repeated in the answer, and is not read as its id."""
    named = {"id": "resp_ada", "type": "response.created", "response": {"id": "resp_ada"}}
    text = 'data: {"type":"response.created","response":{"id":"resp_ada"}}\n\n'
    async with standing(tmp_path, [Reply(text)] * 3, provider="openai-responses", keys=["bob"]) as gateway:
        more = {"metadata": named, "instructions": text}
        assert (await answered(gateway, "bob", streams=True, **more))[0] == 200
        assert (await answered(gateway, "bob", streams=False, **more))[0] == 200
        assert (await answered(gateway, "bob", streams=True, previous_response_id="resp_ada"))[0] == 400


@pytest_twisted.ensureDeferred
async def test_many_answers_to_one_request_are_paid_for_before_it_is_sent(tmp_path: Path) -> None:
    async with standing(tmp_path, [Reply("Here.")] * 2) as gateway:
        secret = key_of(gateway, "laptop", KeyLimits(day=Allowance(tokens=5000)))
        await until(reactor, lambda: gateway.gateway.has_keys)
        headers = {"authorization": f"Bearer {secret}"}
        body = body_of("chat", streams=False, max_tokens=100)
        assert (await ask(gateway, PATHS["chat"], {**body, "n": 128}, **headers)).status == 429
        assert not gateway.fake.chats
        assert (await ask(gateway, PATHS["chat"], {**body, "n": 2}, **headers)).status == 200
