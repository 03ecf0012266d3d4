from __future__ import annotations

from tests.assistant.memory.recall.keeping import Filled, ask, heard

ANN = frozenset({"ann"})


def test_what_became_of_a_thing_is_found_by_its_name(filled: Filled) -> None:
    index = filled(
        heard("m1", "ann", "I sleep in the hayloft of the Black Ram."),
        heard("m2", "bob", "The Black Ram has good ale."),
        heard("m3", "ann", "The Black Ram has burned to the ground."),
    )
    found = ask(index, "Where does Ann sleep?", "cid")
    assert (found.ids[:2], found.before) == (("m3", "m1"), (("m3", "m1"),))


def test_a_word_that_many_lines_hold_leads_nowhere(filled: Filled) -> None:
    crowd = [heard(f"m{n}", "bob", f"Osric passed by at the hour of {n}.") for n in range(10, 20)]
    index = filled(
        heard("m1", "ann", "My brother is called Osric."), *crowd, heard("m30", "ann", "I saw that Osric has a hat.")
    )
    found = ask(index, "Who is the brother?", "cid").ids
    assert found[0] == "m1"
    assert "m30" not in found


def test_a_private_line_is_not_found_by_the_public_one_before_it(filled: Filled) -> None:
    index = filled(
        heard("m1", "ann", "I sleep in the hayloft of the Black Ram."),
        heard("m2", "ann", "I have set fire to the Black Ram.", audience=ANN),
    )
    assert ask(index, "Where does Ann sleep?", "cid").ids == ("m1",)
    assert ask(index, "Where does Ann sleep?", "ann").ids == ("m2", "m1")


def test_what_is_no_more_known_is_not_found_by_its_name(filled: Filled) -> None:
    index = filled(
        heard("m1", "ann", "I sleep in the hayloft of the Black Ram."),
        heard("m2", "ann", "The Black Ram has burned to the ground.", superseded_by="m3"),
        heard("m4", "ann", "The Black Ram was closed for a day.", expires=5.0),
    )
    assert ask(index, "Where does Ann sleep?", "cid").ids == ("m1",)
