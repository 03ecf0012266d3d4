"""A search in the lines of one assistant: lists of candidates, joined by rank, in an order that helps who asks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from msgspec import Struct, field

from mud_assistant.assistant.memory.recall.candidates import DEPTH, CandidateLists, Scope
from mud_assistant.assistant.memory.recall.later import find_later
from mud_assistant.assistant.memory.recall.newer import CLOSEST, COMPARED, put_newer_first
from mud_assistant.assistant.memory.recall.rank import (
    FEWEST_SPEAKERS,
    RankedLine,
    fuse_ranks,
    keep_first,
    order_lines,
    spread_speakers,
)
from mud_assistant.assistant.memory.recall.vectors import Vector
from mud_assistant.assistant.memory.recall.words import (
    DATE_WORDS,
    ENGLISH,
    asks_for_past,
    collect_stems,
    find_capitalised,
    join_neighbours,
    says_something,
    select_terms,
    speaks_of_self,
    split_words,
    stem_word,
)
from mud_assistant.assistant.memory.time_words import TimeSpan, find_time_asked
from mud_assistant.tools.memories import RECALLED
from mud_assistant.tools.trust import Audience

#: The lists that a search joins, and what a place in each is worth: the words of a line; the answers to the best of
#: these; the words of a line and of those before it; what others say where one stranger says most; what is by or about
#: whom the query names; the meaning of a line; the time that the query names.
ALONE, ANSWERS, BESIDE, OTHERS, PEOPLE, MEANING, TIME = LISTS = (
    *("alone", "answers", "beside", "others", "people", "meaning", "time"),
)
_WORTH = {ALONE: 2.0, ANSWERS: 2.0, BESIDE: 1.0, OTHERS: 2.0, PEOPLE: 3.0, MEANING: 1.5, TIME: 1.0}
#: What puts the lines in order then: whom or when the query is about, what was said later of the best, no more than two
#: of one stranger, the newer before the older.
FAVOURS, LATER, SPREAD, NEWER = ORDERS = ("favours", "later", "spread", "newer")
#: What words put among so many of the first is among the first `CLOSEST` with vectors too. Vectors bring what is said
#: in other words, and cannot tell lines that mean nearly the same.
_OF_WORDS = 3
#: The answers to so many of the best lines count as much as the questions they answer.
_ASKED = 20
_OF_US = re.compile(r"\b(?:we|us|our)\b", re.IGNORECASE)
#: So many lines of other times that share a word with a query stand before those that are only from its time.
_BEST_OF_OTHERS = 1
#: A line that shares no word with the query is given from this cosine on.
LEAST_ALIKE = 0.35
#: The share of a whole list from which on one stranger floods it.
_FLOOD = 0.5
#: A list by its name, with its rows, best first.
_Ranked = tuple[str, Sequence[int]]


class RecallQuery(Struct, frozen=True):
    """What to search for, and for whom. `now` is in seconds as `Memory.at`.

    Everybody of `hearers` must be allowed to hear what is found: None is everybody, no hearers at all is the owner.
    `asker` is the principal who asks, for whom the withheld ones are counted. `names` are further names, in lower
    case, with the ids of their principals; those of everybody who said something are known. `vector` is the meaning of
    `text`, where there is a model for it. `without` are those of `LISTS` and `ORDERS` that are left out, to measure
    what each is good for. `utc_offset` is the owner's time minus UTC, in seconds.
    """

    text: str
    hearers: Audience
    asker: str = ""
    limit: int = RECALLED
    now: float = 0.0
    names: Mapping[str, str] = field(default_factory=dict)
    vector: Vector | None = None
    without: frozenset[str] = frozenset()
    utc_offset: float = 0.0


class RecallHits(Struct, frozen=True):
    """The ids found, best first. `before` pairs a newer id with an older one about the same thing, both found.

    `withheld` counts those among the best that only the asker may hear. `unsure` shares no word with the query.
    """

    ids: tuple[str, ...] = ()
    before: tuple[tuple[str, str], ...] = ()
    withheld: int = 0
    unsure: frozenset[str] = frozenset()


class _Ranking(Struct, frozen=True):
    """Lines best first, pairs of ids (newer, older), and the ids that share no word with the query."""

    lines: tuple[RankedLine, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    unsure: frozenset[str] = frozenset()


def search_lines(lists: CandidateLists, query: RecallQuery) -> RecallHits:
    """Return what fits the query and may be heard, best first. Blocking; raises the errors of the database."""
    scope = lists.scope_for(query.hearers, query.now, past=asks_for_past(query.text))
    ranking = _rank(lists, query, scope)
    best = ranking.lines[: query.limit]
    ids = {line.id for line in best}
    return RecallHits(
        tuple(line.id for line in best),
        tuple(pair for pair in ranking.pairs if ids.issuperset(pair)),
        _count_withheld(lists, query, scope),
        ranking.unsure & ids,
    )


def _count_withheld(lists: CandidateLists, query: RecallQuery, scope: Scope) -> int:
    """Count the best lines that the asker may hear, but not everybody who hears."""
    if not query.asker or scope.audiences is None or query.hearers == frozenset({query.asker}):
        return 0
    alone = lists.scope_for(frozenset({query.asker}), query.now, past=scope.past)
    if alone.audiences is None or set(alone.audiences) <= set(scope.audiences):
        return 0
    lines = _rank(lists, query, alone).lines[: query.limit]
    return sum(line.audience not in scope.audiences for line in lines)


def _rank(lists: CandidateLists, query: RecallQuery, scope: Scope) -> _Ranking:
    names = _find_names(lists, query)
    named = frozenset(who for ids in names.values() for who in ids)
    past = None if TIME in query.without else find_time_asked(query.text, query.now, query.utc_offset)
    text = query.text if past is None else _without_time(query.text, past)
    terms = select_terms(text, lists.language, frozenset(names))
    if not terms:
        newest = lists.read(scope, lists.newest(scope), {})
        scores = fuse_ranks([(1, [line.row for line in newest])])
        return _Ranking(tuple(order_lines(newest, scores)))
    ranks, sure = _find_candidates(lists, query, scope, terms, names)
    matching = frozenset(sure) if says_something({*terms} - DATE_WORDS, lists.language) else frozenset[int]()
    if past is not None:
        ranks.append((TIME, lists.from_time(scope, past.since, past.until)))
        sure.update(ranks[-1][1])
    favours = [] if FAVOURS in query.without else _list_favours(query, named)
    lines = _order(lists, scope, ranks, names, favours)
    asked = frozenset(stem_word(term) if lists.language == ENGLISH else term for term in terms)
    later = [] if LATER in query.without else find_later(lists, scope, lines, names)
    lines = _insert_later(lines, lists.read(scope, [row for _, row in later], names), later)
    compared = [_compare(line, asked, lists.language) for line in lines[: 2 * COMPARED]]
    if SPREAD not in query.without:
        known = named | {query.asker} | (query.hearers or frozenset())
        compared = spread_speakers(compared, query.limit, known)
    pairs: list[tuple[str, str]] = []
    if NEWER not in query.without:
        compared, pairs = put_newer_first(compared, asked, later)
    ordered = [*compared, *lines[2 * COMPARED :]]
    if past is not None:
        ordered = _put_time_first(ordered, query, past, matching)
    return _Ranking(
        tuple(ordered),
        tuple(pairs),
        frozenset(line.id for line in ordered if line.row not in sure),
    )


def _without_time(text: str, past: TimeSpan) -> str:
    """Return a query without the words of a time, but for the names of days and months, which lines may hold."""
    words = [word for word in past.words.split() if word not in DATE_WORDS and not word[0].isdigit()]
    pattern = "|".join(map(re.escape, words))
    return re.sub(rf"\b(?:{pattern})\b", " ", text, flags=re.IGNORECASE) if words else text


def _put_time_first(
    lines: Sequence[RankedLine], query: RecallQuery, past: TimeSpan, matching: frozenset[int]
) -> list[RankedLine]:
    """Put what is from the time that the query names first, and among that what shares a word with it.

    The best of all other times that do follow before the rest of that time: a day may also be what lines are about. So
    it is where lines name that day and nothing from it shares a word with the query: then nothing is put first.
    """
    then = [line for line in lines if past.since <= line.at < past.until]
    if speaks_of_self(query.text) or _OF_US.search(query.text):
        then.sort(key=lambda line: line.who != query.asker)
    first = [line for line in then if line.row in matching]
    others = [line for line in lines if line.row in matching and line not in first]
    days = DATE_WORDS.intersection(past.words.split())
    if not first and any(days.intersection(split_words(line.text)) for line in others):
        return list(lines)
    ordered = [*first, *others[:_BEST_OF_OTHERS], *then, *lines]
    return list({line.row: line for line in ordered}.values())


def _insert_later(
    lines: Sequence[RankedLine], found: Sequence[RankedLine], pairs: Collection[tuple[int, int]]
) -> list[RankedLine]:
    """Put each of those found behind the line it follows, unless it stands before. `pairs` are rows (line, found)."""
    ordered = list(lines)
    for line in found:
        place = next(place for place, other in enumerate(ordered, 1) if (other.row, line.row) in pairs)
        if line not in ordered[:place]:
            ordered = [*ordered[:place], line, *(other for other in ordered[place:] if other != line)]
    return ordered


def _list_favours(query: RecallQuery, named: frozenset[str]) -> list[Callable[[RankedLine], bool]]:
    """Return what makes a line count more: whom the query is about.

    Who says "I" means themselves. Where it is not known who that is, it is whoever said "I" before.
    """
    favours: list[Callable[[RankedLine], bool]] = []
    close = named
    if speaks_of_self(query.text):
        if query.asker:
            close |= {query.asker}
        else:
            favours.append(lambda line: speaks_of_self(line.text))
    if close:
        favours.append(lambda line: line.who in close or not close.isdisjoint(line.about))
    return favours


def _order(
    lists: CandidateLists,
    scope: Scope,
    ranks: Sequence[_Ranked],
    names: Mapping[str, frozenset[str]],
    favours: Sequence[Callable[[RankedLine], bool]],
) -> list[RankedLine]:
    """Return the lines of all lists, best first."""
    scores = fuse_ranks([(_WORTH[name], rows) for name, rows in ranks])
    found = lists.read(scope, list(scores), names)
    lines = order_lines(found, scores, favours)
    if any(name == MEANING for name, _ in ranks):
        by_words = fuse_ranks([(_WORTH[name], rows) for name, rows in ranks if name != MEANING])
        first = order_lines([line for line in found if line.row in by_words], by_words, favours)[:_OF_WORDS]
        lines = keep_first(lines, first, CLOSEST)
    return lines


def _find_candidates(
    lists: CandidateLists,
    query: RecallQuery,
    scope: Scope,
    terms: Sequence[str],
    names: Mapping[str, frozenset[str]],
) -> tuple[list[_Ranked], set[int]]:
    """Return the lists of rows, and the rows that share a word with the query or are whom it asks about."""
    chosen, since = lists.choose_terms(terms)
    alone, beside = lists.by_words(scope, chosen, since)
    ranks: list[_Ranked] = [(ALONE, alone), (BESIDE, beside)]
    ranks.append((ANSWERS, lists.answers_to(scope, alone[:_ASKED])))
    named = sorted({who for ids in names.values() for who in ids})
    speakers = lists.count_speakers(alone)
    flooding = _find_flood(speakers, {query.asker, *named})
    if flooding and lists.is_crowd():
        ranks += zip((OTHERS, BESIDE), lists.by_words(lists.without(scope, flooding), chosen), strict=True)
    sure = {row for name, rows in ranks if name != ANSWERS for row in rows}
    if named and names.keys() >= set(terms):
        ranks.append((PEOPLE, lists.said_by(scope, named)))
        sure.update(ranks[-1][1])
    elif named:
        if len(speakers) >= FEWEST_SPEAKERS:
            ranks.append((PEOPLE, lists.by_people(scope, chosen, names)))
            sure.update(ranks[-1][1])
        if not sure:
            ranks.append((PEOPLE, lists.said_by(scope, named)))
    if query.vector is not None:
        near = lists.by_meaning(scope, query.vector)
        ranks.append((MEANING, [row for row, cosine in near if cosine >= LEAST_ALIKE or row in sure]))
    return [(name, rows) for name, rows in ranks if name not in query.without], sure


def _find_flood(speakers: Counter[str], known: set[str]) -> str:
    """Return the stranger whose lines fill most of a whole list, so that those of others are looked for apart."""
    for who, count in speakers.most_common(1):
        if who and who not in known and speakers.total() >= DEPTH and count > _FLOOD * DEPTH:
            return who
    return ""


def _find_names(lists: CandidateLists, query: RecallQuery) -> dict[str, frozenset[str]]:
    """Return the words of the query that are names of people, each with the ids of those people."""
    runs = list(dict.fromkeys(join_neighbours(query.text)))
    found = lists.find_names(runs, find_capitalised(query.text))
    for run in runs:
        if run in query.names:
            found.setdefault(run, set()).add(query.names[run])
    return {word: frozenset(ids) for name, ids in found.items() for word in split_words(name)}


def _compare(line: RankedLine, asked: frozenset[str], language: str) -> RankedLine:
    text = line.text
    stems = collect_stems(text, language)
    fits = asked & stems if language == ENGLISH else frozenset(term for term in asked if term in text.casefold())
    return replace(line, fits=fits, stems=stems)
