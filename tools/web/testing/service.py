"""The base of the fake services: recording, hits, and the ways to fail."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson
from msgspec import Struct
from twisted.internet.interfaces import IReactorTime
from twisted.web.http import Request
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from llm.messages import JSON, JSONObject
from llm.testing.serving import Answer, Ending, Playing
from tools.web.fetch.hosts import is_within

HTML = "text/html; charset=utf-8"
#: More bytes than any of our providers reads.
HUGE_BYTES = 1_500_000


class Hit(Struct, frozen=True):
    """A page that the fake finds."""

    title: str
    url: str
    snippet: str = ""


HITS = tuple(
    Hit(f"The well, part {number}", f"https://wells.example.org/{number}", f"Where the well lies, part {number}.")
    for number in range(1, 8)
)
#: The facts that fakes find when they serve people. None is true, so an answer that has one was searched for.
FACTS = (
    Hit(
        "Meriden Lighthouse",
        "https://lighthouses.example.org/meriden",
        "The Meriden Lighthouse is 61 metres tall. It was built in 1847 by the engineer Ada Thornby.",
    ),
    Hit(
        "Population of Tarn Abbey",
        "https://towns.example.org/tarn-abbey",
        "The town of Tarn Abbey has 4,310 inhabitants. Its mayor is Odo Fennimore.",
    ),
    Hit(
        "Who invented the steam whisk?",
        "https://inventions.example.org/steam-whisk",
        "The steam whisk was invented by Josephine Barlow in 1892.",
    ),
    Hit(
        "Kingdom of Velmora",
        "https://countries.example.org/velmora",
        "The capital of Velmora is Quillhaven, and its currency is the florrin.",
    ),
    Hit(
        "Mount Harrow",
        "https://mountains.example.org/harrow",
        "Mount Harrow rises 3,284 metres and was first climbed in 1911 by Lise Okonkwo.",
    ),
    Hit(
        "The Glass Orchard (novel)",
        "https://books.example.org/glass-orchard",
        "The Glass Orchard is a novel of 1956, written by Maren Tolliver.",
    ),
)
_WORD = re.compile(r"[a-z0-9]{4,}")
#: Words of questions, which say nothing about a fact.
_ASKING = frozenset(
    ("what", "when", "where", "which", "whose", "many", "much", "does", "have", "that", "there", "with")
)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request as it came: header names in lower case, the first value of each query parameter, the JSON body."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    record: JSONObject
    raw: bytes = field(repr=False)


def known(asked: ApiRequest) -> Sequence[Hit]:
    """Return the facts that share most words with the query, best first; `HITS`, seven pages, when none does."""
    query = asked.query.get("q") or str(asked.record.get("query") or "")
    words = set(_WORD.findall(query.lower())) - _ASKING
    shared = {hit: len(words & set(_WORD.findall(f"{hit.title} {hit.snippet}".lower()))) for hit in FACTS}
    return sorted((hit for hit in FACTS if shared[hit]), key=lambda hit: -shared[hit]) or HITS


def hits_of(text: str) -> Sequence[Hit]:
    """Return the hits of a JSON list of records with title, url and snippet. Raises ValueError."""
    records = orjson.loads(text)
    try:
        return [Hit(str(one["title"]), str(one["url"]), str(one.get("snippet", ""))) for one in records]
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("it must be a list of records with title, url and snippet") from error


Fault = Callable[[ApiRequest], Answer]


class FakeService(Resource, ABC):
    """A service that answers with `hits` (or what a function of the request finds) in the shape of the real one.

    `asked` are all requests; `abandoned` are those whose client left before the answer was complete. With a `key`,
    requests must carry it. `fail` makes it fail in one of the ways of `faults`.
    """

    isLeaf = True

    def __init__(
        self,
        clock: IReactorTime,
        hits: Sequence[Hit] | Callable[[ApiRequest], Sequence[Hit]] = HITS,
        key: str | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted 24.11 has no types here
        self.asked: list[ApiRequest] = []
        self.abandoned: list[ApiRequest] = []
        self._clock = clock
        self._hits = hits
        self._key = key
        self._fault: Fault | None = None
        self._times = 0

    def fail(self, name: str, times: int = 1_000_000) -> None:
        """Fail the next `times` requests in the way of this name."""
        self._fault, self._times = self.faults()[name], times

    def fail_with(self, answer: Answer, times: int = 1_000_000) -> None:
        """Give this answer to the next `times` requests."""
        self._fault, self._times = (lambda _: answer), times

    def hits(self, asked: ApiRequest) -> Sequence[Hit]:
        """Return the hits for a request."""
        return self._hits(asked) if callable(self._hits) else self._hits

    def render(self, request: Request) -> int:
        """Record the request and answer it."""
        asked = _read_request(request)
        self.asked.append(asked)
        Playing(self._clock, request, self._answer(asked), lambda: self.abandoned.append(asked)).start()
        return NOT_DONE_YET

    @classmethod
    def usual_faults(cls) -> dict[str, Fault]:
        """Return the faults that any server on the web may have."""
        return {
            "garbage": lambda _: page(200, "<html><body><h1>It works!</h1></body></html>"),
            "hang": lambda _: Answer(0, {}, mute=True),
            "hang-body": lambda _: Answer(200, {"Content-Type": "application/json"}, (b'{"res',), Ending.HANG),
            "die": lambda _: Answer(200, {"Content-Type": "application/json"}, (b'{"res',), Ending.ABORT),
            "huge": lambda _: Answer(200, {"Content-Type": "application/json"}, (b'{"a":"' + b"a" * HUGE_BYTES,)),
            "huge-error": lambda _: Answer(500, {"Content-Type": HTML}, (b"<p>oops</p>" + b" " * HUGE_BYTES,)),
            "redirect": lambda _: Answer(302, {"Location": "http://127.0.0.1:9/elsewhere"}),
            "server-error": lambda _: page(500, "<html><title>500</title><h1>Internal Server Error</h1></html>"),
            "unavailable": lambda _: page(503, "upstream connect error", {"Retry-After": "30"}),
            "wrong-types": lambda _: answer({"results": {"title": 1}, "web": [], "query": None}),
        }

    def faults(self) -> dict[str, Fault]:
        """Return the ways to fail, by name."""
        return {**self.usual_faults(), **self.own_faults()}

    @abstractmethod
    def own_faults(self) -> dict[str, Fault]:
        """Return the errors this service has, in its own shape."""

    @abstractmethod
    def good(self, asked: ApiRequest) -> Answer:
        """Return the answer when nothing is wrong."""

    @abstractmethod
    def credential(self, asked: ApiRequest) -> str:
        """Return the key that a request carries."""

    @abstractmethod
    def unauthorized(self) -> Answer:
        """Return the answer to a wrong or missing key."""

    def _answer(self, asked: ApiRequest) -> Answer:
        if self._fault is not None and self._times > 0:
            self._times -= 1
            return self._fault(asked)
        if self._key is not None and self.credential(asked) != self._key:
            return self.unauthorized()
        return self.good(asked)


def answer(record: JSON, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Return a JSON record as the whole response."""
    body = orjson.dumps(record)
    sizes = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    return Answer(status, {**sizes, **(headers or {})}, (body,))


def page(status: int, text: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Return a page of HTML as the whole response."""
    return Answer(status, {"Content-Type": HTML, **(headers or {})}, (text.encode(),))


def bearer(asked: ApiRequest) -> str:
    """Return the key of an Authorization header."""
    return asked.headers.get("authorization", "").removeprefix("Bearer ")


def matching(hits: Sequence[Hit], domains: object) -> list[Hit]:
    """Return the hits on these domains and their subdomains; all hits when there are no domains."""
    names = [name for name in domains if isinstance(name, str)] if isinstance(domains, list) else []
    return [hit for hit in hits if not names or is_within(hit.url.split("/")[2].lower(), names)]


def number_in(value: object, low: int, high: int, otherwise: int) -> int | None:
    """Return a whole number within bounds, `otherwise` for no value, None for a wrong one."""
    if value is None:
        return otherwise
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and low <= value <= high else None


def _read_request(request: Request) -> ApiRequest:
    raw = request.content.read() if request.content else b""
    headers = {
        name.decode("latin-1").lower(): ", ".join(value.decode("latin-1") for value in values)
        for name, values in request.requestHeaders.getAllRawHeaders()
    }
    arguments: dict[bytes, list[bytes]] = request.args or {}
    query = {
        name.decode("utf-8", "replace"): values[0].decode("utf-8", "replace") for name, values in arguments.items()
    }
    return ApiRequest(
        request.method.decode("latin-1"), request.path.decode("latin-1"), query, headers, _object(raw), raw
    )


def _object(raw: bytes) -> JSONObject:
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return record if isinstance(record, dict) else {}
