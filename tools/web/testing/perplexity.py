"""A fake Perplexity Search."""

from __future__ import annotations

from collections.abc import Mapping

from llm.messages import JSON
from llm.testing.serving import Answer
from tools.web.testing.service import ApiRequest, FakeService, Fault, answer, bearer, matching, number_in

_RECENCY = {None, "hour", "day", "week", "month", "year"}
_MAX_DOMAINS = 20


class FakePerplexity(FakeService):
    """Answers `POST /search`."""

    def good(self, asked: ApiRequest) -> Answer:
        """Return results with dates."""
        record = asked.record
        if asked.path != "/search" or asked.method != "POST":
            return _error(404, "Not found")
        domains = record.get("search_domain_filter", [])
        count = number_in(record.get("max_results"), 1, 20, 10)
        if not record.get("query") or count is None or record.get("search_recency_filter") not in _RECENCY:
            return _error(400, "Invalid request body")
        if not isinstance(domains, list) or len(domains) > _MAX_DOMAINS:
            return _error(400, "search_domain_filter must have at most 20 domains")
        hits: list[JSON] = [
            {"title": hit.title, "url": hit.url, "snippet": hit.snippet, "date": "2026-11-18", "last_updated": None}
            for hit in matching(self.hits(asked), domains)[:count]
        ]
        return answer({"id": "e1b0", "results": hits, "server_time": None})

    def own_faults(self) -> dict[str, Fault]:
        """Return Perplexity's errors."""
        return {
            "bad-request": lambda _: _error(400, "Invalid request body"),
            "auth": lambda _: self.unauthorized(),
            "forbidden": lambda _: _error(403, "Access denied"),
            "invalid": lambda _: answer(
                {"detail": [{"loc": ["body", "max_results"], "msg": "must be below 21", "type": "value_error"}]}, 422
            ),
            "rate-limit": lambda _: _error(429, "Rate limit exceeded", {"Retry-After": "2"}),
        }

    def credential(self, asked: ApiRequest) -> str:
        """Return the bearer token."""
        return bearer(asked)

    def unauthorized(self) -> Answer:
        """Return the 401 for a bad key."""
        return _error(401, "Invalid API key provided")


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    return answer({"error": {"message": message, "type": "error", "code": status}}, status, headers)
