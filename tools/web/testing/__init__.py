"""Fake web services for tests, benches and people: `python -m mud_assistant.tools.web.testing --help` serves one.

A fake speaks its service's protocol over real HTTP, finds what it is told to, and records its requests. It can fail
in every way the service was seen or documented to fail.
"""

from __future__ import annotations

from mud_assistant.resilience.testing.fault_server import serve, serving
from mud_assistant.tools.web.testing.proxy import FakeProxy, SearchPages
from mud_assistant.tools.web.testing.search_engines import FakeBrave, FakePerplexity, FakeSearxng
from mud_assistant.tools.web.testing.service import FACTS, HITS, FakeService, Hit, known
from mud_assistant.tools.web.testing.site import FakeSite
from mud_assistant.tools.web.testing.tavily import FakeTavily

__all__ = [
    "FACTS",
    "HITS",
    "SERVICES",
    "FakeBrave",
    "FakePerplexity",
    "FakeProxy",
    "FakeSearxng",
    "FakeService",
    "FakeSite",
    "FakeTavily",
    "Hit",
    "SearchPages",
    "known",
    "serve",
    "serving",
]

#: The services that `python -m mud_assistant.tools.web.testing` can serve, beside the proxy.
SERVICES: dict[str, type[FakeService]] = {
    "brave": FakeBrave,
    "perplexity": FakePerplexity,
    "searxng": FakeSearxng,
    "tavily": FakeTavily,
}
