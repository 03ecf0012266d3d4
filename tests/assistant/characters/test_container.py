"""Files that strangers made: whatever is in them, they are read or refused, and nothing else."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.characters import CardRefused, preview_card
from mud_assistant.assistant.characters.png import read_texts, with_texts
from tests.assistant.characters.cards import V2, archive, as_json, chunk, packed, picture, text_chunk
from tests.effort import times

WELL = (
    picture(text_chunk("chara", packed(V2))),
    picture(text_chunk("chara", packed(V2), b"zTXt")),
    picture(text_chunk("ccv3", packed(V2), b"iTXt")),
    archive({"card.json": as_json(V2)}),
    as_json(V2),
)
KINDS = st.sampled_from([b"tEXt", b"zTXt", b"iTXt", b"IDAT"])


def is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(CardRefused):
        preview_card(data)


@settings(max_examples=times(120), deadline=None)
@given(st.sampled_from(WELL), st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6), st.data())
def test_a_file_with_changed_bytes(data: bytes, changes: list[tuple[int, int]], more: st.DataObject) -> None:
    changed = bytearray(data)
    for place, value in changes:
        changed[place % len(changed)] = value
    is_read_or_refused(bytes(changed[: more.draw(st.integers(0, len(changed)))]))
    is_read_or_refused(bytes(changed))


@settings(max_examples=times(80), deadline=None)
@given(st.lists(st.tuples(KINDS, st.binary(max_size=200)), max_size=5))
def test_a_picture_of_any_chunks(chunks: list[tuple[bytes, bytes]]) -> None:
    made = [chunk(kind, body) for kind, body in chunks]
    made += [chunk(kind, b"chara\0" + body) for kind, body in chunks]
    is_read_or_refused(picture(*made))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
FIELDS = st.sampled_from([*V2["data"], "nickname", "entries"])
ENTRY_FIELDS = st.sampled_from(["keys", "key", "content", "secondary_keys", "insertion_order", "priority", "constant"])
BOOKS = st.fixed_dictionaries({"entries": st.lists(st.dictionaries(ENTRY_FIELDS, JSON), max_size=3) | JSON})


@settings(max_examples=times(40), deadline=None)
@given(st.dictionaries(FIELDS, JSON), BOOKS)
def test_a_card_of_any_values(fields: dict[str, object], book: object) -> None:
    is_read_or_refused(as_json({**V2, "data": {**V2["data"], "character_book": book, **fields}}))
    is_read_or_refused(as_json(book))
    is_read_or_refused(as_json({"name": "x", **fields}))


def test_texts_are_replaced_under_their_keyword_and_others_stay() -> None:
    before = picture(text_chunk("chara", b"old"), text_chunk("Title", b"kept"), text_chunk("chara", b"older", b"zTXt"))
    after = with_texts(before, {"chara": b"new"})
    assert [tuple(text) for text in read_texts(after, ("title", "chara"), [])] == [
        ("title", b"kept"),
        ("chara", b"new"),
    ]
