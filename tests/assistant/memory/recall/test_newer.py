from __future__ import annotations

from msgspec.structs import replace

from mud_assistant.assistant.memory.recall import RecallQuery, make_vector
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


def test_lines_of_one_person_that_mean_nearly_the_same_push_nothing_out(filled: Filled) -> None:
    """Who bakes every week does not correct what was said of last week's cake."""
    first = heard("m1", "ann", "On Sunday I baked a plum cake with honey, nuts, raisins and cinnamon, for my uncle.")
    others = ("honey", "nuts", "raisins", "cinnamon") * 2
    index = filled(
        first,
        *(heard(f"m{n}", "ann", f"A {n} pound cake with {one} went to guest{n}.") for n, one in enumerate(others, 2)),
    )
    made = [(f"m{n}", make_vector("m", [1.0, n / 100])) for n in range(1, 10)]
    index.put_vectors(WHO, "m", [(key, vector) for key, vector in made if vector is not None])
    query = RecallQuery(
        "For whom was the cake of plums?", frozenset({"cid"}), "cid", now=1e6, vector=make_vector("m", [1.0, 0])
    )
    assert "m1" in index.search(WHO, query).ids
    assert "m1" in index.search(WHO, replace(query, vector=None)).ids


def test_the_first_that_words_find_stand_among_the_first_whatever_means_alike(filled: Filled) -> None:
    index = filled(
        heard("m1", "ann", "The clinic opens at noon."),
        *(heard(f"m{n}", f"p{n}", f"The physician of deck {n} sees nobody early.") for n in range(2, 40)),
    )
    made = [(f"m{n}", make_vector("m", [1.0, 0.01 * n])) for n in range(2, 40)]
    index.put_vectors(WHO, "m", [(key, vector) for key, vector in made if vector is not None])
    query = RecallQuery(
        "When does the clinic open?", frozenset({"cid"}), "cid", now=1e6, vector=make_vector("m", [1, 0.0])
    )
    found = index.search(WHO, query)
    assert "m1" in found.ids
    assert len(found.ids) == 5
