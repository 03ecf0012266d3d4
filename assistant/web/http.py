"""The HTTP clients of all assistants' tools (`context.http`), under the owner's settings of the web."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from treq.client import HTTPClient

from mud_assistant.assistant.config.sections import WebConfig
from mud_assistant.assistant.web.tools import policy_of
from mud_assistant.tools.web.fetch.judge import ThreadedResolver
from mud_assistant.tools.web.fetch.url import UrlOrigin
from mud_assistant.tools.web.http import ToolHttp


class HttpOfTools:
    """Makes HTTP clients for tools. Each assistant has places of its own; the threads for names are shared."""

    def __init__(self, reactor: Any) -> None:  # Any: no one interface has TCP, time and threads
        self._reactor = reactor
        self._resolver = ThreadedResolver(reactor)
        self._made: dict[str, tuple[WebConfig, ToolHttp]] = {}

    def client(self, assistant: str, config: WebConfig) -> HTTPClient:
        """Return a new client for a tool of this assistant."""
        made = self._made.get(assistant)
        if made is None or made[0] is not config:
            # A tool's author chooses what it asks for, not the model: the URL need not have been shown.
            policy = replace(policy_of(config), url_origin=UrlOrigin.ANY)
            made = self._made[assistant] = config, ToolHttp(self._reactor, self._resolver, policy)
        return made[1].client()

    def close(self) -> None:
        """End the threads that look names up."""
        self._resolver.close()
