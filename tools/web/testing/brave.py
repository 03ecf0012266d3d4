"""A fake Brave Search."""

from __future__ import annotations

from collections.abc import Mapping

from llm.messages import JSON
from llm.testing.serving import Answer
from tools.web.testing.service import ApiRequest, FakeService, Fault, Hit, answer, bearer, number_in

_FRESHNESS = {"pd", "pw", "pm", "py"}
#: Each value holds two windows: the current second's and the month's.
RATE_HEADERS = {
    "X-RateLimit-Limit": "1, 15000",
    "X-RateLimit-Policy": "1;w=1, 15000;w=2592000",
    "X-RateLimit-Remaining": "1, 14523",
    "X-RateLimit-Reset": "1, 1209600",
}
MONTH_SECONDS = 1_209_600


class FakeBrave(FakeService):
    """Answers `GET /web/search`. `rate` overrides rate headers of good answers."""

    rate: Mapping[str, str] = {}

    def good(self, asked: ApiRequest) -> Answer:
        """Return results in `web.results`, their descriptions with markup. Without results there is no `web` at all."""
        count = number_in(asked.query.get("count"), 1, 20, 20)
        fresh = asked.query.get("freshness")
        if not asked.path.endswith("/web/search"):
            return _error(404, "NOT_FOUND", "Not found")
        if not asked.query.get("q") or count is None or (fresh is not None and fresh not in _FRESHNESS):
            return _error(422, "VALIDATION", "Unable to validate request parameter(s)")
        hits = [_entry(hit) for hit in self.hits(asked)[:count]]
        record: dict[str, JSON] = {"type": "search", "query": {"original": asked.query["q"]}}
        if hits:
            record["web"] = {"type": "search", "results": [*hits], "family_friendly": True}
        return answer(record, headers={**RATE_HEADERS, **self.rate})

    def own_faults(self) -> dict[str, Fault]:
        """Return Brave's errors."""
        spent = {**RATE_HEADERS, "X-RateLimit-Remaining": "0, 14523"}
        month = {**RATE_HEADERS, "X-RateLimit-Remaining": "1, 0"}
        return {
            "bad-request": lambda _: _error(422, "VALIDATION", "Unable to validate request parameter(s)"),
            "auth": lambda _: self.unauthorized(),
            "forbidden": lambda _: _error(403, "RESOURCE_NOT_ALLOWED", "Your plan does not have this resource"),
            "rate-limit": lambda _: _error(429, "RATE_LIMITED", "Request rate limit exceeded for plan", spent),
            "month-used-up": lambda _: _error(429, "QUOTA_LIMITED", "Request quota exceeded for plan", month),
        }

    def credential(self, asked: ApiRequest) -> str:
        """Return the subscription token."""
        return asked.headers.get("x-subscription-token", bearer(asked))

    def unauthorized(self) -> Answer:
        """Return the 401 for a bad token."""
        return _error(401, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid.")


def _entry(hit: Hit) -> dict[str, JSON]:
    return {
        "type": "search_result",
        "title": hit.title,
        "url": hit.url,
        "description": f"<strong>{hit.snippet}</strong> &amp; more",
        "age": "3 days ago",
        "page_age": "2026-11-18T09:00:00",
        "extra_snippets": None,
    }


def _error(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> Answer:
    error: dict[str, JSON] = {"id": "8f3a", "status": status, "code": code, "detail": detail, "meta": {}}
    return answer({"type": "ErrorResponse", "error": error, "time": 1_795_000_000}, status, headers)
