"""Keeps each key to the servers it was given for, over restarts: applies `key_binding` to what is remembered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from mud_assistant.assistant.config.known_providers import AUTO, EMBEDDED, LOOKED_FOR
from mud_assistant.assistant.config.model_config import token_references
from mud_assistant.assistant.config.schema import Config, ModelConfig
from mud_assistant.assistant.config.sections import MemoryConfig, WebProviderConfig
from mud_assistant.assistant.config.telemetry import TelemetryConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.binding import KeyBinding, Unbound, Voided, binding_state, rebind
from mud_assistant.assistant.keys.reference import anchor
from mud_assistant.llm import UnknownProviderError, get_provider

#: How the owner of a trial gives a key again.
AT_THE_COMMAND_LINE = "name it on the command line: --key {reference}"


class BoundKeys:
    """The keys and the servers they were given for.

    Without a journal nothing is remembered, and every key goes where the settings say.
    """

    def __init__(
        self, remembered: Collection[KeyBinding] = (), folder: Path = Path(), again: str = AT_THE_COMMAND_LINE
    ) -> None:
        """Start with what is remembered.

        A relative path of a key file starts from `folder`. `again` says how an owner gives a `{reference}` again.
        """
        self._again = again
        self.remembered = frozenset(remembered)
        self._folder = folder

    def admit(self, wanted: Sequence[KeyBinding], entered: Collection[str] = ()) -> None:
        """Remember new keys for all servers of `wanted`.

        `entered` are the references that were given again just now.
        """
        before = self.remembered
        for binding in wanted:
            if binding.reference in entered:
                before = rebind(binding, before)
        for binding in wanted:
            if binding.reference in entered or isinstance(
                binding_state(binding.reference, binding.origin, before), Unbound
            ):
                self.remembered |= {binding}
        self.remembered -= {known for known in self.remembered if known.reference in entered and known not in wanted}

    def check(self, config: ModelConfig) -> None:
        """Raise KeyReferenceError when a key of this model was given for another server."""
        for binding in bindings_of_model(config, self._folder):
            self.check_binding(binding)

    def check_binding(self, binding: KeyBinding | None) -> None:
        """Raise KeyReferenceError when this key was given for another server."""
        if binding is None or not self.remembered:
            return
        state = binding_state(binding.reference, binding.origin, self.remembered)
        if isinstance(state, Voided):
            raise KeyReferenceError(f"{state}; to give it anew, {self._again.format(reference=binding.reference)}")


def binding_of(config: ModelConfig, folder: Path = Path()) -> KeyBinding | None:
    """Return the key of these settings and the server it would go to, None when no key goes anywhere.

    A key file counts as the same however its path is written. A relative path starts from `folder`.
    """
    if not config.key or config.provider == EMBEDDED:
        return None
    try:
        url = config.url or get_provider(LOOKED_FOR if config.provider == AUTO else config.provider).api_url
    except UnknownProviderError:
        return None
    return KeyBinding.of(anchor(config.key, folder), url) if url else None


def bindings_of_model(config: ModelConfig, folder: Path = Path()) -> list[KeyBinding]:
    """Return each key of these settings, those of its MCP servers too, with the server it would go to."""
    keys = [config, *(config.model_copy(update={"key": key}) for key in token_references(config.extra_params))]
    return [binding for each in keys if (binding := binding_of(each, folder))]


def bindings_of(config: Config, folder: Path) -> list[KeyBinding]:
    """Return each key of the settings with the server it would go to."""
    found = [binding for model in (config.model, *config.fallback) for binding in bindings_of_model(model, folder)]
    web = (binding_of_provider(name, provider, folder) for name, provider in config.web.providers.items())
    rest = [binding_of_vectors(config.memory, folder), *bindings_of_telemetry(config.telemetry, folder)]
    return [*found, *filter(None, web), *filter(None, rest)]


def binding_of_provider(name: str, config: WebProviderConfig, folder: Path = Path()) -> KeyBinding | None:
    """Return the key of a web provider and the server it would go to, None when no key goes anywhere."""
    if not config.key:
        return None
    url = config.url or usual_url(name)
    return KeyBinding.of(anchor(config.key, folder), url) if url else None


def binding_of_vectors(config: MemoryConfig, folder: Path = Path()) -> KeyBinding | None:
    """Return the key for sentence vectors and the server it would go to, None when no key goes anywhere."""
    if not config.vectors_key or config.vectors not in {"ollama", "openai"}:
        return None
    url = config.vectors_url or get_provider(config.vectors).api_url
    return KeyBinding.of(anchor(config.vectors_key, folder), url)


def bindings_of_telemetry(config: TelemetryConfig, folder: Path = Path()) -> list[KeyBinding]:
    """Return each key of the headers for the collector of telemetry, with the server it would go to.

    Where the environment names the collector, the headers go to whichever it names.
    """
    if not config.endpoint:
        return []
    return [KeyBinding.of(anchor(key, folder), config.endpoint) for key in config.headers.values()]


def usual_url(name: str) -> str:
    """Return the address that a web provider's key goes to when the settings name none, empty when it goes nowhere."""
    from mud_assistant.tools.web.read.jina import JinaSettings  # noqa: PLC0415  (not in a process without keys for the web)
    from mud_assistant.tools.web.registry import READ_PROVIDERS, SEARCH_PROVIDERS  # noqa: PLC0415  (the same)

    if name == "jina":
        return JinaSettings().base_url
    maker = SEARCH_PROVIDERS.get(name) or READ_PROVIDERS.get(name)
    return maker.usual_url if maker else ""
