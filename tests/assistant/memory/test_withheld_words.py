"""Which words strangers may not read, over any talk: no private word in disguise, and no public one is kept back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.journal import StreamEntry
from mud_assistant.assistant.memory.outgoing import View, find_withheld
from mud_assistant.assistant.memory.stream.entries import from_store
from mud_assistant.llm import user
from mud_assistant.tools.memories import Memory, MemoryKind
from tests.effort import times

#: Words that stay as they are when their endings are taken off, and that nobody says by chance.
WORDS = ("silverbrok", "copprmill", "amberford", "mosscroft", "quarnton", "hollowick", "windlan", "thornbar")
ANN = frozenset({"player:ann"})
words = st.lists(st.sampled_from(WORDS), max_size=3)


def entry(text: str, *, is_private: bool) -> StreamEntry:
    return StreamEntry((user(text),), 5, audience=ANN if is_private else None)


def spelt(word: str) -> str:
    """The word across the borders of two others."""
    return f"{word[:4]} {word[4:]}"


@settings(max_examples=times(60), deadline=None)
@given(st.tuples(words, words, words, words), words, st.booleans())
def test_a_private_word_goes_out_in_no_disguise_and_others_do(
    talk: tuple[list[str], list[str], list[str], list[str]], query: list[str], is_spelt: bool
) -> None:
    asked, public, private, remembered = talk
    question = " ".join(asked)
    told = [entry(" ".join(public), is_private=False), entry(" ".join(private), is_private=True)]
    kept = Memory("m", " ".join(remembered), MemoryKind.HEARD, 0.0, "player:ann", "Ann", audience=ANN)
    view = View([question], [f'Ann whispers to you: "{question}"'], [from_store(one, 1) for one in told], [kept])
    text = " ".join(map(spelt, query) if is_spelt else query)
    secret = {*private, *remembered} - {*public, *asked}
    withheld = find_withheld(text, view, lambda _: False)
    assert withheld.known == secret.intersection(query)
    if not is_spelt:
        other = {*query} - {*private, *remembered, *public, *asked}
        assert withheld.unheard == (other if {*private, *remembered} - {*public, *asked} else frozenset())
