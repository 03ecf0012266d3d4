"""Checks the web providers of the settings, made with their keys: each with one harmless query or one page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct
from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.checks.check_runner import CheckRunner
from mud_assistant.assistant.checks.finding import FindingState, Problem
from mud_assistant.assistant.config.sections import WebConfig, WebProviderConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.reference import KEY_SECONDS, KeySources, resolve_key
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.source.protocol import ReadProvider, SearchProvider, SearchQuery

if TYPE_CHECKING:
    from mud_assistant.assistant.web.web import WebProviders

#: The query of the check: every index has an answer to it.
QUERY = SearchQuery("Wikipedia encyclopedia", limit=3)
#: The page that is read when the owner names none; it exists for such use.
PAGE = "https://example.com/"
#: The longest time for a search and for a page, in seconds: providers give up earlier by themselves.
SEARCH_SECONDS = 30.0
PAGE_SECONDS = 60.0
#: A message with one of these in it names its remedy already.
_SAY_IT_THEMSELVES = ("pip install", "settings.yml")
_NOT_SET = 'the web is not set up: set web.search_provider, for example to ["duckduckgo"], or run mud-assistant setup'
#: Makes the providers of these settings. The keys are given by provider name.
MakeProviders = Callable[[WebConfig, Mapping[str, str]], "WebProviders"]


class WebChecks(Struct, frozen=True):
    """The checks of all providers of [web]. Each is checked on its own, because a fallback must work too."""

    config: WebConfig
    keys: KeySources
    runner: CheckRunner
    page: str
    make: MakeProviders

    async def run(self) -> None:
        """Run the checks."""
        config = self.config
        if not config.search_provider:
            self.runner.note("web", FindingState.WRONG, _NOT_SET)
            return
        keys: dict[str, str] = {}
        for name in dict.fromkeys((*config.search_provider, *config.read_provider)):
            if (key := await self._key(name)) is not None:
                keys[name] = key
        providers = self.make(config, keys)
        try:
            await self._each(providers, keys)
        finally:
            await providers.stop()

    async def _each(self, providers: WebProviders, keys: Collection[str]) -> None:
        """Check each provider whose key could be resolved."""
        check = self.runner.check
        for name in self.config.search_provider:
            if name in keys:
                await check(f"search {name}", SEARCH_SECONDS, partial(self._search, providers, name))
        for name in self.config.read_provider:
            if name in keys:
                await check(f"read {name}", PAGE_SECONDS, partial(self._read, providers, name))

    async def _key(self, name: str) -> str | None:
        """Return the provider's key: empty when none is set, None when it cannot be resolved."""
        config = self.config.providers.get(name, WebProviderConfig())
        key = ""

        async def reference() -> str:
            nonlocal key
            try:
                key = await resolve_key(config.key, self.keys)
            except KeyReferenceError as error:
                raise Problem(f"{error} (web.providers.{name}.key)") from error
            return f"{config.key} leads to one"

        if config.key and not await self.runner.check(f"key {name}", KEY_SECONDS, reference):
            return None
        return key

    async def _search(self, providers: WebProviders, name: str) -> str:
        try:
            provider = providers.search(name)
        except ValueError as error:
            raise Problem(f"{error}: see web.providers.{name}") from error
        return await searches(provider, self.runner.clock)

    async def _read(self, providers: WebProviders, name: str) -> str:
        try:
            provider = providers.read(name)
        except ValueError as error:
            raise Problem(f"{error}: see web.providers.{name}") from error
        return await reads(provider, self.page, self.runner.clock)


async def searches(provider: SearchProvider, clock: IReactorTime) -> str:
    """Check that the provider finds something. Raises Problem."""
    try:
        found = await provider.search(QUERY)
    except WebError as error:
        raise Problem(explain(error, provider.name, clock.seconds())) from error
    if not found:
        raise Problem(
            f"{provider.name} answers, and finds nothing for '{QUERY.text}': it is blocked, or its engines are: "
            "try it in a browser, or put another provider before it"
        )
    return f"{provider.name} answers: {len(found)} results for '{QUERY.text}'"


async def reads(provider: ReadProvider, page: str, clock: IReactorTime) -> str:
    """Check that the provider reads the page. Raises Problem."""
    try:
        read = await provider.read_url(page)
    except WebError as error:
        raise Problem(explain(error, provider.name, clock.seconds())) from error
    if not read.content.strip():
        raise Problem(f"{provider.name} reads {page} and finds no text in it: try another with --page URL")
    return f"{provider.name} reads {page}: {read.content_length} characters"


def explain(error: WebError, name: str, now: float) -> str:
    """Say in one sentence what went wrong and what to do. `now` is on the clock of `retry_at`, in seconds."""
    message = error.message.strip().rstrip(".")
    if any(said in message for said in _SAY_IT_THEMSELVES):
        return message
    return f"{message}; {_remedy(error, name, now)}"


def _remedy(error: WebError, name: str, now: float) -> str:
    """Return what the owner can do about the error."""
    key, address = f"web.providers.{name}.key", f"web.providers.{name}.url"
    match error.kind:
        case ErrorKind.AUTH:
            return f"see {key}: it must lead to a key of this provider that is still valid"
        case ErrorKind.QUOTA:
            return f"{_when(error, now)}buy more there, or put another provider before it"
        case ErrorKind.RATE_LIMITED:
            return f"{_when(error, now)}ask less often: lower web.providers.{name}.per_minute"
        case ErrorKind.POLICY:
            return "the settings of [web] do not allow this page: try another with --page URL"
        case ErrorKind.BAD_REQUEST:
            return f"see {address}, and whether this version of the provider is still served"
        case ErrorKind.TIMEOUT | ErrorKind.NETWORK:
            return f"see the network of this machine, its firewall and its proxy, and {address} where it is set"
        case ErrorKind.SERVER:
            return "it is the provider's own trouble: try again later, or put another provider before it"
        case ErrorKind.PARSE:
            return f"see {address}: what answers there may be something else"
        case ErrorKind.BLOCKED_OR_EMPTY:
            return "the provider may block this machine: try again later, or put another provider before it"
        case _:
            assert_never(error.kind)


def _when(error: WebError, now: float) -> str:
    """Say when the provider may be asked again, as the beginning of a remedy; empty when it is not known."""
    if error.retry_at is None:
        return ""
    seconds = max(1, round(error.retry_at - now))
    return f"wait {seconds} s, or " if seconds < 120 else f"wait {-(-seconds // 60)} minutes, or "  # noqa: PLR2004
