from __future__ import annotations

from assistant.memory.recall import RecallHits, RecallQuery, make_vector
from assistant.memory.recall.protocol import MemoryIndex
from tests.assistant.memory.recall.keeping import WHO, Filled, ask, heard


def test_what_somebody_said_later_of_the_thing_asked_for_stands_first(filled: Filled) -> None:
    index = filled(
        heard("m1", "ann", "The harvest fair is on the tenth, behind the church."),
        heard("m2", "ann", "The fair is put off to the twentieth, for the meadow is a bog."),
    )
    found = ask(index, "When is the harvest fair?", "bob")
    assert (found.ids, found.before) == (("m2", "m1"), (("m2", "m1"),))


def test_a_newer_line_without_the_word_asked_for_stays_behind(filled: Filled) -> None:
    index = filled(
        heard("m1", "ann", "My secret is zanzibar."),
        heard("m2", "ann", "My secret is a map of the old river."),
    )
    assert ask(index, "zanzibar").ids[0] == "m1"


def test_what_somebody_else_said_later_may_stand_first_but_corrects_nobody(filled: Filled) -> None:
    index = filled(
        heard("m1", "ann", "The bridge over the Sorrow is down since the storm."),
        heard("m2", "bob", "The bridge is mended, the carpenters left."),
    )
    found = ask(index, "Is the bridge over the Sorrow down?", "cid")
    assert (found.ids, found.before) == (("m2", "m1"), ())


def test_lines_that_mean_the_same_are_ordered_by_their_time_among_many(filled: Filled) -> None:
    def search(cosine: float) -> RecallHits:
        index = filled(
            *(heard(f"m{n}", "bob", f"The clinic, the clinic: I was there {n} times.") for n in range(1, 8)),
            heard("m8", "ann", "The clinic is open from the second bell, for each patient of the deck."),
            heard("m9", "ann", "I only see a patient after noon."),
        )
        put(index, m8=[1.0, 0.0], m9=[cosine, (1 - cosine**2) ** 0.5])
        vector = make_vector("m", [1.0, 0.0])
        query = RecallQuery("When is the clinic open?", frozenset({"cid"}), "cid", 20, 1e6, vector=vector)
        return index.search(WHO, query)

    assert ("m9", "m8") in search(0.9).before
    assert ("m9", "m8") not in search(0.4).before


def put(index: MemoryIndex, **vectors: list[float]) -> None:
    """Keep these vectors, by the ids of their memories."""
    made = [(key, make_vector("m", numbers)) for key, numbers in vectors.items()]
    index.put_vectors(WHO, "m", [(key, vector) for key, vector in made if vector is not None])
