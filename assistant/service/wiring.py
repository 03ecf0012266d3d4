"""Builds the parts that a trial and a household of many assistants have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IReactorTime

from assistant.config.schema import Config
from assistant.config.settings import SettingsError
from assistant.config.web import WebConfig, WebProviderConfig
from assistant.keys.binding import KeyBinding
from assistant.keys.reference import KeySources, resolve_key
from assistant.keys.sources import KeyReferenceError
from assistant.models.bound_keys import BoundKeys, binding_of_provider, bindings_of_model
from assistant.models.choose import EMBEDDED_CONTEXT
from assistant.runtime.warming import beginning_of, read_ahead
from llm.embedded.errors import EmbeddedUnavailable
from llm.embedded.fetching.models import default_data_dir, pinned_name
from llm.embedded.progress import Endpoint, FetchProgress
from llm.embedded.supervisor import EmbeddedModel
from resilience import HttpExchange

if TYPE_CHECKING:
    from assistant.runtime.character import Assistant
    from assistant.web.web import Web


def bindings_of(config: Config, folder: Path) -> list[KeyBinding]:
    """Return each key of the settings with the server it would go to."""
    found = [binding for model in (config.model, *config.fallback) for binding in bindings_of_model(model, folder)]
    web = (binding_of_provider(name, provider, folder) for name, provider in config.web.providers.items())
    return [*found, *filter(None, web)]


def load_web(config: WebConfig) -> None:
    """Load the modules of the web if the settings use it. Blocks: for the start of a process, or another thread."""
    if config.search_provider or config.providers:
        import assistant.web.web  # noqa: F401, PLC0415  (sixty modules that a process without the web never needs)


# Any: the reactor as clock and as maker of connections, threads and processes.
async def web_of(
    config: WebConfig,
    bound: BoundKeys,
    keys: KeySources,
    exchange: HttpExchange,
    *,
    reactor: Any,
    random: Random,
    wall: Callable[[], float] | None = None,
) -> Web | None:
    """Return the web of the settings, None when they use none. Raises SettingsError and KeyReferenceError."""
    if not config.search_provider:
        return None
    from assistant.web.web import Web, WebProviders  # noqa: PLC0415  (`load_web` loaded it at the start of the game)

    async def key_of(name: str) -> str:
        provider = config.providers.get(name, WebProviderConfig())
        bound.check_binding(binding_of_provider(name, provider, keys.folder))
        return await resolve_key(provider.key, keys)

    async def reread(name: str) -> str:
        try:
            return await key_of(name)
        except KeyReferenceError:
            return ""

    values = {name: await key_of(name) for name in config.providers}
    providers = WebProviders(config, values, reactor, exchange, wall=wall)
    try:
        return Web(config, providers, reactor, random, reread)
    except SettingsError:
        await providers.stop()
        raise


async def warm(assistant: Assistant, _: IReactorTime) -> None:
    """Let the model read the front of this assistant's prompts, and wait until it has: for programs that measure.

    A failure costs only speed, so none is raised. Cancelling ends the reading.
    """
    await read_ahead(assistant.context, *await beginning_of(assistant.context))


# Any: the reactor as clock and as maker of processes.
def embedded_model(
    reactor: Any,
    environment: Mapping[str, str],
    path: Path | None,
    moved: Callable[[Endpoint], None],
    *,
    show: Callable[[FetchProgress], None],
    lost: Callable[[EmbeddedUnavailable], None],
) -> EmbeddedModel:
    """Return the embedded model of a file (None for the usual one), not started. A pinned file is fetched."""
    name = pinned_name(path)
    return EmbeddedModel(
        reactor,
        reactor,
        environment=environment,
        data_dir=default_data_dir(),
        model_file=None if name else path,
        model_name=name,
        context_tokens=EMBEDDED_CONTEXT,
        on_progress=show,
        on_restart=moved,
        on_lost=lost,
    )
