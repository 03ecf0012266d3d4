"""A fake Tavily: search and extract, with a key or without one."""

from __future__ import annotations

from collections.abc import Mapping

from mud_assistant.llm.messages import JSON
from mud_assistant.resilience.testing.fake import Response, ServedRequest, json_response
from mud_assistant.tools.web.testing.service import FakeService, Fault, matching, number_in

_RANGES = {None, "day", "week", "month", "year", "d", "w", "m", "y"}
_DEPTHS = {None, "basic", "advanced", "fast", "ultra-fast"}


class FakeTavily(FakeService):
    """Answers `POST /search` and `POST /extract`. `pages` maps each URL to the Markdown that extract gives for it."""

    pages: Mapping[str, str] = {}

    def answer(self, asked: ServedRequest) -> Response:
        """Return results, or pages."""
        routes = {"/search": self._search, "/extract": self._extract}
        if asked.method != "POST" or asked.path not in routes:
            return error(404, "Not Found")
        if not asked.bearer and asked.headers.get("x-tavily-access-mode") != "keyless":
            return self.unauthorized()
        return routes[asked.path](asked)

    def own_faults(self) -> dict[str, Fault]:
        """Return Tavily's errors; those without a key have a shape of their own."""
        return {
            "bad-request": lambda _: error(400, "Query is too long. Max query length is 400 characters."),
            "auth": lambda _: self.unauthorized(),
            "forbidden": lambda _: error(403, "This URL is not supported."),
            "rate-limit": lambda _: error(429, "Your request has been blocked due to excessive requests.", retry=7),
            "plan-used-up": lambda _: error(432, "This request exceeds your plan's set usage limit."),
            "pay-as-you-go-used-up": lambda _: error(433, "This request exceeds the pay-as-you-go limit."),
            "keyless-minute": lambda _: _keyless("minute", 42),
            "keyless-month": lambda _: _keyless("month", 864_000),
        }

    def unauthorized(self) -> Response:
        """Return the 401 for a bad key."""
        return error(401, "Unauthorized: missing or invalid API key.")

    def _search(self, asked: ServedRequest) -> Response:
        record = asked.body
        count = number_in(record.get("max_results"), 0, 20, 5)
        if not record.get("query") or count is None:
            return error(400, "Invalid request")
        if record.get("time_range") not in _RANGES or record.get("search_depth") not in _DEPTHS:
            return error(400, "Invalid time_range or search_depth")
        hits: list[JSON] = [
            {"title": hit.title, "url": hit.url, "content": hit.snippet, "score": 0.9, "raw_content": None}
            for hit in matching(self.hits(asked), record.get("include_domains"))[:count]
        ]
        found: dict[str, JSON] = {
            "query": record["query"],
            "answer": None,
            "images": [],
            "results": hits,
            "response_time": 0.6,
            "request_id": "5d1c",
        }
        return json_response(found | _usage(asked, 2 if record.get("search_depth") == "advanced" else 1))

    def _extract(self, asked: ServedRequest) -> Response:
        """Return the pages in reverse order: callers must match them by address."""
        wanted = asked.body.get("urls")
        listed = wanted if isinstance(wanted, list) else [wanted]
        urls = [url for url in listed if isinstance(url, str)]
        results: list[JSON] = [
            {"url": url, "raw_content": self.pages[url], "images": []} for url in reversed(urls) if url in self.pages
        ]
        failed: list[JSON] = [{"url": url, "error": "Failed to fetch url"} for url in urls if url not in self.pages]
        found: dict[str, JSON] = {"results": results, "failed_results": failed, "response_time": 1.2}
        return json_response(found | _usage(asked, 1))


def error(status: int, message: str, retry: int | None = None) -> Response:
    """Return an error in the shape that Tavily uses for callers with a key."""
    headers = {} if retry is None else {"Retry-After": str(retry)}
    return json_response({"detail": {"error": message}}, status, headers)


def _keyless(window: str, seconds: int) -> Response:
    told: dict[str, JSON] = {
        "code": "keyless_limit_reached",
        "message": f"The keyless limit of this {window} is reached.",
        "window": window,
        "retry_after_seconds": seconds,
        "next_actions": ["get an API key"],
    }
    return json_response({"error": told}, 429)


def _usage(asked: ServedRequest, credits_spent: int) -> dict[str, JSON]:
    return {"usage": {"credits": credits_spent}} if asked.body.get("include_usage") else {}
