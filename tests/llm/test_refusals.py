"""What a refusal is about: the key, the model, the place we ask from; by the words of the providers."""

from __future__ import annotations

import orjson
import pytest
from twisted.web.http_headers import Headers

from mud_assistant.llm import (
    BadCredential,
    Blocked,
    LLMError,
    ModelNotFound,
    QuotaExhausted,
    Rejected,
    ToolsUnsupported,
    get_provider,
)
from mud_assistant.llm.testing import HttpError, Reply
from mud_assistant.resilience import BreakerConfig, UpstreamConfig
from tests.llm.calling import ASKED, desk

CLOUDFLARE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Enable JavaScript</body></html>"


def said(message: str, code: object = None, kind: str | None = None) -> bytes:
    return orjson.dumps({"error": {"message": message, "code": code, "type": kind}})


ANTHROPIC_404 = orjson.dumps({"type": "error", "error": {"type": "not_found_error", "message": "model: m-9"}})
REFUSALS: list[tuple[str, int, bytes, type[LLMError]]] = [
    ("openai", 403, said("Project `p` does not have access to model `m-9`", "model_not_found"), ModelNotFound),
    ("openai", 403, said("You are not allowed to sample from this model"), ModelNotFound),
    ("openai", 404, said("The model `m-9` does not exist or you do not have access to it."), ModelNotFound),
    ("openai", 404, said("The model `m-9` has been deprecated, learn more"), ModelNotFound),
    ("openai", 403, said("Country, region, or territory not supported"), Blocked),
    ("openai", 401, said("You have insufficient permissions. Missing scopes: model.request"), BadCredential),
    ("openai", 403, said("You have insufficient permissions. Missing scopes: model.request"), BadCredential),
    ("openai", 401, said("Incorrect API key provided: sk-x", "invalid_api_key"), BadCredential),
    ("openai", 401, said("Your IP is not authorized", "ip_not_authorized"), Blocked),
    ("openai", 403, CLOUDFLARE, Blocked),
    ("openai", 403, b"error code: 1020", Blocked),
    ("anthropic", 403, orjson.dumps({"error": {"type": "forbidden", "message": "Request not allowed"}}), Blocked),
    ("anthropic", 404, ANTHROPIC_404, ModelNotFound),
    ("anthropic", 403, said("Your API key lacks it", None, "permission_error"), BadCredential),
    ("openrouter", 404, said("No endpoints found for m-9."), ModelNotFound),
    ("openrouter", 404, said("No endpoints found that support tool use."), ToolsUnsupported),
    ("openrouter", 400, said("m-9 is not a valid model ID"), ModelNotFound),
    ("openrouter", 403, said("Key limit exceeded (total limit)", 403), QuotaExhausted),
    ("openrouter", 403, said("Your chosen model requires moderation and your input was flagged", 403), Rejected),
    ("ollama", 404, b'{"error":"model \\"m-9\\" not found, try pulling it first"}', ModelNotFound),
    ("ollama", 403, b'{"error":"this model requires a subscription, upgrade for access"}', ModelNotFound),
    ("local", 400, said("Model Not Exist"), ModelNotFound),
    ("local", 400, b'{"message":"Invalid model: m-9","code":"1500"}', ModelNotFound),
    ("local", 400, said("The requested model is not supported.", "model_not_supported"), ModelNotFound),
    ("local", 404, said("No models loaded. Please load a model in the developer page."), ModelNotFound),
    ("local", 404, b'{"detail":"Nothing known of m-9"}', ModelNotFound),
    ("local", 404, said("The API deployment for this resource does not exist.", "DeploymentNotFound"), ModelNotFound),
    ("local", 403, said("The model `x` is blocked at the organization level"), ModelNotFound),
    ("local", 400, said("User location is not supported for the API use."), Blocked),
    ("local", 403, said("This model is not available in your region."), Blocked),
    ("local", 403, b"forbidden", BadCredential),
    ("local", 404, b"404 page not found", Rejected),
    ("local", 400, said("invalid model_kwargs"), Rejected),
    ("local", 400, said("temperature is not supported with this model"), Rejected),
]  # fmt: skip


@pytest.mark.parametrize(("name", "status", "body", "kind"), REFUSALS)
def test_a_refusal_is_of_what_it_speaks_of(name: str, status: int, body: bytes, kind: type[LLMError]) -> None:
    provider = get_provider(name, "http://127.0.0.1:1", "m-9")
    assert type(provider.parse_error_response(status, Headers(), body)) is kind


async def test_a_model_that_is_not_there_is_asked_for_once_and_told_in_one_sentence() -> None:
    async with desk([HttpError(404, "model 'sage' not found"), Reply("Hello."), Reply("Hello.")]) as here:
        for _ in range(50):
            with pytest.raises(ModelNotFound, match="has no model 'sage'; choose another model") as caught:
                await here.client().chat_completion(ASKED)
            assert here.url in caught.value.message
        assert len(here.fake.chats) == 1
        assert (await here.client("other").chat_completion(ASKED)).content == "Hello."
        here.pipeline.configuration_changed()
        assert (await here.client().chat_completion(ASKED)).content == "Hello."


@pytest.mark.parametrize(
    "fault", [HttpError(403, CLOUDFLARE), HttpError(403, "Project p does not have access to model sage")]
)
async def test_what_says_nothing_of_the_key_leaves_it_good_for_other_models(fault: HttpError) -> None:
    async with desk([fault, Reply("Hello.")]) as here:
        with pytest.raises((Blocked, ModelNotFound)):
            await here.client(key="planted-key").chat_completion(ASKED)
        assert (await here.client("other", key="planted-key").chat_completion(ASKED)).content == "Hello."


@pytest.mark.parametrize("status", [408, 409])
async def test_a_conflict_that_does_not_end_is_not_asked_about_on_every_call(status: int) -> None:
    config = UpstreamConfig(BreakerConfig(failure_threshold=9))
    async with desk(lambda _: HttpError(status, "try later"), upstream=config) as here:
        for _ in range(20):
            with pytest.raises(LLMError, match="try later"):
                await here.client().chat_completion(ASKED)
        assert len(here.fake.chats) == 3


async def test_a_key_that_changed_where_it_is_kept_is_used_with_the_next_call() -> None:
    kept = ["planted-old"]

    async def reread() -> str:
        return kept[0]

    async with desk([HttpError(401, "no"), Reply("Hello.")]) as here:
        client = here.client(key="planted-old")
        client._reread_key = reread
        for _ in range(3):
            with pytest.raises(BadCredential):
                await client.chat_completion(ASKED)
        kept[0] = "planted-new"
        assert (await client.chat_completion(ASKED)).content == "Hello."
        assert [request.authorization for request in here.fake.chats] == ["Bearer planted-old", "Bearer planted-new"]
