"""A fake SearXNG."""

from __future__ import annotations

from llm.messages import JSON
from llm.testing.serving import Answer
from tools.web.testing.service import ApiRequest, FakeService, Fault, Hit, answer, bearer, page

_RANGES = {None, "", "day", "week", "month", "year"}
PAGE = 10
FAILED_ENGINES: list[JSON] = [["duckduckgo", "Suspended: too many requests"], ["brave", "HTTP connection error"]]


class FakeSearxng(FakeService):
    """Answers `GET /search` in the current version's shape; one of its results has neither address nor title."""

    def good(self, asked: ApiRequest) -> Answer:
        """Return a page of results."""
        if asked.path == "/healthz":
            return Answer(200, {"Content-Type": "text/plain"}, (b"OK",))
        query, number = asked.query.get("q", ""), asked.query.get("pageno", "1")
        if asked.path != "/search":
            return page(404, "<h1>Page not found</h1>")
        if not query or not number.isdigit() or asked.query.get("time_range") not in _RANGES:
            return answer({"error": "Invalid parameters"}, 400)
        if asked.query.get("format") != "json":
            return page(200, "<html><body>results for people</body></html>")
        start = (int(number) - 1) * PAGE
        hits = [_entry(hit) for hit in self.hits(asked)[start : start + PAGE]]
        return _answer_to(query, [_KEY_VALUE, *hits] if hits else [])

    def own_faults(self) -> dict[str, Fault]:
        """Return what SearXNG answers when it is set up otherwise, or its engines fail."""
        return {
            "json-off": lambda _: page(403, "<!doctype html><title>403 Forbidden</title><h1>Forbidden</h1>"),
            "bad-request": lambda _: answer({"error": "No query"}, 400),
            "limiter": lambda _: page(429, "Too Many Requests"),
            "engines-failed": lambda asked: _answer_to(asked.query.get("q", ""), [], FAILED_ENGINES),
            "some-engines-failed": lambda asked: _answer_to(
                asked.query.get("q", ""), [_entry(hit) for hit in self.hits(asked)], FAILED_ENGINES
            ),
            "key-values-only": lambda asked: _answer_to(asked.query.get("q", ""), [_KEY_VALUE]),
        }

    def credential(self, asked: ApiRequest) -> str:
        """Return the bearer token that a proxy in front may want."""
        return bearer(asked)

    def unauthorized(self) -> Answer:
        """Return the 401 for a bad token."""
        return page(401, "<h1>Authorization Required</h1>")


_KEY_VALUE: dict[str, JSON] = {"url": None, "title": "", "kvmap": {"depth": "12 m"}, "template": "keyvalue.html"}


def _answer_to(query: str, results: list[JSON], failed: list[JSON] | None = None) -> Answer:
    return answer(
        {
            "query": query,
            "results": results,
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": ["village well"],
            "unresponsive_engines": failed or [],
        }
    )


def _entry(hit: Hit) -> dict[str, JSON]:
    return {
        "title": hit.title,
        "url": hit.url,
        "content": hit.snippet,
        "publishedDate": None,
        "engine": "loopback",
        "engines": ["loopback"],
        "positions": [1],
        "score": 1.0,
        "category": "general",
        "template": "default.html",
    }
