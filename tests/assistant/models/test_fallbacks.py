"""Which models are chosen when there are several, some of them out of reach; servers are fakes on loopback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.errors import NoModelError
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.llm.embedded.progress import Endpoint
from mud_assistant.llm.embedded.supervisor import EmbeddedModel
from mud_assistant.llm.testing import FakeChat, FakeOllama, serve
from mud_assistant.resilience.testing.fake import SILENCE, Fake, RawResponse, ServedRequest
from tests.assistant.living import reactor
from tests.assistant.models.test_choose import chooser

NOWHERE = "http://127.0.0.1:1"
AWAY = ModelConfig(provider="ollama", url=NOWHERE, model="qwen3:4b", context_tokens=2048)
UNNAMED = ModelConfig(provider="ollama", url=NOWHERE)
pytestmark = pytest.mark.usefixtures("reactor_baseline")


def named(chosen: list[ChosenModel]) -> list[tuple[str, str, bool]]:
    """Provider, model, and whether it answered."""
    return [(model.provider.name, model.provider.model, model.is_there) for model in chosen]


async def test_all_that_answer_are_taken_in_their_order(tmp_path: Path) -> None:
    async with (
        serve(FakeOllama(reactor, []), reactor) as first,
        serve(FakeChat(reactor, [], models=["m"]), reactor) as second,
        chooser(tmp_path) as chooses,
    ):
        configs = [ModelConfig(provider="ollama", url=first), ModelConfig(provider="local", url=f"{second}/v1")]
        chosen = await chooses.choose_all(configs[0], configs[1:])
    assert named(chosen) == [("ollama", "sage:latest", True), ("local", "m", True)]


async def test_a_first_one_that_is_out_of_reach_now_keeps_its_place(tmp_path: Path) -> None:
    async with serve(FakeChat(reactor, [], models=["m"]), reactor) as url, chooser(tmp_path) as chooses:
        chosen = await chooses.choose_all(AWAY, [ModelConfig(provider="local", url=f"{url}/v1")])
    assert named(chosen) == [("ollama", "qwen3:4b", False), ("local", "m", True)]
    assert "cannot connect" in chosen[0].why
    assert "\n" not in chosen[0].why
    assert chosen[0].provider.get_api_url() == f"{NOWHERE}/api/chat"
    assert chosen[0].config is AWAY


async def test_a_fallback_that_is_out_of_reach_now_is_kept_too(tmp_path: Path) -> None:
    async with serve(FakeChat(reactor, [], models=["m"]), reactor) as url, chooser(tmp_path) as chooses:
        chosen = await chooses.choose_all(ModelConfig(provider="local", url=f"{url}/v1"), [AWAY])
    assert named(chosen) == [("local", "m", True), ("ollama", "qwen3:4b", False)]


@pytest.mark.parametrize(
    "unusable",
    [
        UNNAMED,
        ModelConfig(provider="magic", model="m"),
        ModelConfig(provider="local", model="m"),
        ModelConfig(provider="openai", model="m", key="env:NOT_THERE"),
    ],
)
async def test_one_that_its_settings_do_not_name_is_left_out(tmp_path: Path, unusable: ModelConfig) -> None:
    async with serve(FakeChat(reactor, [], models=["m"]), reactor) as url, chooser(tmp_path) as chooses:
        chosen = await chooses.choose_all(unusable, [ModelConfig(provider="local", url=f"{url}/v1")])
    assert named(chosen) == [("local", "m", True)]


@pytest.mark.parametrize("fallbacks", [[], [UNNAMED], [AWAY, ModelConfig(provider="local")]])
async def test_when_none_answers_the_first_cause_is_told(tmp_path: Path, fallbacks: list[ModelConfig]) -> None:
    first = ModelConfig(provider="local", url="http://127.0.0.1:2/v1", model="m")
    async with chooser(tmp_path) as chooses:
        with pytest.raises(NoModelError, match=r"http://127\.0\.0\.1:2"):
            await chooses.choose_all(first, fallbacks)


async def test_a_key_is_in_nothing_that_is_said(tmp_path: Path) -> None:
    keyed = AWAY.model_copy(update={"key": "env:K"})
    async with serve(FakeOllama(reactor, []), reactor) as url, chooser(tmp_path, {"K": "planted"}) as chooses:
        [away, _] = await chooses.choose_all(keyed, [ModelConfig(provider="ollama", url=url)])
    assert away.provider.credential
    assert "planted" not in f"{away!r} {away.why}"


class Silent(Fake[ServedRequest]):
    """A server that never answers."""

    request_type = ServedRequest

    def __init__(self) -> None:
        super().__init__()
        self.asked: Deferred[None] = Deferred()

    def answer(self, request: ServedRequest) -> RawResponse:
        if not self.asked.called:
            self.asked.callback(None)
        return SILENCE


def remembering(make: Any, made: list[EmbeddedModel]) -> Any:
    """The same maker of embedded models, which keeps what it made."""

    def remembered(path: Path | None, moved: Callable[[Endpoint], None]) -> EmbeddedModel:
        made.append(make(path, moved))
        return made[-1]

    return remembered


async def test_an_embedded_model_that_was_started_is_stopped_when_choosing_is_cancelled(tmp_path: Path) -> None:
    silent, made = Silent(), list[EmbeddedModel]()
    async with serve(silent, reactor) as url, chooser(tmp_path) as chooses:
        watched = replace(chooses, make_embedded=remembering(chooses.make_embedded, made))
        configs = ModelConfig(provider="embedded"), [ModelConfig(provider="ollama", url=url, model="m")]
        choosing = Deferred.fromCoroutine(watched.choose_all(*configs))
        await silent.asked
        [embedded] = made
        assert embedded._children
        choosing.cancel()
        with pytest.raises(CancelledError):
            await choosing
        assert not embedded._children


async def test_an_embedded_model_that_was_started_is_stopped_when_a_later_one_crashes(tmp_path: Path) -> None:
    made = list[EmbeddedModel]()

    async with chooser(tmp_path) as chooses:
        make = remembering(chooses.make_embedded, made)

        def once(path: Path | None, moved: Callable[[Endpoint], None]) -> Any:
            if made:
                raise ZeroDivisionError
            return make(path, moved)

        embedded = ModelConfig(provider="embedded")
        with pytest.raises(ZeroDivisionError):
            await replace(chooses, make_embedded=once).choose_all(embedded, [embedded])
        assert not made[0]._children


async def test_an_embedded_model_is_a_fallback_for_a_server_that_is_away(tmp_path: Path) -> None:
    async with chooser(tmp_path) as chooses:
        chosen = await chooses.choose_all(AWAY, [ModelConfig(provider="embedded")])
        assert [model.embedded is not None for model in chosen] == [False, True]
        assert chosen[1].embedded is not None
        await chosen[1].embedded.stop()
        await deferLater(reactor, 0)
    assert named(chosen) == [("ollama", "qwen3:4b", False), ("local", "tiny", True)]
