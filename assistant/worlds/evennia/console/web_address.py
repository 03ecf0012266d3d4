"""Says where the operator's page of this game is, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings

from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.worlds.evennia import server

#: The path of the page on the game's web site.
PREFIX = "/assistants"
_STANDALONE = "mud-assistant serve --journal {journal} --read-only"
_HTTP = 80


def is_page_on() -> bool:
    """Tell whether the settings want the page."""
    return not server.is_open() or server.service().config.settings.page.enabled


def page_hosts() -> tuple[str, ...]:
    """Return the names under which the owner's settings let the page be opened, besides those of the game."""
    return tuple(server.service().config.settings.page.hosts) if server.is_open() else ()


def page_address() -> str:
    """Return the address of the page on this machine or under the game's own name; empty when there is none."""
    if why_no_page():
        return ""
    port = settings.WEBSERVER_PORTS[0][0]
    return f"http://{settings.SERVER_HOSTNAME}{'' if port == _HTTP else f':{port}'}{PREFIX}"


def why_no_page() -> str:
    """Say why the game has no page; empty when it has one."""
    if not is_page_on():
        return "it is switched off: [page] enabled = false in assistant.toml"
    if not settings.WEBSERVER_ENABLED:
        journal = server.service().config.journal_place if server.is_open() else "FILE"
        instead = _STANDALONE.format(journal=journal)
        return f"the game has no web server (WEBSERVER_ENABLED = False). To read the journal all the same: {instead}"
    if not server.is_open():
        return "the service of the assistants is not running"
    return ""


def page_findings() -> Iterable[Finding]:
    """Report where the page is, and which names it can be opened under."""
    address = page_address()
    if not address:
        yield Finding("page", FindingState.SKIPPED, why_no_page())
        return
    said = f"{address}, for Admins who are logged in to the game's web site"
    named = {name for name in (*settings.ALLOWED_HOSTS, *page_hosts()) if name != "*"}
    if settings.SERVER_HOSTNAME == "localhost" and not named:
        said += (
            "; it is opened under localhost or an address in numbers only. For a name of your own, put it into "
            "SERVER_HOSTNAME or ALLOWED_HOSTS of the game's settings"
        )
    yield Finding("page", FindingState.OK, said)
