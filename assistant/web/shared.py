"""The web tools of a process, whose settings the owner may change while assistants run."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import DeferredLock

from mud_assistant.assistant.config.sections import WebConfig, WebProviderConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.reference import KeySources, resolve_key
from mud_assistant.assistant.models.bound_keys import BoundKeys, binding_of_provider
from mud_assistant.resilience import HttpExchange
from mud_assistant.resilience.background import in_daemon_thread
from mud_assistant.tools import Tool

if TYPE_CHECKING:
    from treq.client import HTTPClient

    from mud_assistant.assistant.web.http import HttpOfTools
    from mud_assistant.assistant.web.web import Web

#: How long loading the web's modules may take when it is switched on while assistants run, in seconds.
_LOAD_SECONDS = 60.0
HTTP_MISSING = "context.http needs packages that are not here: pip install 'mud-assistant[web]'"


def load_web(config: WebConfig) -> None:
    """Load the modules of the web if the settings use it. Blocks: for the start of a process, or another thread."""
    if config.search_provider or config.providers:
        import mud_assistant.assistant.web.web  # noqa: F401, PLC0415  (sixty modules that a process without the web never needs)


class SharedWeb:
    """The web that all assistants share. It is made at its first use, and again when the settings change."""

    # Any: the reactor as clock and as maker of connections, threads and processes.
    def __init__(
        self,
        config: WebConfig,
        keys: KeySources,
        exchange: HttpExchange,
        *,
        reactor: Any,
        random: Random,
        wall: Callable[[], float],
    ) -> None:
        self.config = config
        self._wall = wall
        self._keys = keys
        self._exchange = exchange
        self._reactor = reactor
        self._random = random
        self._web: Web | None = None
        #: The webs of former settings. Runs that have begun may still use them.
        self._former: list[Web] = []
        #: Held while a web is made, which may take some time.
        self._making = DeferredLock()
        self._http: HttpOfTools | None = None
        load_web(config)

    async def tools(self, assistant: str, bound: BoundKeys) -> tuple[Tool, ...]:
        """Return the tools of one assistant; none without a search provider.

        Raises SettingsError and KeyReferenceError.
        """
        async with self._making:
            if self._web is None:
                self._web = await self._make(self.config, bound)
        return self._web.tools(assistant) if self._web else ()

    def http_client(self, assistant: str) -> HTTPClient:
        """Return a new HTTP client for the tools of one assistant, under the settings as they are now.

        Raises ModuleNotFoundError where treq is not installed.
        """
        if self._http is None:
            try:
                from mud_assistant.assistant.web.http import HttpOfTools  # noqa: PLC0415  (needed by few tools; treq may be missing)
            except ModuleNotFoundError as error:
                raise ModuleNotFoundError(HTTP_MISSING, name=error.name) from error
            self._http = HttpOfTools(self._reactor)
        return self._http.client(assistant, self.config)

    async def change(self, config: WebConfig, bound: BoundKeys) -> None:
        """Use these settings from now on. Raises SettingsError and KeyReferenceError, and then changes nothing."""
        await in_daemon_thread(self._reactor, _LOAD_SECONDS, lambda: load_web(config))
        async with self._making:
            made = await self._make(config, bound)
            if self._web is not None:
                self._former.append(self._web)
            self._web, self.config = made, config

    def left(self, assistant: str) -> tuple[int, int]:
        """Return how many searches and pages the assistant has left in this hour."""
        if self._web is None:
            return self.config.searches_per_hour, self.config.pages_per_hour
        return self._web.left(assistant)

    async def settings_changed(self) -> None:
        """Read the keys again, and ask every provider again, including those that refused their key."""
        if self._web is not None:
            await self._web.settings_changed()

    def status(self) -> str:
        """Return what went wrong lately with the web, in lines for the owner; empty when nothing did."""
        return self._web.status() if self._web else ""

    async def end_former(self) -> None:
        """End the threads and processes of the webs of former settings. Call it when no run uses them any more."""
        former, self._former = self._former, []
        for web in former:
            await web.stop()

    async def stop(self) -> None:
        """End all threads and processes that the web needs."""
        await self.end_former()
        if self._http is not None:
            self._http.close()
        if self._web is not None:
            await self._web.stop()

    async def _make(self, config: WebConfig, bound: BoundKeys) -> Web | None:
        """Return the web of these settings, None when they use none. Raises SettingsError and KeyReferenceError."""
        if not config.search_provider:
            return None
        from mud_assistant.assistant.web.web import Web, WebProviders  # noqa: PLC0415  (`load_web` loaded it at the start)

        async def key_of(name: str) -> str:
            provider = config.providers.get(name, WebProviderConfig())
            bound.check_binding(binding_of_provider(name, provider, self._keys.folder))
            return await resolve_key(provider.key, self._keys)

        async def reread(name: str) -> str:
            try:
                return await key_of(name)
            except KeyReferenceError:
                return ""

        keys = {name: await key_of(name) for name in config.providers}
        providers = WebProviders(config, keys, self._reactor, self._exchange, wall=self._wall)
        try:
            return Web(config, providers, self._reactor, self._random, reread)
        except SettingsError:
            await providers.stop()
            raise
