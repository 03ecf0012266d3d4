"""Worlds of memories and questions, read from a file and asked; see `benchmarks.recall`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter

from msgspec.structs import replace

from benchmarks.recall_worlds import Row, World, ids_of, text_of
from mud_assistant.assistant.memory.recall import RecallQuery, SqliteIndex, Vector
from mud_assistant.assistant.memory.recall.index import RecallIndex

FIRST, DEEP = 5, 50
SHARE_OF_P95 = 0.95
TIMES = ("keep_ms", "keep_p95_ms", "search_ms", "search_p95_ms")
_OWN_WORD = re.compile(r"[a-z]{5,}")
Embed = Callable[[Sequence[str]], list[Vector | None]]


@dataclass
class Watch:
    """Times of what was done, in milliseconds, by name."""

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        """Time what is done within."""
        begun = perf_counter()
        yield
        self.times[name].append(1000 * (perf_counter() - begun))

    def as_json(self) -> dict[str, float | None]:
        """Return the median and the 95th percentile of each, None for what was not done."""
        result: dict[str, float | None] = dict.fromkeys(TIMES)
        for name, times in self.times.items():
            result[f"{name}_ms"] = round(median(times), 3)
            result[f"{name}_p95_ms"] = round(sorted(times)[int(SHARE_OF_P95 * (len(times) - 1))], 3)
        return result


@dataclass
class Score:
    """What was found, over all worlds."""

    recalls: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    hits: list[bool] = field(default_factory=list)
    leaks: int = 0
    stale_first: list[bool] = field(default_factory=list)
    newer_first: list[bool] = field(default_factory=list)
    none_empty: list[bool] = field(default_factory=list)
    kept: int = 0
    lost: int = 0
    memories: int = 0
    watch: Watch = field(default_factory=Watch)

    def as_json(self) -> Row:
        """Return everything as one object."""
        every = [share for shares in self.recalls.values() for share in shares]
        return {
            "recall@5": mean(every),
            "hit@5": mean(self.hits),
            "leaks": self.leaks,
            "stale_first": mean(self.stale_first),
            "newer_first": mean(self.newer_first),
            "none_empty": mean(self.none_empty),
            "kept_after_forget": self.kept,
            "lost_after_forget": self.lost,
            "memories": self.memories,
            "questions": len(every) + len(self.none_empty),
            **self.watch.as_json(),
            "categories": {name: mean(shares) for name, shares in sorted(self.recalls.items())},
        }


def mean(values: Sequence[float]) -> float | None:
    """Return the mean of some values, None of none."""
    return round(sum(values) / len(values), 4) if values else None


def open_index(path: Path, language: str, url: str = "") -> RecallIndex:
    """Return an empty index: in the file of `path`, or in the schema of PostgreSQL that `url` names."""
    path.unlink(missing_ok=True)
    index: RecallIndex = SqliteIndex(path, language)
    if url:
        from mud_assistant.assistant.journal.postgres.connection import connect  # noqa: PLC0415  (needs the extra postgres)
        from mud_assistant.assistant.memory.recall.postgres.index import PostgresIndex  # noqa: PLC0415

        index = PostgresIndex(lambda: connect(url), language)
    if problem := index.open():
        print(problem)
    return index


def score_world(  # noqa: PLR0917  (what is asked, and where it is kept)
    world: World, path: Path, score: Score, language: str, embed: Embed | None, url: str = ""
) -> None:
    """Remember everything of a world, ask everything, and forget what is to be forgotten."""
    index = open_index(path, language, url)
    index.clear(world.name)
    fill_index(index, world, embed, score.watch)
    score.memories += len(world.memories)
    queries = make_queries(world, embed)
    for question, query in zip(world.questions, queries, strict=True):
        ask(index, world, question, query, score)
    for request in world.requests:
        _forget(index, world, request, queries, score=score, path=path)
    index.clear(world.name)
    index.close()


def fill_index(index: RecallIndex, world: World, embed: Embed | None, watch: Watch) -> None:
    """Remember everything of a world, with vectors where they can be made."""
    for number, memory in enumerate(world.memories, 1):
        with watch.time("keep"):
            index.add(world.name, [(number, memory)])
    model = ""
    while embed is not None and (missing := index.vectors_missing(world.name, model, 32)):
        vectors = [(key, one) for (key, _), one in zip(missing, embed([text for _, text in missing]), strict=True)]
        good = [(key, one) for key, one in vectors if one is not None]
        if not good:
            break
        model = good[0][1].model
        index.put_vectors(world.name, model, good)


def make_queries(world: World, embed: Embed | None) -> list[RecallQuery]:
    """Return the questions of a world as they are searched, a minute after the last memory."""
    now = max((memory.at for memory in world.memories), default=0.0) + 60
    queries = []
    for question in world.questions:
        asker, text = text_of(question, "asker"), text_of(question, "text")
        vector = embed([text])[0] if embed is not None else None
        queries.append(RecallQuery(text, frozenset({asker} if asker else ()), asker, FIRST, now, vector=vector))
    return queries


def _deep(query: RecallQuery) -> RecallQuery:
    return replace(query, limit=DEEP)


def ask(index: RecallIndex, world: World, question: Row, query: RecallQuery, score: Score) -> None:
    """Search for what answers a question, and count what was found. A part of a message counts as the whole."""
    with score.watch.time("search"):
        ids = index.search(world.name, query).ids
    found = list(dict.fromkeys(world.part_of.get(key, key) for key in ids))
    evidence, stale, forbidden = (set(ids_of(question, part)) for part in ("evidence", "stale", "forbidden"))
    deep = index.search(world.name, _deep(query)).ids if forbidden else ()
    score.leaks += len(forbidden.intersection([*found, *deep]))
    category = text_of(question, "category")
    if evidence:
        right = len(evidence.intersection(found))
        score.recalls[category].append(right / min(FIRST, len(evidence)))
        score.hits.append(bool(right))
    elif not forbidden or category == "none":
        score.none_empty.append(not found)
    if stale:
        places = [found.index(key) for key in found if key in evidence]
        old = [found.index(key) for key in found if key in stale]
        score.stale_first.append(bool(old) and (not places or min(old) < min(places)))
        if old or places:
            score.newer_first.append(not score.stale_first[-1])


def _forget(
    index: RecallIndex, world: World, request: Row, queries: list[RecallQuery], *, score: Score, path: Path
) -> None:
    who = text_of(request, "who")
    gone = {memory.id for memory in world.memories if memory.is_from(who)}
    with score.watch.time("forget"):
        index.remove(world.name, gone, 1)
        index.erase()
    must_go, must_stay = (set(ids_of(request, part)) for part in ("must_go", "must_stay"))
    texts = {memory.id: memory.text for memory in world.memories}
    everybody = [RecallQuery(texts[key], frozenset(), "", DEEP) for key in must_go | must_stay if key in texts]
    found: set[str] = set()
    for query in [*everybody, *map(_deep, queries)]:
        found.update(index.search(world.name, query).ids)
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir()).lower()
    left = " ".join(texts[key].lower() for key in texts.keys() - gone)
    traces = {
        key
        for key in must_go
        if any(word not in left and word.encode() in stored for word in own_words([texts.get(key, "")]))
    }
    score.kept += len((must_go & found) | traces)
    score.lost += len((must_stay & texts.keys()) - found) + len(must_stay & gone)


def own_words(texts: Iterable[str]) -> set[str]:
    """Return the longer words of some texts, as they may be found in a file."""
    return {word for text in texts for word in _OWN_WORD.findall(text.lower())}
