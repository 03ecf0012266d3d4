"""Tells which words of a query strangers may not read, in a run that knows things in private. Pure.

A query may have the words of the question, those of public talk, of what the web itself answered, and the commonest
words. Any other may be a private word in disguise, and no list of disguises is ever complete: so it is kept back. A
private word that is put together from words that are public is looked for on top of that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import unquote

from msgspec import Struct

from mud_assistant.assistant.language.words import PLAIN_WORDS
from mud_assistant.assistant.memory.stream.entries import Entry
from mud_assistant.assistant.memory.stream.origins import texts_of, words_of
from mud_assistant.llm.messages import Message
from mud_assistant.tools.memories import Memory
from mud_assistant.tools.trust import Withheld

#: The parts of addresses that say nothing.
_OF_ADDRESSES = frozenset({"http", "https", "www", "com", "org", "net"})
#: The fewest letters of a private word that is looked for across the borders of words: shorter ones occur by chance.
_LEAST = 5


class View(Struct, frozen=True):
    """What the model of a private run sees besides its front.

    What is `asked` now is in the `lines` with its speakers; `entries` are those of the stream.
    """

    asked: Sequence[str]
    lines: Sequence[str]
    entries: Sequence[Entry]
    recalled: Sequence[Memory]


def find_withheld(text: str, view: View, is_of_web: Callable[[str], bool]) -> Withheld:
    """Return the words of `text` that stand neither in what is asked now nor in public.

    `is_of_web` tells whether a tool's answers are from the web. Where the model sees nothing private but the question,
    there is nothing to disguise, and any word may go out.
    """
    public, private = set[str](), set[str]()
    for entry in view.entries:
        (public if entry.audience is None else private).update(_words_in(texts_of(entry.messages)))
        public |= _words_in(_from_web(entry.messages, is_of_web))
    for memory in view.recalled:
        (public if memory.audience is None else private).update(words_of(memory.text))
    question = _words_in(view.asked)
    private -= public | question
    readable = unquote(text)
    left = words_of(readable) - public - question - words_of(" ".join(_OF_ADDRESSES | PLAIN_WORDS))
    known = frozenset(left & private) | _hidden_in(readable, private)
    has_secrets = not private <= _words_in(view.lines)
    return Withheld(known, frozenset(left - private) if has_secrets else frozenset())


def _words_in(texts: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(words_of, texts))


def _from_web(messages: Iterable[Message], is_of_web: Callable[[str], bool]) -> Iterator[str]:
    """Yield what the web answered: anybody may read it, and it was asked for without private words.

    A refusal is none of it: it names the words that were kept back.
    """
    results = (result for message in messages for result in message.tool_results)
    yield from (result.text for result in results if is_of_web(result.name) and not result.failed)


def _hidden_in(text: str, private: Iterable[str]) -> frozenset[str]:
    """Return the private words that the letters of the text spell across its words, forwards or backwards."""
    words = re.findall(r"[^\W_]+", text.casefold())
    spelt = "".join(words)
    found: set[str] = set()
    for form in (private_word for private_word in private if len(private_word) >= _LEAST):
        for written in (form, form[::-1]):
            if written in spelt and not any(written in word for word in words):
                found.add(form)
    return frozenset(found)
