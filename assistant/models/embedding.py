"""Makes what turns sentences into vectors, as the settings of the memory say."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from twisted.logger import Logger

from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.config.sections import MemoryConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.reference import KeySources, resolve_key
from mud_assistant.assistant.models.bound_keys import BoundKeys, binding_of_vectors
from mud_assistant.assistant.models.chosen import ChosenModel, limits_of
from mud_assistant.llm import LLMProvider, get_provider
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.fetching.convert import MINILM, MINILM_NAME
from mud_assistant.llm.embedded.fetching.models import default_data_dir
from mud_assistant.llm.embedded.progress import Endpoint, FetchProgress, Phase
from mud_assistant.llm.embedded.supervisor import Commands, EmbeddedModel
from mud_assistant.llm.embeddings.embedder import Embedder
from mud_assistant.llm.embeddings.ollama import OllamaEmbeddings
from mud_assistant.llm.embeddings.openai import OpenAIEmbeddings
from mud_assistant.llm.embeddings.remote import RemoteEmbedder
from mud_assistant.llm.embeddings.served import MINILM_TOKENS, EmbeddedEmbedder, ServerProcess
from mud_assistant.resilience import HttpExchange, Pipeline

_log = Logger()
#: Makes the process that serves the embedded model. The callbacks get its address after a restart, and its end.
MakeVectorServer = Callable[[Callable[[Endpoint], None], Callable[[EmbeddedUnavailable], None]], ServerProcess]


class EmbedderParts(Struct, frozen=True):
    """What embedders are made of: the network of all model calls, the keys, and the process of the embedded model."""

    exchange: HttpExchange
    pipeline: Pipeline
    keys: KeySources
    make_server: MakeVectorServer
    bound: BoundKeys = field(default_factory=BoundKeys)


class SharedEmbedder:
    """The one embedder of a process, for its memories and for the programs that ask it for vectors."""

    def __init__(self, config: MemoryConfig, parts: Callable[[], EmbedderParts]) -> None:
        self._config = config
        self._parts = parts
        self._made: Embedder | None = None

    @property
    def model(self) -> str:
        """The name of the model, empty when vectors are off."""
        return {"off": "", "embedded": MINILM.name}.get(self._config.vectors, self._config.vectors_model)

    @property
    def is_on(self) -> bool:
        """Whether vectors are made."""
        return self._config.vectors != "off"

    def use_embedded(self) -> bool:
        """Let the embedded model make vectors, unless the owner has said what does. Return whether it does."""
        if "vectors" not in self._config.model_fields_set:
            self._config = self._config.model_copy(update={"vectors": "embedded"})
        return self._config.vectors == "embedded"

    async def get(self) -> Embedder | None:
        """Return it, as `embedder_of` makes it the first time."""
        if self._made is None:
            self._made = await embedder_of(self._config, self._parts())
        return self._made

    async def stop(self) -> None:
        """Stop what runs for it, if anything does. It is started again by who asks for vectors after that."""
        if self._made is not None:
            await self._made.stop()


async def embedder_of(config: MemoryConfig, parts: EmbedderParts) -> Embedder | None:
    """Return what makes vectors, None when they are off. It opens nothing and starts nothing until it is asked.

    The caller stops it. Raises KeyReferenceError when its key cannot be had, or was given for another server.
    """
    match config.vectors:
        case "off":
            return None
        case "embedded":
            return _embedded(parts)
        case _:
            return await _of_server(config, parts)


async def _of_server(config: MemoryConfig, parts: EmbedderParts) -> RemoteEmbedder:
    """Return an embedder that asks the server of the settings."""
    binding = binding_of_vectors(config, parts.keys.folder)

    async def read_key() -> str:
        parts.bound.check_binding(binding)
        return await resolve_key(config.vectors_key, parts.keys)

    async def reread_key() -> str:
        try:
            return await read_key()
        except KeyReferenceError:
            return ""

    key = await read_key()
    if config.vectors == "ollama":
        provider = get_provider("ollama", config.vectors_url, config.vectors_model, key=key)
        return _remote(parts, OllamaEmbeddings(provider), reread_key=reread_key)
    name = "local" if config.vectors_url else "openai"
    provider = get_provider(name, config.vectors_url, config.vectors_model, key=key)
    return _remote(parts, OpenAIEmbeddings(provider), reread_key=reread_key)


def _embedded(parts: EmbedderParts) -> EmbeddedEmbedder:
    provider = get_provider("local", "http://127.0.0.1/v1", MINILM.name)
    remote = _remote(parts, OpenAIEmbeddings(provider), context_tokens=MINILM_TOKENS)
    return EmbeddedEmbedder(remote, parts.pipeline.clock, parts.make_server, hide=parts.keys.secrets.add)


# Any: the other arguments of RemoteEmbedder, each of its own type.
def _remote(parts: EmbedderParts, dialect: OllamaEmbeddings | OpenAIEmbeddings, **options: Any) -> RemoteEmbedder:
    """Return an embedder that treats its server as a model that talks would."""
    provider: LLMProvider = dialect.provider
    as_model = ModelConfig(provider=provider.name, model=provider.model)
    return RemoteEmbedder(
        dialect,
        parts.exchange,
        parts.pipeline,
        limits=limits_of(as_model, provider),
        upstream=ChosenModel(provider, "", as_model).upstream,
        **options,
    )


# Any: the reactor as clock and as maker of processes.
def vector_server(reactor: Any, environment: Mapping[str, str], data_dir: Path | None = None) -> MakeVectorServer:
    """Return a function that makes the real process of the embedded model, not started. It reports to the log."""
    told: list[Phase] = []

    def show(step: FetchProgress) -> None:
        if step.phase not in told:  # a download reports every piece
            told.append(step.phase)
            _log.info("the model of sentence vectors: {phase} {note}", phase=step.phase, note=step.note)

    def make(moved: Callable[[Endpoint], None], lost: Callable[[EmbeddedUnavailable], None]) -> ServerProcess:
        return EmbeddedModel(
            reactor,
            reactor,
            environment=environment,
            data_dir=data_dir or default_data_dir(),
            model_name=MINILM_NAME,
            threads=1,  # a line takes 12 ms of one processor; the others are for the model that talks
            on_progress=show,
            on_restart=moved,
            on_lost=lost,
            commands=Commands.of(sys.executable, embeddings=True),
        )

    return make
