"""The fakes of the services that only search: Brave Search, Perplexity Search and SearXNG."""

from __future__ import annotations

from collections.abc import Mapping

from mud_assistant.llm.messages import JSON
from mud_assistant.resilience.testing.fake import Response, ServedRequest, json_response
from mud_assistant.tools.web.testing.service import FakeService, Fault, Hit, matching, number_in, page

#: Each value holds two windows: the current second's and the month's.
RATE_HEADERS = {
    "X-RateLimit-Limit": "1, 15000",
    "X-RateLimit-Policy": "1;w=1, 15000;w=2592000",
    "X-RateLimit-Remaining": "1, 14523",
    "X-RateLimit-Reset": "1, 1209600",
}
_FRESHNESS = {"pd", "pw", "pm", "py"}


class FakeBrave(FakeService):
    """Answers `GET /web/search`. `rate` overrides rate headers of good answers."""

    rate: Mapping[str, str] = {}

    def answer(self, asked: ServedRequest) -> Response:
        """Return results in `web.results`, their descriptions with markup. Without results there is no `web` at all."""
        count = number_in(asked.query.get("count"), 1, 20, 20)
        fresh = asked.query.get("freshness")
        if not asked.path.endswith("/web/search"):
            return _brave_error(404, "NOT_FOUND", "Not found")
        if not asked.query.get("q") or count is None or (fresh is not None and fresh not in _FRESHNESS):
            return _brave_error(422, "VALIDATION", "Unable to validate request parameter(s)")
        hits = [_brave_entry(hit) for hit in self.hits(asked)[:count]]
        record: dict[str, JSON] = {"type": "search", "query": {"original": asked.query["q"]}}
        if hits:
            record["web"] = {"type": "search", "results": [*hits], "family_friendly": True}
        return json_response(record, headers={**RATE_HEADERS, **self.rate})

    def own_faults(self) -> dict[str, Fault]:
        """Return Brave's errors."""
        spent = {**RATE_HEADERS, "X-RateLimit-Remaining": "0, 14523"}
        month = {**RATE_HEADERS, "X-RateLimit-Remaining": "1, 0"}
        return {
            "bad-request": lambda _: _brave_error(422, "VALIDATION", "Unable to validate request parameter(s)"),
            "auth": lambda _: self.unauthorized(),
            "forbidden": lambda _: _brave_error(403, "RESOURCE_NOT_ALLOWED", "Your plan does not have this resource"),
            "rate-limit": lambda _: _brave_error(429, "RATE_LIMITED", "Request rate limit exceeded for plan", spent),
            "month-used-up": lambda _: _brave_error(429, "QUOTA_LIMITED", "Request quota exceeded for plan", month),
        }

    def credential(self, asked: ServedRequest) -> str:
        """Return the subscription token."""
        return asked.headers.get("x-subscription-token", asked.bearer)

    def unauthorized(self) -> Response:
        """Return the 401 for a bad token."""
        return _brave_error(401, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid.")


def _brave_entry(hit: Hit) -> dict[str, JSON]:
    return {
        "type": "search_result",
        "title": hit.title,
        "url": hit.url,
        "description": f"<strong>{hit.snippet}</strong> &amp; more",
        "age": "3 days ago",
        "page_age": "2026-11-18T09:00:00",
        "extra_snippets": None,
    }


def _brave_error(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    error: dict[str, JSON] = {"id": "8f3a", "status": status, "code": code, "detail": detail, "meta": {}}
    return json_response({"type": "ErrorResponse", "error": error, "time": 1_795_000_000}, status, headers)


_RECENCY = {None, "hour", "day", "week", "month", "year"}
_MAX_DOMAINS = 20


class FakePerplexity(FakeService):
    """Answers `POST /search`."""

    def answer(self, asked: ServedRequest) -> Response:
        """Return results with dates."""
        record = asked.body
        if asked.path != "/search" or asked.method != "POST":
            return _perplexity_error(404, "Not found")
        domains = record.get("search_domain_filter", [])
        count = number_in(record.get("max_results"), 1, 20, 10)
        if not record.get("query") or count is None or record.get("search_recency_filter") not in _RECENCY:
            return _perplexity_error(400, "Invalid request body")
        if not isinstance(domains, list) or len(domains) > _MAX_DOMAINS:
            return _perplexity_error(400, "search_domain_filter must have at most 20 domains")
        hits: list[JSON] = [
            {"title": hit.title, "url": hit.url, "snippet": hit.snippet, "date": "2026-11-18", "last_updated": None}
            for hit in matching(self.hits(asked), domains)[:count]
        ]
        return json_response({"id": "e1b0", "results": hits, "server_time": None})

    def own_faults(self) -> dict[str, Fault]:
        """Return Perplexity's errors."""
        return {
            "bad-request": lambda _: _perplexity_error(400, "Invalid request body"),
            "auth": lambda _: self.unauthorized(),
            "forbidden": lambda _: _perplexity_error(403, "Access denied"),
            "invalid": lambda _: json_response(
                {"detail": [{"loc": ["body", "max_results"], "msg": "must be below 21", "type": "value_error"}]}, 422
            ),
            "rate-limit": lambda _: _perplexity_error(429, "Rate limit exceeded", {"Retry-After": "2"}),
        }

    def unauthorized(self) -> Response:
        """Return the 401 for a bad key."""
        return _perplexity_error(401, "Invalid API key provided")


def _perplexity_error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return json_response({"error": {"message": message, "type": "error", "code": status}}, status, headers)


PAGE = 10
FAILED_ENGINES: list[JSON] = [["duckduckgo", "Suspended: too many requests"], ["brave", "HTTP connection error"]]
_SEARXNG_RANGES = {None, "", "day", "week", "month", "year"}
_KEY_VALUE: dict[str, JSON] = {"url": None, "title": "", "kvmap": {"depth": "12 m"}, "template": "keyvalue.html"}


class FakeSearxng(FakeService):
    """Answers `GET /search` in the current version's shape; one of its results has neither address nor title."""

    def answer(self, asked: ServedRequest) -> Response:
        """Return a page of results."""
        if asked.path == "/healthz":
            return Response(200, {"Content-Type": "text/plain"}, (b"OK",))
        query, number = asked.query.get("q", ""), asked.query.get("pageno", "1")
        if asked.path != "/search":
            return page(404, "<h1>Page not found</h1>")
        if not query or not number.isdigit() or asked.query.get("time_range") not in _SEARXNG_RANGES:
            return json_response({"error": "Invalid parameters"}, 400)
        if asked.query.get("format") != "json":
            return page(200, "<html><body>results for people</body></html>")
        start = (int(number) - 1) * PAGE
        hits = [_searxng_entry(hit) for hit in self.hits(asked)[start : start + PAGE]]
        return _searxng_answer(query, [_KEY_VALUE, *hits] if hits else [])

    def own_faults(self) -> dict[str, Fault]:
        """Return what SearXNG answers when it is set up otherwise, or its engines fail."""
        return {
            "json-off": lambda _: page(403, "<!doctype html><title>403 Forbidden</title><h1>Forbidden</h1>"),
            "bad-request": lambda _: json_response({"error": "No query"}, 400),
            "limiter": lambda _: page(429, "Too Many Requests"),
            "engines-failed": lambda asked: _searxng_answer(asked.query.get("q", ""), [], FAILED_ENGINES),
            "some-engines-failed": lambda asked: _searxng_answer(
                asked.query.get("q", ""), [_searxng_entry(hit) for hit in self.hits(asked)], FAILED_ENGINES
            ),
            "key-values-only": lambda asked: _searxng_answer(asked.query.get("q", ""), [_KEY_VALUE]),
        }

    def unauthorized(self) -> Response:
        """Return the 401 for a bad token."""
        return page(401, "<h1>Authorization Required</h1>")


def _searxng_answer(query: str, results: list[JSON], failed: list[JSON] | None = None) -> Response:
    return json_response(
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


def _searxng_entry(hit: Hit) -> dict[str, JSON]:
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
