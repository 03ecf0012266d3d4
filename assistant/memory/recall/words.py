"""The words of a query: which of them are searched, which are names, and what they ask of the time.

A query is the text of a player. It never reaches SQLite as FTS5 syntax: each term is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

ENGLISH = "english"
#: The trigram index finds nothing shorter than this, in characters.
SHORTEST_TRIGRAM = 3
#: The most terms of one query: a pasted page is no question.
MAX_TERMS = 32
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]{1,2}\b)?")
_STOP_TEXT = """a about above after again against all also am an and any anybody anyone anything are as at be because
    been before being below between both but by can could did do does doing done down during each ever every few for
    from further get got had has have having he her here hers herself him himself his how however i if in into is it
    itself just know let like many may me might more most much must my myself no nor not now of off on once one only
    or other our ours ourselves out over own please quite really remember said same say says shall she should so some
    somebody someone something still such tell than that the their theirs them themselves then there these they thing
    things think this those though through to told too under until up upon us very was we were what whatever when
    where whether which while who whom whose why will with would yes yet you your yours yourself yourselves
    around mention mentioned talk talked ask asked its
    don didn doesn isn wasn weren aren ain hasn haven hadn couldn wouldn shouldn won"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())
_CONTRACTED = frozenset({"d", "ll", "m", "re", "s", "t", "ve"})
_SELF = re.compile(r"\b(i|me|my|mine|myself)\b", re.IGNORECASE)
_PAST = re.compile(
    r"\b(used to|formerly|previously|earlier|originally|at first|once was|in the past|back then|before (that|now)|"
    r"no longer|any ?more|old(er)? (name|home|place|job|address)|history of)\b",
    re.IGNORECASE,
)
#: Words of what became different, or is not so.
_CHANGE = re.compile(
    r"\b(again|any ?more|any longer|no(t| more| longer| use)?|never|n['\u2019]t|now(adays)?|instead|after all|actually|"
    r"since|as of|from (now|today|tonight) on|these days|already|finally|at last|meanwhile|new|latest|back|over|"
    r"mov(ed?|ing)|put off|postponed|cancel?led|chang(es?|ed)|be(came|come|comes)|turned|grown|doubled|raised|lowered|"
    r"lifted|closed|opened|mended|repaired|fixed|patched|healed|cured|recovered|done|finished|ended|stopped|quit|left|"
    r"leav(es?|ing)|gone|died|dead|married|divorced|sold|bought|lost|found|broken?|returned|promoted|replaced|"
    r"switched|swapped|gave up|given up|taken|(have|has|['\u2019](ve|s)) been)\b",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"(?<=[^.!?:\s]\s)[^\W\d_a-z][\w'\u2019-]+")
_DATE_TEXT = """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december
"""
#: The names of days and months.
DATE_WORDS = frozenset(_DATE_TEXT.split())
#: Endings that are taken off to compare two words, the longest first. It is cruder than what FTS5 does.
_ENDINGS = ("ings", "ing", "edly", "ies", "ied", "ed", "es", "ly", "s", "e", "y")
_SHORTEST_STEM = 3
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, casefolded, without the contracted ends of English ("dog's" is "dog")."""
    words: list[str] = []
    for word in _WORD.findall(text.casefold().replace("\u2019", "'")):
        if "'" in word:
            head, _, tail = word.partition("'")
            words += [head] if tail in _CONTRACTED else [head, tail]
        else:
            words.append(word)
    return words


def drop_stop_words(words: Iterable[str], language: str = ENGLISH) -> list[str]:
    """Return the words that say something, each once. When none remain, all of them are returned."""
    every = list(dict.fromkeys(words))
    if language != ENGLISH:
        return every
    return [word for word in every if word not in _STOP_WORDS] or every


def select_terms(text: str, language: str = ENGLISH, names: frozenset[str] = frozenset()) -> list[str]:
    """Return the terms to search for: no stop words, and no words of `names` while others remain."""
    kept = drop_stop_words(split_words(text), language)
    return [word for word in kept if word not in names][:MAX_TERMS] or kept[:MAX_TERMS]


def split_terms(terms: Sequence[str], language: str = ENGLISH) -> list[str]:
    """Return the terms in the pieces that an index can find, each once. It is empty when nothing can be searched."""
    pieces: list[str] = []
    for term in terms:
        pieces += [term] if language == ENGLISH else _cut_for_trigrams(term)
    return list(dict.fromkeys(pieces))


def match_expression(terms: Sequence[str], language: str = ENGLISH) -> str:
    """Return the terms as an FTS5 expression, each quoted, joined by OR. It is empty when nothing can be searched."""
    return " OR ".join('"' + piece.replace('"', '""') + '"' for piece in split_terms(terms, language))


@lru_cache(maxsize=8_192)
def stem_word(word: str) -> str:
    """Return a word without its ending, to compare it with others. It is no word any more."""
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= _SHORTEST_STEM), "")
    stem = word.removesuffix(ending)
    return stem[:-1] if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2] else stem


def collect_stems(text: str, language: str = ENGLISH) -> frozenset[str]:
    """Return the stems of the words of a text that say something."""
    stems = (word for word in split_words(text) if language != ENGLISH or word not in _STOP_WORDS)
    return frozenset(stem_word(word) if language == ENGLISH else word for word in stems)


def join_neighbours(text: str, most: int = 3) -> list[str]:
    """Return each run of up to `most` words of a text, casefolded: what could be a name in it."""
    words = split_words(text)[: MAX_TERMS * 2]
    return [" ".join(words[i : i + n]) for n in range(1, most + 1) for i in range(len(words) - n + 1)]


def find_capitalised(text: str) -> list[str]:
    """Return the words with a capital letter that begin no sentence, casefolded: what looks like a part of a name."""
    words = (word for match in _CAPITALISED.findall(text) for word in split_words(match))
    return [word for word in dict.fromkeys(words) if word not in _STOP_WORDS][:MAX_TERMS]


def speaks_of_self(text: str) -> bool:
    """Tell whether the one who asks speaks of themselves."""
    return _SELF.search(text) is not None


def asks_for_past(text: str) -> bool:
    """Tell whether a query asks for what was, so that what holds no more is wanted too."""
    return _PAST.search(text) is not None


def speaks_of_change(text: str) -> bool:
    """Tell whether a text says that something is different from before, or not so. It knows English only."""
    return _CHANGE.search(text) is not None


def says_something(terms: Iterable[str], language: str = ENGLISH) -> bool:
    """Tell whether any of the terms is more than a stop word."""
    return language != ENGLISH or not _STOP_WORDS.issuperset(terms)


def _cut_for_trigrams(term: str) -> list[str]:
    """Return a term as the trigram index can find it; a run of a script without spaces is cut in pieces."""
    if _WIDE.search(term) and len(term) > SHORTEST_TRIGRAM:
        return [term[i : i + SHORTEST_TRIGRAM] for i in range(len(term) - SHORTEST_TRIGRAM + 1)]
    return [term] if len(term) >= SHORTEST_TRIGRAM else []
