"""Bytes as text: in which character set a document is written. Runs in the worker.

a byte-order mark     says it
UTF-8                 when the bytes are: by chance, other text hardly ever is
declared              by the Content-Type header, else by a meta element or an XML declaration
mostly UTF-8          with a few broken characters, which are replaced
detected              by charset-normalizer, among the sets that browsers know
otherwise             the one that was declared, else windows-1252; what cannot be read is replaced
"""

from __future__ import annotations

import codecs
import re

from tools.web.media import declared_charset

#: The replacement character: some of the text is lost.
LOST = "\ufffd"
FALLBACK = "cp1252"
#: Detection costs time with each byte; the first of them tell.
_DETECTED_BYTES = 64 * 1024
#: Text that is mostly UTF-8 has at least so many of its own characters for each broken one.
_SOUND_PER_BROKEN = 2
#: Text of a declared set may have one broken character in so many.
_CHARACTERS_PER_BROKEN = 50
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
#: So near to the best in charset-normalizer's figures, sets are equal, and what is usual decides.
_NEAR, _NEAR_COHERENCE = 0.02, 0.08
#: Among what detection chooses, the most usual first: the sets of the WHATWG standard under Python's names.
_DETECTABLE = (
    *("cp1252", "cp1251", "cp932", "euc_jp", "gb18030", "cp949", "big5hkscs", "cp1250", "koi8_r", "cp1253", "cp1254"),
    *("cp1255", "cp1256", "cp874", "cp1257", "cp1258", "iso8859_2", "iso8859_7", "iso8859_5", "cp866", "koi8_u"),
    *("mac_cyrillic", "utf_16_le", "utf_16_be"),
)
_HEAD_BYTES = 4096
_LANGUAGE = re.compile(rb"<html\b[^>]{0,300}?\blang\s*=\s*[\"']?([a-z]{2})\b", re.IGNORECASE)
_EASTERN = ("iso8859_2", "cp1250")
#: What the standard takes for pages in these languages that declare nothing.
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
    """The text of a document of this type, and whether characters of it were replaced.

    `label` is what the Content-Type header calls its character set, empty when it says nothing. A character that the
    end of the body cuts in two is left out.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _replaced(body.removeprefix(mark), name)
    declared = declared_charset(label, kind, body)
    # Text in 7 bits with escapes, and text in pairs of bytes, is UTF-8 as well as what it says it is.
    is_doubtful = declared is not None and (b"\x1b" in body or b"\0" in body)
    for charset in (declared, "utf-8") if is_doubtful else ("utf-8", declared):
        sound_text = None if charset is None else _strictly(body, charset)
        if sound_text is not None:
            return sound_text, False
    mostly, _ = _replaced(body, "utf-8")
    broken, sound = mostly.count(LOST), sum(character > "\x7f" for character in mostly)
    if sound > broken and sound - broken >= _SOUND_PER_BROKEN * broken:
        return mostly, True
    if declared is not None and declared not in {"utf-8", "utf_8"}:
        text, _ = _replaced(body, declared)
        if text.count(LOST) * _CHARACTERS_PER_BROKEN <= len(text):
            return text, True
    detected = _detected(body)
    return (detected, False) if detected is not None else _replaced(body, declared or FALLBACK)


def _strictly(body: bytes, name: str) -> str | None:
    """The text; None when the bytes are not of that set.

    A character that the end cuts in two is left out, when other characters than ASCII show that the set is right.
    """
    decoder = codecs.getincrementaldecoder(name)("strict")
    try:
        text = decoder.decode(body)
        rest = decoder.getstate()[0]
        return None if rest and text.isascii() else text
    except UnicodeError:
        return None


def _replaced(body: bytes, name: str) -> tuple[str, bool]:
    text = codecs.getincrementaldecoder(name)("replace").decode(body)
    return text, LOST in text


def _detected(body: bytes) -> str | None:
    """The text in the set that fits best; None when none does, or the package is not there."""
    try:
        from charset_normalizer import from_bytes  # noqa: PLC0415  (only the worker has it)
    except ImportError:
        return None
    matches = list(from_bytes(_telling(body), cp_isolation=[*_DETECTABLE], enable_fallback=False))
    if not matches:
        return None
    least, most = min(match.chaos for match in matches), max(match.coherence for match in matches)
    near = [m.encoding for m in matches if m.chaos <= least + _NEAR and m.coherence >= most - _NEAR_COHERENCE]
    texts = {name: text for name in near if (text := _strictly(body, name)) is not None}
    expected = _by_language(body)

    def place(name: str) -> tuple[bool, int, int]:
        usual = expected.index(name) if name in expected else len(expected)
        return _is_odd(texts[name]), usual, _DETECTABLE.index(name)

    return texts[min(texts, key=place)] if texts else None


def _by_language(body: bytes) -> tuple[str, ...]:
    """The sets that the language of the page, when it names one, is usually written in."""
    found = _LANGUAGE.search(body[:_HEAD_BYTES])
    return _OF_LANGUAGES.get(found[1].decode("ascii").lower(), ()) if found else ()


def _is_odd(text: str) -> bool:
    """Whether the text was read in another's set: it has control characters, or Japanese beside Korean letters."""
    return _CONTROLS.search(text) is not None or (_KANA.search(text) is not None and _HANGUL.search(text) is not None)


def _telling(body: bytes) -> bytes:
    """The part of the body to judge by: lines with other characters than ASCII, which are what is in question."""
    lines: list[bytes] = []
    size = 0
    for line in body.splitlines():
        if not line.isascii():
            lines.append(line)
            size += len(line)
            if size > _DETECTED_BYTES:
                break
    return b"\n".join(lines)[:_DETECTED_BYTES]
