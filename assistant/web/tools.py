"""The two web tools of an assistant, and the URL policy they obey, as the settings describe them."""

from __future__ import annotations

from collections.abc import Callable

from mud_assistant.assistant.config.sections import WebConfig
from mud_assistant.tools import Tool
from mud_assistant.tools.web.fetch.url import UrlOrigin, UrlPolicy
from mud_assistant.tools.web.source.answers import Hits, WebPage
from mud_assistant.tools.web.source.protocol import SearchQuery, WebSource
from mud_assistant.tools.web.tools import PAGE_TIMEOUT_SECONDS, SEARCH_TIMEOUT_SECONDS, open_page_tool, web_search_tool


def policy_of(config: WebConfig) -> UrlPolicy:
    """Return the policy for the addresses that the settings allow."""
    return UrlPolicy(
        ports=frozenset(config.ports),
        allow_domains=frozenset(config.allow_domains),
        block_domains=frozenset(config.block_domains),
        url_origin=UrlOrigin(config.url_origin),
        allow_private=frozenset(own for own in config.allow_private if not isinstance(own, str)),
        private_names=frozenset(own for own in config.allow_private if isinstance(own, str)),
    )


def web_tools(
    config: WebConfig,
    hits: WebSource[SearchQuery, Hits],
    pages: WebSource[str, WebPage],
    now: Callable[[], float],
    seconds: tuple[float, float] = (SEARCH_TIMEOUT_SECONDS, PAGE_TIMEOUT_SECONDS),
) -> tuple[Tool, Tool]:
    """Return the tools that search `hits` and open `pages`. `now` gives clock seconds.

    `seconds` are the longest times of a search and of a page.
    """
    searching, reading = seconds
    return (
        web_search_tool(hits, now, searching),
        open_page_tool(pages, policy_of(config), config.max_page_length, now, reading),
    )
