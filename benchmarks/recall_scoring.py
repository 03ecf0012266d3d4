"""Worlds of memories and questions, read from a file and asked; see `benchmarks.recall`."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from assistant.memory.recall import RecallIndex, RecallQuery, Vector
from assistant.memory.recall.protocol import MemoryIndex
from tools.memories import Memory, MemoryKind
from tools.trust import common

FIRST, DEEP = 5, 50
KINDS = {
    "event": MemoryKind.SEEN,
    "note": MemoryKind.NOTE,
    "reflection": MemoryKind.REFLECTION,
    "lore": MemoryKind.LORE,
    "fact": MemoryKind.FACT,
}
PRIVATE = frozenset({"whisper", "page"})
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
SHARE_OF_P95 = 0.95
TIMES = ("keep_ms", "keep_p95_ms", "search_ms", "search_p95_ms")
A_DAY, MONTHS_A_YEAR = 86_400, 12
#: A larger number is a time in milliseconds.
LAST_SECOND = 1e11
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
class World:
    """What is remembered in one world, and what is asked."""

    name: str
    memories: list[Memory] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)


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

    def as_json(self) -> dict[str, Any]:
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


def read_worlds(path: Path) -> list[World]:
    """Return the worlds of a file. A memory may be derived from later ones."""
    worlds: dict[str, World] = {}
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8-sig").split("\n"):
        if not line.strip():
            continue
        item = json.loads(line)
        name = text_of(item, "world")
        world = worlds.setdefault(name, World(name))
        lists = {"memory": rows[name], "question": world.questions, "forget": world.requests}
        if item.get("kind") in lists:
            lists[item["kind"]].append(item)
    for world in worlds.values():
        world.memories = _read_memories(rows[world.name])
    return list(worlds.values())


def text_of(row: dict[str, Any], key: str) -> str:
    """Return a value of a line as text, empty for none."""
    value = row.get(key)
    return "" if value is None else str(value).encode(errors="replace").decode()


def ids_of(row: dict[str, Any], key: str) -> list[str]:
    """Return a list of ids of a line, empty for none. A single id is a list of one."""
    value = row.get(key)
    if isinstance(value, str | int):
        return [str(value)]
    return [str(each) for each in value or ()]


def _read_memories(rows: Sequence[dict[str, Any]]) -> list[Memory]:
    by_id = {text_of(row, "id"): row for row in rows}
    known: dict[str, Memory] = {}
    at = 0.0

    def label(key: str, seen: frozenset[str]) -> tuple[frozenset[str], frozenset[str] | None]:
        """Return the sources and the audience of a memory, through all it was derived from."""
        row = by_id[key]
        parts = [part for part in ids_of(row, "derived_from") if part in by_id and part not in seen]
        if parts:
            labels = [label(part, seen | {key}) for part in parts]
            sources = frozenset[str]().union(*(some for some, _ in labels))
            return sources, reduce(common, (audience for _, audience in labels))
        who = text_of(row, "who")
        return frozenset({who} - {""}), frozenset({who}) if row.get("heard") in PRIVATE else None

    for key, row in by_id.items():
        at = read_time(row.get("at"), at)
        sources, audience = label(key, frozenset())
        who = text_of(row, "who")
        kind = KINDS.get(text_of(row, "heard"), MemoryKind.HEARD)
        known[key] = Memory(
            key, text_of(row, "text"), kind, at, who, "" if kind is MemoryKind.SEEN else who, sources=sources,
            audience=audience, made_of=tuple(ids_of(row, "derived_from")), place=text_of(row, "session"),
        )  # fmt: skip
    return list(known.values())


def read_time(value: Any, before: float) -> float:
    """Return a time as seconds: a number as it is, a date a second after the line before it on the same day."""
    text = str(value or "").casefold().strip()
    if re.fullmatch(r"\d{9,}(\.\d+)?", text):
        return float(text) / (1000 if float(text) > LAST_SECOND else 1)
    if isinstance(value, int | float):
        return float(value)
    year = re.search(r"\b(19|20)\d\d\b", text)
    month = next((n for n, name in enumerate(MONTHS, 1) if re.search(rf"\b{name}", text)), None)
    try:
        if found := re.search(r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})", text):
            day = datetime(int(found[1]), int(found[2]), int(found[3]), tzinfo=UTC)
        elif found := re.search(r"\b(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})\b", text):
            first, second = int(found[1]), int(found[2])
            first, second = (second, first) if second > MONTHS_A_YEAR else (first, second)
            day = datetime(int(found[3]), second, first, tzinfo=UTC)
        elif year and month:
            rest = text[: year.start()] + text[year.end() :]
            date = re.search(r"(?<![\d:])(\d{1,2})(?:st|nd|rd|th)?(?![\d:]|\s*[ap]m)", rest)
            day = datetime(int(year[0]), month, int(date[1]) if date else 1, tzinfo=UTC)
        else:
            return before + 1
    except ValueError:
        return before + 1
    return max(day.timestamp(), before + 1 if before - day.timestamp() < A_DAY else 0.0)


def open_index(path: Path, language: str, url: str = "") -> MemoryIndex:
    """Return an empty index: in the file of `path`, or in the schema of PostgreSQL that `url` names."""
    path.unlink(missing_ok=True)
    index: MemoryIndex = RecallIndex(path, language)
    if url:
        from assistant.journal.postgres.connection import connect  # noqa: PLC0415  (needs the extra postgres)
        from assistant.memory.recall.postgres.index import PostgresIndex  # noqa: PLC0415

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
    for number, memory in enumerate(world.memories, 1):
        with score.watch.time("keep"):
            index.add(world.name, [(number, memory)])
    score.memories += len(world.memories)
    model = ""
    while embed is not None and (missing := index.vectors_missing(world.name, model, 32)):
        vectors = [(key, one) for (key, _), one in zip(missing, embed([text for _, text in missing]), strict=True)]
        good = [(key, one) for key, one in vectors if one is not None]
        if not good:
            break
        model = good[0][1].model
        index.put_vectors(world.name, model, good)
    now = max((memory.at for memory in world.memories), default=0.0) + 60
    queries = [_query(question, now, embed) for question in world.questions]
    for question, query in zip(world.questions, queries, strict=True):
        _ask(index, world.name, question, query, score)
    for request in world.requests:
        _forget(index, world, request, queries, score=score, path=path)
    index.clear(world.name)
    index.close()


def _query(question: dict[str, Any], now: float, embed: Embed | None) -> RecallQuery:
    asker, text = text_of(question, "asker"), text_of(question, "text")
    vector = embed([text])[0] if embed is not None else None
    return RecallQuery(text, frozenset({asker} if asker else ()), asker, FIRST, now, vector=vector)


def _deep(query: RecallQuery) -> RecallQuery:
    return RecallQuery(query.text, query.hearers, query.asker, DEEP, query.now, vector=query.vector)


def _ask(index: MemoryIndex, name: str, question: dict[str, Any], query: RecallQuery, score: Score) -> None:
    with score.watch.time("search"):
        found = list(index.search(name, query).ids)
    deep = index.search(name, _deep(query)).ids
    evidence, stale, forbidden = (set(ids_of(question, part)) for part in ("evidence", "stale", "forbidden"))
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
    index: MemoryIndex, world: World, request: dict[str, Any], queries: list[RecallQuery], *, score: Score, path: Path
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
