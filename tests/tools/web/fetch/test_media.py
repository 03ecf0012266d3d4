"""Which codec a page is read with: mark, header, meta; a stranger's label reaches only codecs of text."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.web.fetch.body import (
    BrokenPacking,
    Gunzip,
    charset_label,
    declared_charset,
    is_readable,
    media_type,
)


@pytest.mark.parametrize(
    ("header", "body", "charset"),
    [
        ("text/html; charset=utf-8", b"x", "utf_8"),
        ("text/html; charset=UTF8", b"x", "utf_8"),
        ('text/html;charset="ISO-8859-1"', b"x", "cp1252"),
        ("text/html; a=b; charset=windows-1251; c=d", b"x", "cp1251"),
        ("text/html; charset=Shift_JIS", b"x", "cp932"),
        ("text/html; charset=gb2312", b"x", "gb18030"),
        ("text/html; charset=EUC-KR", b"x", "cp949"),
        ("text/html; charset=koi8-r", b'<meta charset="utf-8">', "koi8_r"),
        ("text/html; charset=iso-8859-15", b"x", "iso8859_15"),
        ("text/html; charset=utf-16le", b"x", "utf_16_le"),
        ("text/html", b'<html><head><meta charset="windows-1252">', "cp1252"),
        ("text/html", b"<META http-equiv=Content-Type content='text/html; charset=euc-jp'>", "euc_jp"),
        ("text/html", b'<meta charset="utf-16">', "utf-8"),
        ("text/html", b" " * 1024 + b'<meta charset="euc-jp">', None),
        ("application/xml", b'<?xml version="1.0" encoding="iso-8859-2"?>', "iso8859_2"),
        ("text/plain", b'<meta charset="euc-jp">', None),
        ("application/json", b"{}", None),
        (None, b"x", None),
    ],
)
def test_the_codec_that_is_declared(header: str | None, body: bytes, charset: str | None) -> None:
    found = declared_charset(charset_label(header), media_type(header, body), body)
    assert found == charset
    body.decode(found or "utf-8", "replace")


def test_every_label_of_the_standard_is_known() -> None:
    labels: dict[str, str] = pytest.importorskip("webencodings.labels").LABELS
    unknown = [label for label, name in labels.items() if declared_charset(label, "text/plain", b"") is None]
    assert {labels[label] for label in unknown} <= {"replacement", "x-user-defined"}


@pytest.mark.parametrize(
    "label",
    [
        "idna",
        "punycode",
        "rot_13",
        "rot13",
        "hex",
        "base64",
        "zlib",
        "bz2",
        "uu",
        "quopri",
        "unicode_escape",
        "utf-7",
        "raw_unicode_escape",
        "undefined",
        "mbcs",
        "oem",
        "charmap",
        "utf-8\x00",
        "../x",
        "nonsense",
        "cp037",
        "hz",
        "",
    ],
)
def test_labels_that_are_no_encoding_of_text(label: str) -> None:
    assert declared_charset(charset_label(f"text/html; charset={label}"), "text/html", b"x") in {None, "utf-8", "utf_8"}
    assert declared_charset("", "text/html", f'<meta charset="{label}">'.encode()) in {None, "utf-8", "utf_8"}


@given(st.text(max_size=300), st.binary(max_size=200))
def test_any_header_and_body_can_be_decoded(header: str, body: bytes) -> None:
    kind = media_type(header, body)
    is_readable(kind)
    codec = declared_charset(charset_label(header), kind, body) or "utf-8"
    assert isinstance(body.decode(codec, "replace"), str)


@given(st.binary(max_size=300))
def test_any_bytes_are_unpacked_or_refused(data: bytes) -> None:
    unpacker = Gunzip(1000)
    try:
        unpacker.feed(data)
        unpacker.end()
    except BrokenPacking:
        return
    assert unpacker.is_cut or data.strip(b"\0") == b"" or data[:2] == b"\x1f\x8b"


def test_a_bomb_is_never_unpacked_beyond_the_cap() -> None:
    packed = gzip.compress(bytes(50_000_000), mtime=0)
    tracemalloc.start()
    unpacker = Gunzip(1000)
    assert unpacker.feed(packed) == bytes(1000)
    assert unpacker.is_cut
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=5), st.integers(1, 30))
def test_members_cut_anywhere_come_out_whole(runners: list[bytes], piece: int) -> None:
    packed = b"".join(map(gzip.compress, runners))
    content = b"".join(runners)
    exact, short = Gunzip(len(content)), Gunzip(max(0, len(content) - 1))
    cuts = [packed[start : start + piece] for start in range(0, len(packed), piece)]
    assert b"".join(map(exact.feed, cuts)) == content
    exact.end()
    assert b"".join(map(short.feed, cuts)) == content[: max(0, len(content) - 1)]
    assert short.is_cut is bool(content)


@pytest.mark.parametrize(
    "kind",
    [
        *("text/csv", "text/yaml", "text/x-python", "text/x-c", "text/tab-separated-values", "text/calendar"),
        *(
            "application/yaml",
            "application/x-yaml",
            "application/toml",
            "application/x-ndjson",
            "application/javascript",
        ),
        *("application/rss+xml", "application/atom+xml", "application/ld+json", "application/x-sh", "application/sql"),
    ],
)
def test_text_of_any_kind_can_be_read(kind: str) -> None:
    assert is_readable(kind)


@pytest.mark.parametrize("kind", ["image/png", "video/mp4", "application/zip", "application/octet-stream", "text/rtf"])
def test_what_is_no_text_cannot(kind: str) -> None:
    assert not is_readable(kind)
