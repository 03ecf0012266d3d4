"""In which character set a page is written, whatever its server says."""

# ruff: noqa: RUF001  (texts in many scripts)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.web.extracting.charsets import text_of

GERMAN = "Die Straße über die Brücke wurde 1910 für die Bürger der schönen Stadt geöffnet."
RUSSIAN = "Москва является столицей России и крупнейшим городом страны."
JAPANESE = "東京は日本の首都であり、世界最大の都市の一つです。"


@pytest.mark.parametrize(
    ("body", "label", "text"),
    [
        (GERMAN.encode(), "", GERMAN),
        (GERMAN.encode(), "iso-8859-1", GERMAN),  # UTF-8 whatever is said of it
        (b"plain", "nonsense", "plain"),
        (GERMAN.encode("cp1252"), "latin1", GERMAN),
        (GERMAN.encode("cp1252"), "x-cp1252", GERMAN),
        (RUSSIAN.encode("koi8-r"), "cskoi8r", RUSSIAN),
        (RUSSIAN.encode("cp1251"), "x-cp1251", RUSSIAN),
        (JAPANESE.encode("cp932"), "x-sjis", JAPANESE),
        (JAPANESE.encode("iso2022_jp"), "csiso2022jp", JAPANESE),
        (GERMAN.encode("utf-16-le"), "utf-16", GERMAN),
        (b"\xef\xbb\xbfM", "cp1252", "M"),
        ("\ufeff\u0416".encode("utf-16-be"), "utf-8", "\u0416"),
        ("Ж".encode("cp1251"), "windows-1251", "Ж"),
        (JAPANESE.encode()[:-1], "", JAPANESE[:-1]),  # cut in the middle of its last character
    ],
)
def test_what_is_utf_8_or_declared(body: bytes, label: str, text: str) -> None:
    assert text_of(body, "text/plain", label) == (text, False)


def test_a_page_declares_it_itself() -> None:
    page = f'<html><head><meta charset="windows-1251"></head><p>{RUSSIAN}</p>'
    assert RUSSIAN in text_of(page.encode("cp1251"), "text/html", "")[0]


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        (GERMAN, "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        ("北京是中华人民共和国的首都，历史悠久的城市。", "gb18030"),
        ("서울은 대한민국의 수도이며 가장 큰 도시이다.", "cp949"),
        ("Η Αθήνα είναι η πρωτεύουσα της Ελλάδας.", "cp1253"),
    ],
)
@pytest.mark.parametrize("label", ["", "utf-8"])
def test_what_is_not_or_wrongly_declared_is_detected(text: str, charset: str, label: str) -> None:
    pytest.importorskip("charset_normalizer")
    page = f"<html><head><title>x</title></head><body>\n<p>{text}</p>\n{'<p>words</p>' * 20}</body></html>"
    found, is_lossy = text_of(page.encode(charset), "text/html", label)
    assert text in found
    assert not is_lossy


def test_the_language_of_the_page_decides_between_equals() -> None:
    pytest.importorskip("charset_normalizer")
    turkish = "İstanbul Türkiye'nin en kalabalık şehridir, güneşli bir gün."
    page = f'<html lang="tr">\n<p>{turkish}</p>'
    assert turkish in text_of(page.encode("cp1254"), "text/html", "")[0]


def test_a_few_broken_characters_are_replaced_and_told() -> None:
    text, is_lossy = text_of(RUSSIAN.encode() + b"\xff\xfe!", "text/plain", "")
    assert text.startswith(RUSSIAN)
    assert is_lossy
    assert text_of(JAPANESE.encode("euc_jp") * 9 + b"\xff\xff ok", "text/plain", "euc-jp")[1]


@given(st.binary(max_size=300), st.sampled_from(["", "utf-8", "gbk", "utf-16", "iso-2022-jp", "x-user-defined", "hex"]))
def test_any_bytes_are_text(body: bytes, label: str) -> None:
    assert isinstance(text_of(body, "text/html", label)[0], str)
