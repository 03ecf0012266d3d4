"""Checks one search provider or page provider, with one harmless query or one page."""

from __future__ import annotations

from typing import assert_never

from twisted.internet.interfaces import IReactorTime

from assistant.checks.finding import Problem
from tools.web.errors import ErrorKind, WebError
from tools.web.source.protocol import ReadProvider, SearchProvider, SearchQuery

#: The query of the check: every index has an answer to it.
QUERY = SearchQuery("Wikipedia encyclopedia", limit=3)
#: The page that is read when the owner names none; it exists for such use.
PAGE = "https://example.com/"
#: A message with one of these in it names its remedy already.
_SAY_IT_THEMSELVES = ("pip install", "settings.yml")


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
