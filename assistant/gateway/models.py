"""The models that clients of the gateway may ask for: one table of names, each with a chain of models behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, DeferredSemaphore
from twisted.logger import Logger

from mud_assistant.assistant.config.gateway import GatewayConfig
from mud_assistant.assistant.config.model_config import ModelConfig
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.gateway.sight import may_see
from mud_assistant.assistant.models.choose import window_tokens
from mud_assistant.assistant.models.chosen import ChosenModel, call_options
from mud_assistant.assistant.models.clients import client_of
from mud_assistant.assistant.service.parts import SharedParts
from mud_assistant.llm import Link, ModelChain
from mud_assistant.llm.dialects.dialect import OfferedModelName
from mud_assistant.llm.dialects.failures import Failure, FailureKind, RequestRefused
from mud_assistant.resilience.coroutines import run

#: The name of the assistants' own models, where the settings name none.
OWN = "assistant"
#: The settings of a model that apply to every call; what else a call may say is the client's to say.
_KEPT = ("temperature", "think", "extra_params", "structured")

#: What Ollama's clients add to a name without a tag.
_LATEST = ":latest"
#: Tells whether a key may use the model that clients know by a name.
MayUse = Callable[[str], bool]

_UNUSABLE = "the gateway cannot use the model behind {name}: {why}"
_log = Logger()


@dataclass(slots=True)
class OfferedChain:
    """A name, what it stands for, and the models behind it once they were chosen."""

    name: str
    aliases: tuple[str, ...]
    configs: tuple[ModelConfig, ...]
    chain: ModelChain | None = None
    chosen: list[ChosenModel] = field(default_factory=list)
    #: Those who wait for the models to be chosen.
    choosing: Deferred[ModelChain] | None = None
    waiting: list[Deferred[ModelChain]] = field(default_factory=list)
    #: How many calls may be under way.
    places: DeferredSemaphore = field(default_factory=lambda: DeferredSemaphore(1))


class GatewayModels:
    """The table of names. Models are chosen when they are first asked for, or by `warm_up`."""

    def __init__(self, parts: SharedParts, config: GatewayConfig, settings: Config, created: int) -> None:
        """Take the settings of the gateway, and those of the assistants for a gateway without models of its own.

        `created` is when the models are said to have been made, in seconds since 1970.
        """
        self._parts = parts
        self._settings = settings
        self._share = config.share
        self._created = created
        self._offered = {one.name: one for one in _offered_by(config, settings)}
        self._by_name = {name: one for one in self._offered.values() for name in (one.name, *one.aliases)}

    def offered(self, may_use: MayUse) -> list[OfferedModelName]:
        """Return the models that may be used."""
        return [self._described(one) for one in self._offered.values() if _is_allowed(one, may_use)]

    def find(self, name: str, may_use: MayUse) -> OfferedChain:
        """Return what stands behind a name. Raises RequestRefused, with the names there are."""
        one = self._by_name.get(name) or self._by_name.get(name.removesuffix(_LATEST))
        if one is not None and _is_allowed(one, may_use):
            return one
        known = ", ".join(model.name for model in self.offered(may_use)) or "none"
        if one is None:
            said = f"there is no model '{name[:100]}' here; those there are: {known}"
            raise RequestRefused(Failure(FailureKind.NO_MODEL, said, "model", should_retry=False))
        said = f"this key may not use the model '{name[:100]}'; those it may use: {known}"
        raise RequestRefused(Failure(FailureKind.FORBIDDEN, said, "model", should_retry=False))

    def described(self, name: str, may_use: MayUse) -> OfferedModelName:
        """Return the description of one model. Raises RequestRefused."""
        return self._described(self.find(name, may_use))

    async def chain(self, one: OfferedChain) -> ModelChain:
        """Return the chain of a name, choosing its models first where that was not done. Raises RequestRefused.

        Cancelling only ends the waiting.
        """
        if one.chain is not None:
            return one.chain
        waiter: Deferred[ModelChain] = Deferred(one.waiting.remove)
        one.waiting.append(waiter)
        if one.choosing is None:
            one.choosing = run(self._choose(one))
            one.choosing.addCallbacks(_tell, _fail, callbackArgs=(one,), errbackArgs=(one,))
        return await waiter

    def warm_up(self) -> None:
        """Begin to choose the models of every name, so that the first client need not wait for it."""
        for one in self._offered.values():
            run(self.chain(one)).addErrback(lambda failure: failure.trap(RequestRefused, CancelledError))

    async def close(self) -> None:
        """Let go of the models. What is under way must have ended."""
        for one in self._offered.values():
            if one.choosing is not None:
                one.choosing.cancel()
            for model in one.chosen:
                if model.embedded is not None:
                    await model.embedded.stop()
            one.chain, one.chosen = None, []

    async def _choose(self, one: OfferedChain) -> ModelChain:
        parts, (first, *others) = self._parts, one.configs
        config = self._settings.model_copy(update={"model": first, "fallback": tuple(others)})
        await parts.admit(config, "")
        one.chosen = await parts.choose(config)
        links = [Link(client_of(chosen, parts.process), _options(chosen)) for chosen in one.chosen]
        for chosen, link in zip(one.chosen, links, strict=True):
            if chosen.embedded is not None:
                link.client.record.sees_images = False
        places = max(1, int(one.chosen[0].upstream.in_flight.most * self._share))
        one.places = DeferredSemaphore(places)
        one.chain = ModelChain(links, parts.clock)
        return one.chain

    def _described(self, one: OfferedChain) -> OfferedModelName:
        configs = [chosen.config for chosen in one.chosen] or one.configs
        sees = one.chain is not None and any(may_see(link.client) for link in one.chain.links)
        return OfferedModelName(one.name, self._created, min(map(window_tokens, configs)), sees_images=sees)


def _is_allowed(one: OfferedChain, may_use: MayUse) -> bool:
    return any(may_use(name) for name in (one.name, *one.aliases))


def _offered_by(config: GatewayConfig, settings: Config) -> list[OfferedChain]:
    if config.models:
        return [OfferedChain(name, model.aliases, model.chain) for name, model in config.models.items()]
    own = settings.model.model
    return [OfferedChain(OWN, (own,) if own else (), (settings.model, *settings.fallback))]


def _options(chosen: ChosenModel) -> Mapping[str, Any]:
    """Return how a model is asked where the client says nothing. The length of an answer is the client's to say."""
    options = call_options(chosen.config)
    return {name: options[name] for name in _KEPT}


def _tell(chain: ModelChain, one: OfferedChain) -> None:
    one.choosing = None
    waiting, one.waiting = one.waiting, []
    for waiter in waiting:
        waiter.callback(chain)


def _fail(failure: Any, one: OfferedChain) -> None:
    one.choosing = None
    waiting, one.waiting = one.waiting, []
    error = failure.value
    if isinstance(error, AssistantError):
        _log.error(_UNUSABLE, log_event="gateway", name=one.name, why=str(error))
    elif not isinstance(error, CancelledError):
        _log.failure("the models of {name} cannot be chosen", failure, name=one.name)
    said = f"the model behind '{one.name}' cannot be used now; the log of the gateway says why"
    for waiter in waiting:
        waiter.errback(RequestRefused(Failure(FailureKind.OVERLOADED, said, retry_after=5.0)))
