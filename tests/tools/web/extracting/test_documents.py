from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.web.extracting.documents import read_document
from mud_assistant.tools.web.extracting.extracted import Extracted, ExtractLimits, Flag, Unreadable
from tests.tools.web.extracting.bombs import small_pdf

for package in ("trafilatura", "html_to_markdown", "pypdf"):
    pytest.importorskip(package)


def read(body: bytes, kind: str, *, charset: str = "", most: int = 1_000_000, late: bool = False) -> Extracted:
    limits = ExtractLimits(output_chars=most, pdf_pages=3)
    return read_document(body, kind, charset, "https://h.example/", limits=limits, is_late=lambda: late)


@pytest.mark.parametrize("kind", ["text/plain", "text/markdown; charset=x", "TEXT/CSV", "text/x-unheard-of"])
def test_plain_text_comes_as_it_stands(kind: str) -> None:
    assert read(b"# One\n\n  two\n    three", kind).markdown == "# One\n\n  two\n    three"


def test_all_text_is_clean_and_keeps_its_lines() -> None:
    dirty = "a\u202eb\r\nc\x1b[31md\u200be\U000e0041f\0g\x07h Cafe\u0301\ud7ff".encode()
    assert read(dirty, "text/plain").markdown == "ab\ncdefgh Caf\u00e9\ud7ff"
    html = "<title>a\u202eb</title><main><p>x\u200by &#8238; &#xE0041; &#27;[0m</p>".encode()
    found = read(html, "text/html")
    assert (found.title, "".join(found.markdown.split())) == ("ab", "xy")


@given(st.binary(max_size=300), st.sampled_from(["text/html", "application/xml", "application/json", "text/plain", ""]))
def test_any_bytes_give_text_or_a_reason(body: bytes, kind: str) -> None:
    with suppress(Unreadable):
        assert "\x1b" not in read(body, kind).markdown


def test_a_text_over_the_cap_is_cut_and_flagged() -> None:
    found = read(b"x" * 1001, "text/plain", most=1000)
    assert (len(found.markdown), found.flags) == (1000, frozenset({Flag.CUT}))
    assert read(b"x" * 1000, "text/plain", most=1000).flags == frozenset()


def test_json_is_laid_out_and_what_is_none_stays() -> None:
    assert read(b'{"a":[1,"\xc3\xa9"]}', "application/ld+json").markdown == '{\n "a": [\n  1,\n  "\u00e9"\n ]\n}'
    for odd in (b'{"a":1', b'{"a":1}\n{"a":2}', b"[" * 5000, b"1" * 5000):
        assert read(odd, "application/json").markdown == odd.decode()


RSS = """<?xml version="1.0" encoding="utf-16"?><rss><channel><title>News &amp; more</title>
<item><title>One</title><link>https://h/1</link><pubDate>Mon</pubDate><description>&lt;b&gt;Bold&lt;/b&gt; words
</description></item><item><title>Two</title><link>javascript:x</link></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title><entry><title>A<!-- x --></title>
<link rel="self" href="https://h/self"/><link href="https://h/a"/><updated>2026</updated><summary>S</summary></entry></feed>"""


@pytest.mark.parametrize("kind", ["application/rss+xml", "text/xml", "application/xml"])
def test_a_feed_is_a_list(kind: str) -> None:
    found = read(RSS.encode(), kind)
    assert found.title == "News & more"
    assert found.markdown == "- [One](https://h/1) (Mon): Bold words\n- Two"
    assert read(ATOM.encode(), kind) == Extracted("Log", "- [A](https://h/a) (2026): S")


def test_entities_of_a_feed_bring_in_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("PLANTED")
    text = f"<!DOCTYPE r [<!ENTITY e SYSTEM 'file://{secret}'>]><rss><item><title>x &e; y</title></item></rss>"
    found = read(text.encode(), "text/xml")
    assert "PLANTED" not in found.markdown
    assert found.markdown.startswith("- x")


def test_other_xml_stays_and_xhtml_is_a_page() -> None:
    assert read(b"<config><a>1</a></config>", "text/xml").markdown == "<config><a>1</a></config>"
    assert (
        read(b"<html xmlns='http://www.w3.org/1999/xhtml'><body><p>Hi</p></body></html>", "text/xml").markdown == "Hi"
    )
    assert read(b"<broken", "text/xml").markdown == "<broken"


@pytest.mark.parametrize("kind", ["application/pdf", "", "application/octet-stream"])
def test_a_pdf_comes_as_its_words_page_by_page(kind: str) -> None:
    assert read(small_pdf("Hello sailor"), kind).markdown == "## Page 1\n\nHello sailor"


def many_pages(count: int) -> bytes:
    import io  # noqa: PLC0415

    from pypdf import PdfReader, PdfWriter  # noqa: PLC0415

    one = PdfReader(io.BytesIO(small_pdf("Words"))).pages[0]
    writer = PdfWriter()
    for _ in range(count):
        writer.add_page(one)
    writer.add_metadata({"/Title": "A book"})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_long_pdf_is_read_to_the_limit_of_pages_or_of_time() -> None:
    found = read(many_pages(3), "application/pdf")
    assert (found.title, found.markdown.count("Words"), found.flags) == ("A book", 3, frozenset())
    found = read(many_pages(4), "application/pdf")
    assert (found.markdown.count("Words"), found.flags) == (3, frozenset({Flag.PAGES_LEFT_OUT}))
    found = read(many_pages(3), "application/pdf", late=True)
    assert (found.markdown.count("Words"), found.flags) == (1, frozenset({Flag.PAGES_LEFT_OUT}))


@pytest.mark.parametrize(
    ("body", "kind", "why"),
    [
        (b"%PDF-1.4 nothing more", "application/pdf", "not a sound PDF"),
        (small_pdf(""), "application/pdf", "no text"),
        (b"\x89PNG", "image/png", "not text"),
        (b"\x89PNG\0", "", "not text"),
        (b"MZ", "application/x-msdownload", "not text"),
    ],
)
def test_what_has_no_text_says_why(body: bytes, kind: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read(body, kind)


def test_a_sniffed_type_is_found_behind_white_space() -> None:
    assert read(b"\n <!DOCTYPE HTML><p>Hi", "").markdown == "Hi"
    assert json.loads(read(b"{}", "application/json").markdown) == {}


@pytest.mark.parametrize(
    "kind", ["application/yaml", "application/x-sh", "application/x-ndjson", "text/csv", "text/x-c"]
)
def test_data_and_source_text_come_as_they_stand(kind: str) -> None:
    assert read(b"a: 1\nb:\n  - 2", kind).markdown == "a: 1\nb:\n  - 2"


def test_a_feed_that_its_server_calls_a_page_is_a_list() -> None:
    assert read(RSS.encode(), "text/html").markdown == "- [One](https://h/1) (Mon): Bold words\n- Two"


def test_lost_characters_are_told() -> None:
    found = read("Möwe und Fähre und Dünen".encode() + b"\xff", "text/plain", charset="utf-8")
    assert found.flags == frozenset({Flag.CHARACTERS_LOST})
    assert read("Möwe".encode("cp1252"), "text/plain", charset="latin1").flags == frozenset()
