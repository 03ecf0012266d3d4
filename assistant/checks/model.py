"""Checks one model of the settings: its key, its server, its name, its options, its tools and its context."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mud_assistant.assistant.checks.check_runner import CheckRunner
from mud_assistant.assistant.checks.finding import Problem, Unclear
from mud_assistant.assistant.checks.local_model import check_local_model
from mud_assistant.assistant.checks.probes import SHOWN, ask_to_greet, list_names, options_set, refused_option
from mud_assistant.assistant.config import known_providers
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.reference import KEY_SECONDS, KeySources, resolve_key
from mud_assistant.assistant.models.bound_keys import BoundKeys
from mud_assistant.assistant.models.choose import LOOK_SECONDS, PROBE_SECONDS
from mud_assistant.assistant.models.chosen import how_counted, load_table, provider_of, question_seconds, with_keys
from mud_assistant.assistant.models.mistaken import openai_instead, whose_address
from mud_assistant.llm import (
    BadCredential,
    LLMError,
    LLMProvider,
    LLMResponse,
    ModelNotFound,
    ProtocolError,
    QuotaExhausted,
    Rejected,
    ToolsUnsupported,
    Unavailable,
)
from mud_assistant.llm.discover import describe_model, offered_models
from mud_assistant.llm.providers.offered import OfferedModel
from mud_assistant.resilience import Deadline, HttpExchange

#: Seconds for the question to the model, on top of what its settings allow for a first byte.
ANSWER_SECONDS = 60.0


@dataclass(slots=True)
class ModelChecks:
    """The checks of one model, in order. `place` is its place in the settings, such as `fallback[0]`."""

    place: str
    config: ModelConfig
    exchange: HttpExchange
    keys: KeySources
    bound: BoundKeys
    models: Path
    runner: CheckRunner
    _provider: LLMProvider | None = None
    _key: str = field(default="", repr=False)
    _listed: list[OfferedModel] | None = None
    _refused: LLMError | None = None
    #: Why tokens are not counted with a table; empty when they are.
    _uncounted: str = ""
    _answer: LLMResponse | LLMError | None = None

    async def run(self) -> None:
        """Run the checks; skip those that depend on one that failed."""
        check, place = self.runner.check, self.place
        if not await check(f"{place} key", KEY_SECONDS, self._reference):
            return self._skip(("server", "key accepted", "name", "tools", "context"), "its key cannot be had")
        config = self.config
        if known_providers.is_embedded(config.provider, config.model, config.url) or config.model.endswith(".gguf"):
            return await self._embedded()
        late = "start it, or give another address in model.url"
        if not await check(f"{place} server", LOOK_SECONDS + PROBE_SECONDS, self._server, late):
            return self._skip(("key accepted", "name", "tools", "context"), "its server cannot be used")
        if self._provider is None:
            return await self._embedded()
        seconds = question_seconds(self.config, self._provider) + ANSWER_SECONDS
        if not await check(f"{place} key accepted", seconds, self._accepted):
            return self._skip(("name", "tools", "context"), "its server refuses the key")
        if not await check(f"{place} name", LOOK_SECONDS, self._named):
            return self._skip(("tools", "context"), "the model is not there")
        self._uncounted = await load_table(self._asked, self.config, self.keys)
        if options_set(self.config):
            await check(f"{place} options", 2 * seconds, self._options)
        late = "a smaller model, or a larger model.first_byte_seconds, may help"
        await check(f"{place} tools", seconds, self._tools, late)
        await check(f"{place} context", LOOK_SECONDS, self._context)
        return None

    def _skip(self, names: tuple[str, ...], because: str) -> None:
        self.runner.skip(tuple(f"{self.place} {name}" for name in names), because)

    async def _embedded(self) -> None:
        await check_local_model(self.place, self.config, self.keys, self.models, self.runner)

    async def _reference(self) -> str:
        """Check that the reference leads to a key, and that this key may go to this server. Raises Problem."""
        config = self.config
        if config.provider not in known_providers.known_names():
            raise Problem(known_providers.no_such_provider(config.provider))
        if not config.key:
            if known_providers.is_hosted(config.provider):
                usual = known_providers.usual_key(config.provider)
                raise Problem(
                    f"the provider '{config.provider}' needs a key: set model.key, for example to \"{usual}\""
                )
            return "none is set"
        try:
            self.bound.check(config)
            self._key = await resolve_key(config.key, self.keys)
            self.config = await with_keys(config, self.keys)
        except KeyReferenceError as error:
            raise Problem(str(error)) from error
        return f"{config.key} leads to one"

    async def _server(self) -> str:
        """Check that a server of this provider answers at the address. Raises Problem, Unclear."""
        config = self.config
        if config.provider == known_providers.AUTO:
            return await self._any_server()
        return await self._at(config.provider, LOOK_SECONDS)

    async def _any_server(self) -> str:
        """Look for the server of "auto": an Ollama, else an OpenAI-compatible one at the URL, else the embedded one."""
        try:
            return await self._at(known_providers.LOOKED_FOR, PROBE_SECONDS)
        except Problem as trouble:
            if self.config.url:
                return await self._at(known_providers.ANY_SERVER, LOOK_SECONDS)
            if self.config.model:
                raise
            self._provider = None
            return f"{trouble}; so the embedded model is used"

    async def _at(self, name: str, seconds: float) -> str:
        """Check that a provider's server answers, and list its models. Raises Problem, Unclear."""
        provider = provider_of(self.config, self._key, name)
        if not provider.api_url:
            raise Problem(
                f"the provider '{name}' needs the address of the server: set model.url to http://HOST:PORT/v1"
            )
        if mistake := whose_address(provider):
            raise Problem(mistake)
        self._provider = provider
        refused: LLMError | None = None
        deadline = Deadline.after(self.runner.clock, seconds)
        try:
            self._listed = await offered_models(provider, self.exchange, deadline)
        except (BadCredential, QuotaExhausted) as error:
            self._refused = refused = error
        except (ModelNotFound, Rejected) as error:
            refused = error
        except Unavailable as error:
            start = f"start it with '{provider.start_command}'" if provider.start_command else "start it"
            raise Problem(f"{error.message}; {'check the connection' if provider.hosted else start}") from error
        except ProtocolError as error:
            raise Problem(f"{provider.api_url} {error.message}") from error
        except LLMError as error:
            raise Unclear(f"{provider.api_url} answers, and not well: {error.message}") from error
        if not self._listed and (mistake := await openai_instead(provider, refused, self.exchange, deadline)):
            raise Problem(mistake)
        if provider.always_lists and isinstance(refused, ModelNotFound | Rejected):
            raise Problem(f"what answers at {provider.api_url} is no {provider.server_name}: see model.url")
        return f"{provider.api_url} answers"

    async def _accepted(self) -> str:
        """Check that the server accepts the key. Raises Problem."""
        provider = self._asked
        if self._refused is None and self._key and provider.lists_without_key and await self._pick():
            answer = await self._ask()
            self._refused = answer if isinstance(answer, BadCredential | QuotaExhausted) else None
        match self._refused:
            case QuotaExhausted():
                raise Problem(f"{provider.api_url} takes the key, and the account has no credit left: buy more there")
            case BadCredential() if self._key:
                raise Problem(f"{provider.api_url} refuses the key of {self.config.key}: put the right one there")
            case BadCredential():
                raise Problem(f"{provider.api_url} wants a key: set model.key to env:NAME, file:PATH or keyring:NAME")
        return f"{provider.api_url} takes it" if self._key else "the server wants none"

    async def _named(self) -> str:
        """Check that the model of the settings exists, or that one can be chosen. Raises Problem."""
        provider, model = self._asked, self.config.model
        names = [offered.name for offered in self._listed or ()]
        if not await self._pick():
            if self._listed is None or provider.hosted:
                raise Problem(f"the server needs the name of a model: set model.model{list_names(names)}")
            pull = f": run '{provider.pull_command}' or another" if provider.pull_command else ""
            raise Problem(f"the server at {provider.api_url} has no model{pull}")
        if model and names and not known_providers.has_model(names, model):
            raise Problem(f"the server has no model '{model}'; set model.model{list_names(names)}")
        if self._listed is None:
            answer = await self._ask()
            if isinstance(answer, ModelNotFound):
                raise Problem(f"the server has no model '{model}', and does not list those it has: {answer.message}")
            return f"{provider.model}, which the server does not list"
        return f"{provider.model} is there" if model else f"none is named, so it is {provider.model}"

    async def _options(self) -> str:
        """Check that the server accepts the options that are added to its requests. Raises Problem, Unclear."""
        names = options_set(self.config)
        answer = await self._ask()
        if isinstance(answer, LLMError):
            refused = await refused_option(self.config, self._without)
            if refused is None:
                raise Unclear(
                    f"the question with {', '.join(names)} failed, and without them as well: see the next line"
                )
            name, self._answer = refused
            raise Problem(f"the server refuses the request with {self.place}.{name}: {answer.message}")
        return f"the server takes {', '.join(names)}"

    async def _without(self, config: ModelConfig) -> LLMResponse | LLMError:
        """Ask the model the question with these other settings."""
        provider = provider_of(config.model_copy(update={"model": self._asked.model}), self._key, self._asked.name)
        return await ask_to_greet(provider, config, self.exchange, self.runner.clock)

    async def _tools(self) -> str:
        """Check that the model calls a tool when it is asked to. Raises Problem."""
        answer = await self._ask()
        name = self._asked.model
        match answer:
            case ToolsUnsupported():
                raise Problem(f"{name} takes no tools, and calls none in text either: choose another model")
            case BadCredential():
                raise Problem(f"{self._asked.api_url} refuses the key of {self.config.key}: put the right one there")
            case LLMError():
                raise Problem(f"{name} was asked a question and failed: {answer.message}")
        if not answer.tool_calls:
            raise Problem(
                f"{name} was asked to call a tool and did not: choose a larger model, "
                'or set model.tool_choice = "required" where the server can enforce it'
            )
        return f"{name} calls tools{' in its text' if answer.from_fallback else ''}"

    async def _context(self) -> str:
        """Check that the model can hold `context_tokens`, and say how tokens are counted. Raises Problem, Unclear."""
        wanted = self.config.context_tokens
        most = await self._holds()
        if self._uncounted and self.config.token_table:
            raise Problem(f"{self._uncounted}: see {self.place}.token_table")
        counted = f"tokens are {how_counted(self._asked, self._uncounted)}"
        if most is None:
            raise Unclear(
                f"the server does not say how much the model holds; {wanted} tokens are used, as set; {counted}"
            )
        if most < wanted:
            raise Problem(f"the model holds {most} tokens and model.context_tokens is {wanted}: set it to {most}")
        return f"{wanted} tokens are used of the {most} the model can hold; {counted}"

    async def _holds(self) -> int | None:
        """Return the model's context length in tokens, or None when the server does not tell it."""
        name = self._asked.model
        try:
            offered = await self._describe(name)
        except LLMError:
            return None
        if offered is not None:
            return offered.context_tokens
        return next((at.context_tokens for at in self._listed or () if at.name == name), None)

    async def _describe(self, name: str) -> OfferedModel | None:
        """Return what the server says of one model, None when its API does not describe models. Raises LLMError."""
        deadline = Deadline.after(self.runner.clock, LOOK_SECONDS)
        return await describe_model(self._asked, name, self.exchange, deadline)

    @property
    def _asked(self) -> LLMProvider:
        assert self._provider is not None
        return self._provider

    async def _pick(self) -> str:
        """Return the model to ask: the configured one, else the one that would be chosen; empty when there is none."""
        provider = self._asked
        if not provider.model and self._listed and not provider.hosted:
            provider.model = await self._best([offered.name for offered in self._listed])
        return provider.model

    async def _best(self, names: list[str]) -> str:
        """Return the first model that the server says knows tools, as the chooser does, else the first of the list."""
        for name in names[:SHOWN]:
            try:
                offered = await self._describe(name)
            except LLMError:
                break
            if offered is None or "tools" in offered.capabilities:
                return name
        return names[0]

    async def _ask(self) -> LLMResponse | LLMError:
        """Return what the model answers when it is asked to call a tool. It is asked only once."""
        if self._answer is None:
            self._answer = await ask_to_greet(self._asked, self.config, self.exchange, self.runner.clock)
        return self._answer
