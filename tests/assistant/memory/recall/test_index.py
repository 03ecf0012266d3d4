from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.memory.recall import RecallIndexError, RecallQuery, SqliteIndex, Vector, make_vector
from mud_assistant.assistant.memory.recall.sqlite.files import NO_FULL_TEXT, connect_file
from mud_assistant.assistant.memory.recall.tables import LONG_LINE
from mud_assistant.tools.memories import MemoryKind
from tests.assistant.memory.recall.keeping import WHO, Filled, ask, heard, without_full_text

OWNER = frozenset[str]()


def rows_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def opened(path: Path) -> SqliteIndex:
    index = SqliteIndex(path)
    assert index.open() == ""
    return index


def test_state_is_what_the_caller_gave(tmp_path: Path) -> None:
    index = opened(tmp_path / "a.recall")
    assert index.state(WHO) == (0, 0)
    index.add(WHO, [(7, heard("m1", "ann", "The bell cracked.")), (9, heard("m2", "bob", "A red boat."))])
    index.remove(WHO, ["m2"], 3)
    index.close()
    index = opened(tmp_path / "a.recall")
    assert index.state(WHO) == (9, 3)
    assert ask(index, "bell").ids == ("m1",)
    assert index.state("other") == (0, 0)
    index.clear(WHO)
    assert (index.state(WHO), len(index.ids(WHO))) == ((0, 0), 0)
    index.close()


def test_one_assistant_does_not_find_what_another_heard(filled: Filled) -> None:
    index = filled(heard("m1", "ann", "The bell cracked."))
    index.add("other", [(1, heard("m2", "ann", "The bell was cast anew."))])
    assert ask(index, "bell").ids == ("m1",)
    index.clear("other")
    assert ask(index, "bell").ids == ("m1",)


def test_same_id_is_renewed(filled: Filled) -> None:
    index = filled(heard("m1", "ann", "I live in the mill."), heard("m2", "bob", "I own a boat."))
    index.add(WHO, [(3, heard("m1", "ann", "I live in the tower."))])
    assert ask(index, "mill").ids == ()
    assert ask(index, "tower").ids == ("m1",)
    index.add(WHO, [(4, heard("m1", "ann", "I live in the tower.", superseded_by="m9"))])
    assert ask(index, "tower").ids == ()
    assert len(index.ids(WHO)) == 2


def test_nothing_is_added_when_one_row_fails(filled: Filled) -> None:
    index = filled(heard("m1", "ann", "The bell cracked."))

    def rows() -> object:
        yield 2, heard("m2", "bob", "A red boat.")
        raise KeyError("m3")

    with pytest.raises(KeyError):
        index.add(WHO, rows())  # type: ignore[arg-type] # an iterator that fails
    assert (len(index.ids(WHO)), index.state(WHO)) == (1, (1, 0))
    index.add("new", [(1, heard("m2", "bob", "A red boat."))])
    assert len(index.ids("new")) == 1


def test_no_byte_of_what_was_removed_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.recall"
    index = opened(path)
    lines = [heard(f"m{n}", "bob", f"The weather is fair on day {n}.") for n in range(1, 400)]
    planted = [
        heard(f"m{n}", "ann", f"My secret is zanzibar{n} and quibble{n}.", audience=frozenset({"annoxyz"}))
        for n in range(400, 480)
    ]
    public = heard("m500", "ann", "I hid the wombatkey.")
    after = [heard("m501", "bob", "Where?"), heard("m502", "cid", "Under what?")]
    index.add(WHO, enumerate([*lines, *planted, public, *after], 1))
    assert ask(index, "zanzibar411").ids[0] == "m411"
    assert set(ask(index, "wombatkey").ids) == {"m500", "m501", "m502"}
    index.remove(WHO, [*(line.id for line in planted), "m500"], 1)
    assert ask(index, "zanzibar411 wombatkey").ids == ()
    index.erase()
    left = rows_of(path)
    assert [word for word in (b"zanzibar", b"quibbl", b"wombatkey", b"annoxyz") if word in left] == []
    assert ask(index, "weather", limit=50).ids
    index.add(WHO, [(600, heard("m600", "cid", "It rains.", audience=frozenset({"cid"})))])
    assert ask(index, "rains", "cid").ids == ("m600",)
    index.close()


def test_neighbours_of_a_removed_line_keep_their_other_neighbours(filled: Filled) -> None:
    index = filled(
        heard("m1", "ann", "Who has the lantern?"),
        heard("m2", "bob", "What about the kettle?"),
        heard("m3", "cid", "Mine."),
    )
    index.remove(WHO, ["m2"])
    assert "m3" in ask(index, "lantern").ids
    assert ask(index, "kettle").ids == ()


def test_a_long_line_is_found_by_its_end_and_is_nobodys_neighbour(filled: Filled) -> None:
    long = "The road is long. " * (LONG_LINE // 5) + "At its end stands a windmill."
    index = filled(heard("m1", "ann", long), heard("m2", "bob", "So it is."))
    assert ask(index, "windmill").ids == ("m1",)


@pytest.mark.parametrize("content", [b"no database at all" * 400, b"SQLite format 3\x00" + b"\x07" * 4000])
def test_a_broken_file_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.recall"
    path.write_bytes(content)
    index = SqliteIndex(path)
    assert "begun anew" in index.open()
    index.add(WHO, [(1, heard("m1", "ann", "The bell cracked."))])
    index.close()
    assert ask(opened(path), "bell").ids == ("m1",)


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 99", "PRAGMA application_id = 5"])
def test_a_foreign_or_newer_file_is_begun_anew(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "a.recall"
    index = opened(path)
    index.add(WHO, [(1, heard("m1", "ann", "The bell cracked."))])
    index.close()
    db = connect_file(path)
    db.execute(statement)
    db.close()
    index = SqliteIndex(path)
    assert "another version" in index.open()
    assert index.state(WHO) == (0, 0)


def test_another_language_begins_anew(tmp_path: Path) -> None:
    index = opened(tmp_path / "a.recall")
    index.add(WHO, [(1, heard("m1", "ann", "The bell cracked."))])
    index.close()
    index = SqliteIndex(tmp_path / "a.recall", "german")
    assert "language" in index.open()
    index.add(WHO, [(1, heard("m1", "ann", "Die Glocken haben einen Sprung."))])
    assert ask(index, "Glocke").ids == ("m1",)


def test_a_place_that_cannot_hold_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    index = SqliteIndex(tmp_path / "file" / "a.recall")
    assert index.open().startswith("There is no index of memories")
    with pytest.raises(RecallIndexError):
        ask(index, "bell")


def test_damage_met_later_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "a.recall"
    index = opened(path)
    index.add(WHO, [(1, heard("m1", "ann", "The bell cracked."))])
    db = connect_file(path)
    db.execute("DROP TABLE beside_1")
    db.close()
    with pytest.raises(RecallIndexError):
        ask(index, "bell")
    index.delete()
    assert index.open() == ""
    assert index.state(WHO) == (0, 0)


def test_without_fts5_it_searches_and_says_so(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path / "a.recall", connect=without_full_text)
    assert index.open() == NO_FULL_TEXT
    lines = [
        heard("m1", "ann", "The bell in the chapel cracked."),
        heard("m2", "bob", "Bells are loud."),
        heard("m3", "ann", "My bell is hidden.", audience=frozenset({"ann"})),
    ]
    index.add(WHO, enumerate(lines, 1))
    assert ask(index, "What happened to the chapel bell?", "bob").ids == ("m1", "m2")
    assert set(ask(index, "bell", "ann").ids) == {"m1", "m2", "m3"}
    assert ask(index, "What does Ann say about the bell?", "bob").ids[0] == "m1"
    index.remove(WHO, ["m1"], 1)
    index.erase()
    assert b"chapel" not in rows_of(tmp_path / "a.recall")
    index.close()


def test_a_file_made_without_fts5_is_begun_anew_with_it(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path / "a.recall", connect=without_full_text)
    index.open()
    index.close()
    assert "begun anew" in SqliteIndex(tmp_path / "a.recall").open()


def meaning(*values: float) -> Vector:
    vector = make_vector("mini", values)
    assert vector is not None
    return vector


def test_vectors_find_what_shares_no_word_for_those_who_may_hear(filled: Filled) -> None:
    index = filled(
        heard("m1", "ann", "I cannot stomach oysters."),
        heard("m2", "bob", "Clams make me ill.", audience=frozenset({"bob"})),
        heard("m3", "cid", "The sea is grey."),
    )
    assert index.vectors_missing(WHO, "mini", 2) == [("m3", "cid: The sea is grey."), ("m2", "bob: Clams make me ill.")]
    index.put_vectors(
        WHO, "mini", [("m1", meaning(1, 0.1, 0)), ("m2", meaning(0.9, 0.2, 0)), ("gone", meaning(1, 0, 0))]
    )
    index.put_vectors(WHO, "mini", [("m3", meaning(0, 0.1, 1))])
    assert index.vectors_missing(WHO, "mini", 9) == []
    assert len(index.vectors_missing(WHO, "other", 9)) == 3
    query = RecallQuery("Who is allergic to shellfish?", frozenset({"cid"}), "cid", vector=meaning(1, 0, 0))
    found = index.search(WHO, query)
    assert (found.ids, found.unsure) == (("m1",), frozenset({"m1"}))
    owner = RecallQuery("Who is allergic to shellfish?", OWNER, vector=meaning(1, 0, 0))
    assert index.search(WHO, owner).ids == ("m1", "m2")
    index.remove(WHO, ["m1"])
    assert index.search(WHO, owner).ids == ("m2",)
    index.add(WHO, [(4, heard("m4", "dan", "Mussels kill me."))])
    index.put_vectors(WHO, "mini", [("m4", meaning(1, 0, 0.1))])
    assert set(index.search(WHO, owner).ids) == {"m2", "m4"}


def test_notes_have_no_neighbours(filled: Filled) -> None:
    index = filled(heard("m1", "ann", "A lantern."), heard("m2", "", "Ann is late.", kind=MemoryKind.FACT))
    assert ask(index, "lantern").ids == ("m1",)
