"""Tells a question that only asks from one that tells something: "Did you know that my brother is called Osric?". Pure.

It knows English only. In doubt a question in the order of a statement asks: "I can sleep here?".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from mud_assistant.assistant.language.words import is_question, sentences_of, words_of

_WORD_LIST = "what which who whose whom where when why how"
_QUESTION_WORDS = frozenset(_WORD_LIST.split())
#: What follows these is asked, or is only spoken of: "did you hear if", "have you heard of".
_NOT_TOLD_TEXT = "if whether about of from to any anything anyone anybody something someone somebody"
_NOT_TOLD = frozenset(_NOT_TOLD_TEXT.split())
#: Asks whether the other knows what is told then.
_DO_YOU_KNOW = re.compile(
    r"\b(?:(?:did|do|does|have|had|has|didn't|don't|haven't)\s+)?(?:you|ya|u|anyone|anybody|everyone|everybody)\s+"
    r"(?:(?:ever|not|already|yet|even|all|guys|perhaps|maybe)\s+)*"
    r"(?:know|knew|known|hear|heard|remember|recall|notice|noticed|see|seen|realise|realised|realize|realized|believe)\b"
    r"(?:\s+(?:the )?news)?(?P<told>.*)"
    r"|\b(?:did|have|had|haven't|didn't)\s+(?:i|we)\s+(?:(?:ever|not|already|yet|even)\s+)*"
    r"(?:tell|told|mention|mentioned|say|said)\b(?:\s+(?:to\s+)?(?:you|ya|u)(?:\s+all)?)?(?P<said>.*)"
    r"|\b(?:did|has|have|hasn't|didn't)\s+\w+\s+(?:tell|told)\s+you\b(?P<by>.*)"
    r"|\b(?:are|were)\s+you\s+(?:aware|told)\b(?P<aware>.*)|\b(?:isn't|is)\s+it\s+\w+\s+that\b(?P<that>.*)",
    re.IGNORECASE | re.DOTALL,
)
#: News by its name alone: "Have you heard about my wedding?".
_NEWS = re.compile(r"\b(?:hear|heard)\s+(?:the news )?(?:about|of)\s+(?:my|our)\b", re.IGNORECASE)
#: A name in passing: "Have you met my wife, Anna?".
_CALLED = re.compile(r"\b[Mm]y\s+(?:[a-z]+\s+)?(?!called|named)[a-z]+,?\s+(?:(?:called|named)\s+(\w+)|([A-Z]\w+))")
_IS_IT = re.compile(r"^\W*(?:\w+,\s*)?(?:is|are|was|were)\b", re.IGNORECASE)
_PARTS = re.compile(r"[,;:\u2014]|\s-+\s")
_TAG = re.compile(
    r"^(?:(?:and|so|but)\s+)?(?:you know|right|remember|eh|huh|ok(?:ay)?|see|you see|you hear|no|yes|"
    r"(?:did|do|does|have|has|had|is|are|was|were|wo|ca|could|would|should)(?:n't)? "
    r"(?:you|he|she|it|they|we|i|that)\b.*)$",
    re.IGNORECASE,
)
_MAY_I = re.compile(r"^(?:can|may|could|should|must|will|shall)(?:'t|n't)? (?:i|we)\b", re.IGNORECASE)
_FILLER_TEXT = "and but so well oh hey that because since then guess yes no actually also by the way"
_FILLERS = frozenset(_FILLER_TEXT.split())
_ONESELF = frozenset({"i", "i'm", "i've", "i'd", "i'll", "my", "we", "we're", "we've", "our", "he", "she", "they"})
_SUBJECTS = frozenset({"i", "we", "he", "she", "they"})
#: Verbs with which somebody asks or doubts, and tells nothing: "I wonder, where is the mill?".
_NOT_TELLING_TEXT = "wonder wondered wondering ask asked asking guess suppose mean hope think beg pray say know see"
_NOT_TELLING = frozenset(_NOT_TELLING_TEXT.split())
_VERBS_TEXT = """
    is are was were am has have had will won't would can can't could do does did got gets goes went came left lost
    found won bought sold broke died made took gave saw said told met became fell kept felt began sent built caught
    taught sank stood swore tore threw woke bent bit blew burnt dug fed fled forgot froze hung laid lay led lent lit
    meant rose shook shot spent stuck struck wept wrote ran sang ate drank stole drew grew knew thought brought paid
    fought slept swam flew rode chose spoke wore hid isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't
    didn't couldn't wouldn't quit cut put hurt
"""
_VERBS = frozenset(_VERBS_TEXT.split())
_DETERMINERS_TEXT = """
    my our his her their your its the a an these those this that some many two three four five six both all few of and
"""
_DETERMINERS = frozenset(_DETERMINERS_TEXT.split())
_SHORTEST_VERB = 4
_AFTER_IS = re.compile(r"(?:called|named|a|an|the|not|been|gone|dead|ill|sick|in|at|on|back|\w+(?:ed|ing))$")


def tells(question: str, names: Collection[str] = ()) -> bool:
    """Tell whether a question tells something that the one who asks holds for true.

    `names` are those of the one who is asked, in lower case: nobody else is told of by them.
    """
    straight = question.replace("\u2019", "'").strip()
    if _NEWS.search(straight):
        return True
    for called, name in _CALLED.findall(straight):
        if (called and not _IS_IT.match(straight)) or (name and name.casefold() not in names):
            return True
    known = _DO_YOU_KNOW.search(straight)
    if known is not None and _is_clause(_words(next(filter(None, known.groups()), ""))):
        return True
    parts = [part.strip(" ?!.\"'") for part in _PARTS.split(straight)]
    while len(parts) > 1 and len(words_of(parts[-1])) <= 1 and not _TAG.match(parts[-1]):
        parts.pop()  # a name at the end
    for part, following in pairwise(parts):
        words = _words(part)
        if not words or not _QUESTION_WORDS.isdisjoint(words) or not _NOT_TELLING.isdisjoint(words[:3]):
            continue
        if _MAY_I.match(following):
            continue
        is_stated = words[0] in _ONESELF or (_TAG.match(following) and words[0] not in {"you", "it", "it's", "that"})
        if is_stated and not words[0].startswith(("you", "it")) and _is_clause(words):
            return True
    return False


def only_asks(text: str, names: Collection[str] = ()) -> bool:
    """Tell whether a text is nothing but questions that tell nothing. `names` are as for `tells`."""
    return all(is_question(sentence) and not tells(sentence, names) for sentence in sentences_of(text))


def _words(part: str) -> list[str]:
    words = words_of(part)
    while words and words[0] in _FILLERS:
        words.pop(0)
    return words


def _is_clause(words: Sequence[str]) -> bool:
    """Tell whether words are a statement: somebody or something, and what they are or do."""
    end = next((place for place, word in enumerate(words) if word in _QUESTION_WORDS), len(words))
    words = words[:end]
    if len(words) <= 1 or words[0] in _NOT_TOLD or words[0] in _VERBS:
        return False
    is_pronoun = words[0] in _SUBJECTS or words[0].endswith(("i'm", "'ve", "'re", "'ll", "he's", "she's", "there's"))
    return is_pronoun or any(_is_verb(words, place) for place in range(1, len(words)))


def _is_verb(words: Sequence[str], place: int) -> bool:
    word, before = words[place], words[place - 1]
    if word in _VERBS or (len(word) >= _SHORTEST_VERB and word.endswith("ed") and before not in _DETERMINERS):
        return True
    if before.endswith("'s"):
        return _AFTER_IS.match(word) is not None
    is_third_person = len(word) >= _SHORTEST_VERB and word.endswith("s") and not word.endswith(("ss", "us", "'s"))
    return is_third_person and before not in _DETERMINERS and place + 1 < len(words)
