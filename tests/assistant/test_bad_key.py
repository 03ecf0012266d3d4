"""A key that is refused: asked with once, then never until it changes."""

from __future__ import annotations

from mud_assistant.assistant.events.outcome import Failed
from mud_assistant.assistant.loop.react import react
from mud_assistant.llm.testing import Call, HttpError, RecordedRequest, Reply, Step
from mud_assistant.resilience import origin_of
from tests.assistant.living import living


async def test_a_thousand_ticks_with_a_bad_key_make_one_request() -> None:
    is_good: list[bool] = []

    def answer(_: RecordedRequest) -> Step:
        return Reply(calls=(Call("say", {"text": "Hello."}),)) if is_good else HttpError(401, "bad key")

    async with living(answer, provider="local") as life:
        await life.say("Sage, hello")
        context = life.assistant.context
        life.assistant.tick.halt()  # it would begin a run beside these, which take seconds on a busy machine
        outcomes = [await react(context) for _ in range(1000)]
        assert len(life.fake.chats) == 1
        assert all(isinstance(outcome, Failed) and outcome.lasting for outcome in outcomes)
        assert all("bad key" in str(outcome) for outcome in outcomes)
        assert len(await life.journal.pending()) > 0
        is_good.append(True)
        context.model.client.provider.rebind(context.model.client.provider.api_url, "another key")
        await react(context)
        assert len(life.fake.chats) == 2
        assert life.witness.heard[-1] == "Sage: Hello."


async def test_new_settings_lift_the_bar_though_the_key_is_the_same() -> None:
    script: list[Step] = [HttpError(401, "bad key"), Reply(calls=(Call("say", {"text": "Hello."}),))]
    async with living(script) as life:
        await life.say("Sage, hello")
        client = life.assistant.context.model.client.links[0].client
        client.pipeline.configuration_changed(origin_of(client.provider.api_url))
        await react(life.assistant.context)
        assert life.witness.heard[-1] == "Sage: Hello."
