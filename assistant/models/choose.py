"""Chooses the model: the one the settings ask for, or the best at hand.

The choice is explained in one line, and so is the reason when there is no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.config import known_providers
from mud_assistant.assistant.config.known_providers import has_model, no_such_model, why_unusable
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.errors import KeyReferenceError, NoModelError
from mud_assistant.assistant.keys.reference import KeySources, resolve_key
from mud_assistant.assistant.models.bound_keys import BoundKeys
from mud_assistant.assistant.models.chosen import (
    EMBEDDED_CONTEXT,
    ChosenModel,
    Served,
    load_table,
    patient,
    provider_of,
    with_keys,
)
from mud_assistant.assistant.models.mistaken import openai_instead, whose_address
from mud_assistant.assistant.models.offer import usual_model
from mud_assistant.llm import LLMError, LLMProvider, ModelNotFound, Rejected, UnknownProviderError, get_provider
from mud_assistant.llm.discover import describe_model, offered_models
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.fetching.models import pinned_path
from mud_assistant.llm.embedded.progress import Endpoint
from mud_assistant.llm.providers.offered import OfferedModel
from mud_assistant.resilience import Credential, Deadline, HttpExchange, origin_of

#: How long to wait for a server to say what it has, in seconds. A local Ollama answers in milliseconds.
LOOK_SECONDS = 10.0
PROBE_SECONDS = 2.0
#: A very small model answers every question with noop, the easy way out, and types speech as a command. Each further
#: tool makes it choose worse.
EMBEDDED_WITHHELD = frozenset(
    ["noop", "execute_command", "page", "channel", "take", "drop", "give", "follow", "stay", "home", "delegate"]
)
#: Of how many models the server is asked whether they know tools.
_MAX_ASKED = 8


_log = Logger()


def window_tokens(config: ModelConfig) -> int:
    """Return how many tokens a model takes, as far as that is known before it is asked."""
    is_embedded = known_providers.is_embedded(config.provider, config.model, config.url)
    return min(config.context_tokens, EMBEDDED_CONTEXT) if is_embedded else config.context_tokens


def _forget(_: str) -> None:
    """Ignore the message."""


class Chooser(Struct, frozen=True):
    """Chooses models with the given network, clock and keys.

    `make_embedded` is given the path of a model file, None for the usual one, and a function to call with a new
    address.
    """

    exchange: HttpExchange
    clock: IReactorTime
    keys: KeySources
    make_embedded: Callable[[Path | None, Callable[[Endpoint], None]], Served]
    bound: BoundKeys = field(default_factory=BoundKeys)
    #: Returns what is known of a key at a server: a key that was refused lately is not sent again yet.
    credential: Callable[[str, str], Credential] | None = None

    async def choose(self, config: ModelConfig) -> ChosenModel:
        """Return the model to use. Raises NoModelError. An embedded model is started; the caller must stop it."""
        chosen = self._rereading(await self._found(config))
        await load_table(chosen.provider, config, self.keys)
        return chosen

    def _rereading(self, chosen: ChosenModel) -> ChosenModel:
        """Return the model with a function that reads its key again, when it has a key."""

        async def reread() -> str:
            try:
                self.bound.check(chosen.config)
                return await resolve_key(chosen.config.key, self.keys)
            except KeyReferenceError:
                return ""

        return chosen if chosen.embedded or not chosen.config.key else replace(chosen, reread_key=reread)

    async def _found(self, config: ModelConfig) -> ChosenModel:
        """Return the model to use, without a way to read its key again. Raises NoModelError."""
        try:
            self.bound.check(config)
            key, config = await resolve_key(config.key, self.keys), await with_keys(config, self.keys)
            match config.provider:
                case known_providers.AUTO:
                    return await self._auto(config, key)
                case known_providers.EMBEDDED:
                    return await self._embedded(config, "as asked for")
                case _:
                    return await self._named(config, key)
        except UnknownProviderError as error:
            raise NoModelError(known_providers.no_such_provider(config.provider)) from error
        except (KeyReferenceError, EmbeddedUnavailable) as error:
            raise NoModelError(str(error)) from error

    async def choose_all(
        self, config: ModelConfig, fallbacks: Sequence[ModelConfig], left_out: Callable[[str], None] = _forget
    ) -> list[ChosenModel]:
        """Return the model to use and its fallbacks, in order; `left_out` is told why one is not among them.

        With a fallback, the first may be out of reach now. A model out of reach is taken as its settings name it, and
        left out when they do not name one. Raises NoModelError, with the first cause, when no model can be reached.
        Stops what it started when it fails or is cancelled.
        """
        chosen: list[ChosenModel] = []
        try:
            return await self._each(chosen, (config, *fallbacks), left_out)
        except BaseException:
            for model in chosen:
                if model.embedded is not None:
                    await model.embedded.stop()
            raise

    async def _each(
        self, chosen: list[ChosenModel], wanted: Sequence[ModelConfig], left_out: Callable[[str], None]
    ) -> list[ChosenModel]:
        """Append each chosen model to `chosen`, so that the caller knows what was started even after an error."""
        causes: list[NoModelError] = []
        for config in wanted:
            try:
                chosen.append(await self.choose(config))
            except NoModelError as error:
                causes.append(error)
                assumed = await self._assumed(config, error) if len(wanted) > 1 else None
                if assumed is not None:
                    chosen.append(assumed)
                elif len(wanted) > 1:
                    left_out(str(error))
        if not any(model.is_there for model in chosen):
            raise causes[0]
        return chosen

    async def _assumed(self, config: ModelConfig, cause: NoModelError) -> ChosenModel | None:
        """Return the model that the settings name though it does not answer now, None when they do not name one."""
        if isinstance(cause.__cause__, KeyReferenceError):
            return None  # do not wait a second time for a keyring that does not answer
        try:
            self.bound.check(config)
            key, config = await resolve_key(config.key, self.keys), await with_keys(config, self.keys)
            provider = provider_of(config, key)
        except (UnknownProviderError, KeyReferenceError):
            return None
        if not config.model or not provider.api_url:
            return None
        await load_table(provider, config, self.keys)
        why = f"{config.provider}, model {config.model} ({cause})"
        return self._rereading(ChosenModel(provider, why, config, is_there=False))

    async def _named(self, config: ModelConfig, key: str) -> ChosenModel:
        """Return the model of the provider that is named. Raises UnknownProviderError."""
        provider = provider_of(config, key)
        if provider.hosted:
            return await self._hosted(provider, config, key)
        return await self._own(provider, config)

    async def _auto(self, config: ModelConfig, key: str) -> ChosenModel:
        """Return a model of the server that is looked for, else of another one at `url`, else the embedded model.

        The server is looked for at `url`, or at its usual place when there is none.
        """
        if config.model.endswith(".gguf"):
            return await self._embedded(config, "a model file was given")
        if known_providers.is_embedded(config.provider, config.model, config.url):
            return await self._embedded(config, "as asked for")
        probe = provider_of(config, key, known_providers.LOOKED_FOR)
        try:
            offered = await offered_models(probe, self.exchange, Deadline.after(self.clock, PROBE_SECONDS))
        except LLMError as error:
            if config.url:
                return await self._own(provider_of(config, key, known_providers.ANY_SERVER), config)
            if config.model:
                raise NoModelError(
                    f"there is no {probe.server_name} at {probe.api_url} to ask for '{config.model}': start it with "
                    f"'{probe.start_command}', or give another server with --url, or leave --model out for the "
                    "embedded model"
                ) from error
            return await self._embedded(config, f"no {probe.server_name} answers at {probe.api_url}")
        if not offered and not config.model and not config.url:
            return await self._embedded(config, f"the {probe.server_name} at {probe.api_url} has no model")
        return await self._own(probe, config)

    async def _own(self, provider: LLMProvider, config: ModelConfig) -> ChosenModel:
        """Return the model of a server that the owner runs."""
        if not provider.api_url:
            name = provider.name
            raise NoModelError(f"the provider '{name}' needs the address of the server: --url http://HOST:PORT/v1")
        remedy = f"start it with '{provider.start_command}'" if provider.start_command else "start the server"
        names = await self._listed(provider, remedy)
        server = f"the {provider.server_name or 'server'}"
        if config.model and (names or provider.always_lists) and not has_model(names, config.model):
            raise NoModelError(no_such_model(server, provider.api_url, config.model, names))
        if not config.model:
            if not names:
                raise NoModelError(f"{server} at {provider.api_url} {_without_models(provider)}")
            provider.model = await self._best(provider, names, remedy)
        who = provider.server_name or server
        return ChosenModel(provider, f"{who} at {provider.api_url}, model {provider.model}", config)

    async def _best(self, provider: LLMProvider, names: list[str], remedy: str) -> str:
        """Return the first model that knows tools, else the first that can chat at all, else the first.

        It is the first when the server's API does not describe models. Raises NoModelError.
        """
        described: list[OfferedModel] = []
        for name in names[:_MAX_ASKED]:
            try:
                offered = await describe_model(provider, name, self.exchange, self._soon())
            except LLMError as error:
                raise NoModelError(why_unusable(error, provider.api_url, remedy)) from error
            if offered is None or "tools" in offered.capabilities:
                return name
            described.append(offered)
        return next((model.name for model in described if "completion" in model.capabilities), names[0])

    async def _hosted(self, provider: LLMProvider, config: ModelConfig, key: str) -> ChosenModel:
        """Return the model of a provider on the internet. Listing its models costs nothing."""
        usual = known_providers.usual_key(config.provider)
        if not key:
            raise NoModelError(f"the provider '{config.provider}' needs a key, such as --key {usual}")
        if not config.model:
            raise NoModelError(f"the provider '{config.provider}' needs the name of a model: --model NAME")
        await self._listed(provider, "check the connection")
        return ChosenModel(provider, f"{config.provider}, model {provider.model}", config)

    async def _embedded(self, config: ModelConfig, because: str) -> ChosenModel:
        provider = get_provider(known_providers.ANY_SERVER, "http://127.0.0.1/v1")

        def at(endpoint: Endpoint) -> None:
            self.keys.secrets.add(endpoint.key)
            provider.rebind(f"{endpoint.url}/v1", endpoint.key)
            provider.model = endpoint.model

        path = await self._file(config.model)
        embedded = self.make_embedded(path, at)
        try:
            at(endpoint := await embedded.start())
        except EmbeddedUnavailable as error:
            if config.model or path is None:
                raise
            _log.warn("the better embedded model is here and does not run: {why}", why=error.cause)
            embedded = self.make_embedded(None, at)
            at(endpoint := await embedded.start())
        return ChosenModel(
            provider, f"the embedded model {endpoint.model} ({because})", patient(config), embedded, EMBEDDED_WITHHELD
        )

    async def _file(self, model: str) -> Path | None:
        """Return the file of the embedded model that is meant, None for the one that is usual."""
        name = model or await self.keys.in_thread(usual_model)
        return (pinned_path(name) or Path(name)) if name else None

    async def _listed(self, provider: LLMProvider, remedy: str) -> list[str]:
        """Return the models the server lists, none for a server without such a list. Raises NoModelError.

        Does not ask while the server refuses this key.
        """
        if mistake := whose_address(provider):
            raise NoModelError(mistake)
        known = self.credential(origin_of(provider.api_url), provider.credential) if self.credential else None
        try:
            names = [model.name for model in await offered_models(provider, self.exchange, self._soon(), known)]
        except LLMError as error:
            if isinstance(error, ModelNotFound | Rejected) and not provider.always_lists:
                return []
            mistake = await openai_instead(provider, error, self.exchange, self._soon())
            raise NoModelError(mistake or why_unusable(error, provider.api_url, remedy)) from error
        if not names and (mistake := await openai_instead(provider, None, self.exchange, self._soon())):
            raise NoModelError(mistake)
        return names

    def _soon(self) -> Deadline:
        return Deadline.after(self.clock, LOOK_SECONDS)


def _without_models(provider: LLMProvider) -> str:
    """Say, as the end of a sentence, that a server names no model, and what an owner can do."""
    if not provider.always_lists:
        return "does not list its models: name one with --model"
    return f"has no model: run '{provider.pull_command}' or another" if provider.pull_command else "has no model"
