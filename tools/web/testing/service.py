"""The base of the fake services: hits, and the ways to fail."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

import orjson
from msgspec import Struct
from twisted.internet.interfaces import IReactorTime

from mud_assistant.resilience.testing.fake import SILENCE, Answered, Fake, Response, ServedRequest, json_response
from mud_assistant.resilience.testing.faults import Ending
from mud_assistant.tools.web.fetch.hosts import is_within

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


def known(asked: ServedRequest) -> Sequence[Hit]:
    """Return the facts that share most words with the query, best first; `HITS`, seven pages, when none does."""
    query = asked.query.get("q") or str(asked.body.get("query") or "")
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


Fault = Callable[[ServedRequest], Answered]


class FakeService(Fake[ServedRequest]):
    """A service that answers with `hits` (or what a function of the request finds) in the shape of the real one.

    `fail` makes it fail in one of the ways of `faults`.
    """

    request_type = ServedRequest

    def __init__(
        self,
        clock: IReactorTime,
        hits: Sequence[Hit] | Callable[[ServedRequest], Sequence[Hit]] = HITS,
        key: str | None = None,
    ) -> None:
        super().__init__(clock, key)
        self._hits = hits
        self._fault: Fault | None = None
        self._times = 0

    def fail(self, name: str, times: int = 1_000_000) -> None:
        """Fail the next `times` requests in the way of this name."""
        self._fault, self._times = self.faults()[name], times

    def fail_with(self, answer: Response, times: int = 1_000_000) -> None:
        """Give this answer to the next `times` requests."""
        self._fault, self._times = (lambda _: answer), times

    def hits(self, asked: ServedRequest) -> Sequence[Hit]:
        """Return the hits for a request."""
        return self._hits(asked) if callable(self._hits) else self._hits

    def failure(self, request: ServedRequest) -> Answered | None:
        """Return the answer of a service that fails. It looks at no key."""
        if self._fault is None or self._times <= 0:
            return None
        self._times -= 1
        return self._fault(request)

    @classmethod
    def usual_faults(cls) -> dict[str, Fault]:
        """Return the faults that any server on the web may have."""
        return {
            "garbage": lambda _: page(200, "<html><body><h1>It works!</h1></body></html>"),
            "hang": lambda _: SILENCE,
            "hang-body": lambda _: Response(200, {"Content-Type": "application/json"}, (b'{"res',), Ending.HANG),
            "die": lambda _: Response(200, {"Content-Type": "application/json"}, (b'{"res',), Ending.RESET),
            "huge": lambda _: Response(200, {"Content-Type": "application/json"}, (b'{"a":"' + b"a" * HUGE_BYTES,)),
            "huge-error": lambda _: Response(500, {"Content-Type": HTML}, (b"<p>oops</p>" + b" " * HUGE_BYTES,)),
            "redirect": lambda _: Response(302, {"Location": "http://127.0.0.1:9/elsewhere"}),
            "server-error": lambda _: page(500, "<html><title>500</title><h1>Internal Server Error</h1></html>"),
            "unavailable": lambda _: page(503, "upstream connect error", {"Retry-After": "30"}),
            "wrong-types": lambda _: json_response({"results": {"title": 1}, "web": [], "query": None}),
        }

    def faults(self) -> dict[str, Fault]:
        """Return the ways to fail, by name."""
        return {**self.usual_faults(), **self.own_faults()}

    @abstractmethod
    def own_faults(self) -> dict[str, Fault]:
        """Return the errors this service has, in its own shape."""


def page(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a page of HTML as the whole response."""
    return Response(status, {"Content-Type": HTML, **(headers or {})}, (text.encode(),))


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
