"""Decodes a document's bytes: finds the character set it is written in. Runs in the worker.

The first of these that fits decides:

a byte-order mark     names the set
UTF-8                 when the bytes are valid UTF-8: other text hardly ever is by chance
declared              by the Content-Type header, else by a meta element or an XML declaration
mostly UTF-8          with a few broken characters, which are replaced
detected              by charset-normalizer, among the sets that browsers know
otherwise             the declared set, else windows-1252; what cannot be read is replaced
"""

from __future__ import annotations

import codecs
import re

from mud_assistant.tools.web.fetch.body import declared_charset

#: The replacement character: it stands where some of the text is lost.
LOST = "\ufffd"
FALLBACK = "cp1252"
#: Detection costs time for each byte, so only this many are looked at.
_DETECTED_BYTES = 64 * 1024
#: Text counts as mostly UTF-8 with at least this many sound characters beyond ASCII for each broken one.
_SOUND_PER_BROKEN = 2
#: Text in a declared set may have one broken character in this many.
_CHARACTERS_PER_BROKEN = 50
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
#: Sets this near to the best in charset-normalizer's figures count as equal; the more usual one is then taken.
_NEAR, _NEAR_COHERENCE = 0.02, 0.08
#: The sets that detection chooses among, the most usual first: those of the WHATWG standard, by Python's names.
_DETECTABLE = (
    *("cp1252", "cp1251", "cp932", "euc_jp", "gb18030", "cp949", "big5hkscs", "cp1250", "koi8_r", "cp1253", "cp1254"),
    *("cp1255", "cp1256", "cp874", "cp1257", "cp1258", "iso8859_2", "iso8859_7", "iso8859_5", "cp866", "koi8_u"),
    *("mac_cyrillic", "utf_16_le", "utf_16_be"),
)
_HEAD_BYTES = 4096
_LANGUAGE = re.compile(rb"<html\b[^>]{0,300}?\blang\s*=\s*[\"']?([a-z]{2})\b", re.IGNORECASE)
_EASTERN = ("iso8859_2", "cp1250")
#: The sets the standard assumes for pages in these languages that declare none.
_OF_LANGUAGES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("cs", "hu", "pl", "sk", "sl", "hr", "ro", "bs", "sq"), _EASTERN),
    **dict.fromkeys(("ru", "bg", "sr", "mk", "be"), ("cp1251", "koi8_r")),
    **dict.fromkeys(("lt", "lv", "et"), ("cp1257",)),
    "uk": ("cp1251", "koi8_u"),
    "ja": ("cp932", "euc_jp"),
    "ko": ("cp949",),
    "zh": ("gb18030", "big5hkscs"),
    "tr": ("cp1254",),
    "el": ("cp1253", "iso8859_7"),
    "he": ("cp1255",),
    "ar": ("cp1256",),
    "fa": ("cp1256",),
    "th": ("cp874",),
    "vi": ("cp1258",),
}
_CONTROLS = re.compile("[\x80-\x9f]")
_KANA, _HANGUL = re.compile("[\u3041-\u30fa]"), re.compile("[\uac00-\ud7a3]")


def text_of(body: bytes, kind: str, label: str) -> tuple[str, bool]:
    """Return the text of a document of this type, and whether any of its characters were replaced.

    `label` is the character set of the Content-Type header, empty when the header names none. A character that the end
    of the body cuts in two is left out.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _decode_replacing(body.removeprefix(mark), name)
    declared = declared_charset(label, kind, body)
    # Text in 7 bits with escapes, or in pairs of bytes, is valid UTF-8 too; then the declared set goes first.
    is_doubtful = declared is not None and (b"\x1b" in body or b"\0" in body)
    for charset in (declared, "utf-8") if is_doubtful else ("utf-8", declared):
        sound_text = None if charset is None else _decode_strictly(body, charset)
        if sound_text is not None:
            return sound_text, False
    mostly, _ = _decode_replacing(body, "utf-8")
    broken, sound = mostly.count(LOST), sum(character > "\x7f" for character in mostly)
    if sound > broken and sound - broken >= _SOUND_PER_BROKEN * broken:
        return mostly, True
    if declared is not None and declared not in {"utf-8", "utf_8"}:
        text, _ = _decode_replacing(body, declared)
        if text.count(LOST) * _CHARACTERS_PER_BROKEN <= len(text):
            return text, True
    detected = _detect(body)
    return (detected, False) if detected is not None else _decode_replacing(body, declared or FALLBACK)


def _decode_strictly(body: bytes, name: str) -> str | None:
    """Return the text, or None when the bytes are not valid in that set.

    A character that the end cuts in two is left out if other characters beyond ASCII show that the set is right.
    """
    decoder = codecs.getincrementaldecoder(name)("strict")
    try:
        text = decoder.decode(body)
        rest = decoder.getstate()[0]
        return None if rest and text.isascii() else text
    except UnicodeError:
        return None


def _decode_replacing(body: bytes, name: str) -> tuple[str, bool]:
    text = codecs.getincrementaldecoder(name)("replace").decode(body)
    return text, LOST in text


def _detect(body: bytes) -> str | None:
    """Return the text in the set that fits best, or None when no set fits or the package is not installed."""
    try:
        from charset_normalizer import from_bytes  # noqa: PLC0415  (only the worker has it)
    except ImportError:
        return None
    matches = list(from_bytes(_telling(body), cp_isolation=[*_DETECTABLE], enable_fallback=False))
    if not matches:
        return None
    least, most = min(match.chaos for match in matches), max(match.coherence for match in matches)
    near = [m.encoding for m in matches if m.chaos <= least + _NEAR and m.coherence >= most - _NEAR_COHERENCE]
    texts = {name: text for name in near if (text := _decode_strictly(body, name)) is not None}
    expected = _by_language(body)

    def place(name: str) -> tuple[bool, int, int]:
        usual = expected.index(name) if name in expected else len(expected)
        return _is_odd(texts[name]), usual, _DETECTABLE.index(name)

    return texts[min(texts, key=place)] if texts else None


def _by_language(body: bytes) -> tuple[str, ...]:
    """Return the sets in which the page's language is usually written; empty when the page names no known language."""
    found = _LANGUAGE.search(body[:_HEAD_BYTES])
    return _OF_LANGUAGES.get(found[1].decode("ascii").lower(), ()) if found else ()


def _is_odd(text: str) -> bool:
    """Tell whether the set is wrong: the text has control characters, or Japanese beside Korean letters."""
    return _CONTROLS.search(text) is not None or (_KANA.search(text) is not None and _HANGUL.search(text) is not None)


def _telling(body: bytes) -> bytes:
    """Return the part of the body to judge by: lines with characters beyond ASCII, since only those are in doubt."""
    lines: list[bytes] = []
    size = 0
    for line in body.splitlines():
        if not line.isascii():
            lines.append(line)
            size += len(line)
            if size > _DETECTED_BYTES:
                break
    return b"\n".join(lines)[:_DETECTED_BYTES]
