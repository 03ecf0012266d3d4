"""What a response says of itself: type, encoding of the characters, encoding for the way. Pure.

Only what an extractor can read is let through, and only encodings of text that Python and browsers both know: a codec
is never looked up by a stranger's label.
"""

from __future__ import annotations

import codecs
import re
from encodings.aliases import aliases

READABLE = frozenset(
    {
        "text/html",
        "application/xhtml+xml",
        "text/plain",
        "text/markdown",
        "text/x-markdown",
        "application/json",
        "text/json",
        "application/xml",
        "text/xml",
        "application/rss+xml",
        "application/atom+xml",
        "application/pdf",
    }
)
_READABLE_FAMILY = re.compile(r"application/[\w.+-]+\+(?:json|xml)", re.ASCII)
#: How far into a body we look for what it is (WHATWG's prescan does the same).
SNIFFED_BYTES = 1024
FALLBACK_CHARSET = "utf-8"

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"<meta\b[^>]{0,200}?\bcharset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\A\s{0,9}<\?xml\b[^>]{0,200}?\bencoding\s{0,9}=\s{0,9}[\"']([\w.:-]{1,40})", re.IGNORECASE)
_PARAMETER = re.compile(r";\s{0,9}charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE | re.ASCII)
_MAX_HEADER_CHARS = 256
_HTML = re.compile(rb"\A\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body|title|meta)\b", re.IGNORECASE)
#: What browsers read labels as (WHATWG Encoding Standard): old names stand for the larger set that contains them.
_WIDER = {
    "ascii": "cp1252",
    "latin_1": "cp1252",
    "iso8859_1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859_9": "cp1254",
    "iso8859_11": "cp874",
    "tis_620": "cp874",
    "big5": "big5hkscs",
    "utf_8_sig": "utf_8",
}
_TEXT_CODECS = (
    frozenset({"utf_8", "utf_16", "utf_16_le", "utf_16_be", "gb18030", "big5hkscs", "euc_jp", "iso2022_jp"})
    | {"cp932", "cp949", "cp866", "cp874", "koi8_r", "koi8_u", "mac_roman", "mac_cyrillic"}
    | {f"cp125{number}" for number in range(9)}
    | {f"iso8859_{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
)


def media_type(header: str | None, start: bytes) -> str:
    """The type of a response by its header, or by how its body starts when it has none; lower case."""
    if header is not None and "/" in header:
        return header.partition(";")[0].strip().lower()
    if start.startswith(b"%PDF-"):
        return "application/pdf"
    if _HTML.match(start[:SNIFFED_BYTES]):
        return "text/html"
    return "application/octet-stream" if b"\0" in start[:SNIFFED_BYTES] else "text/plain"


def is_readable(kind: str) -> bool:
    """Whether an extractor can read the type."""
    return kind in READABLE or _READABLE_FAMILY.fullmatch(kind) is not None


def charset_of(header: str | None, kind: str, body: bytes) -> str:
    """A codec that `bytes.decode` knows: by byte-order mark, header, meta or XML declaration, else UTF-8.

    The mark comes first, as in browsers: a server's header is set for all its files, the mark is this file's own.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    said = _codec(_parameter(header)) or _declared(kind, body[:SNIFFED_BYTES])
    return said or FALLBACK_CHARSET


def _declared(kind: str, start: bytes) -> str | None:
    is_html = kind in {"text/html", "application/xhtml+xml"}
    found = _XML.search(start) if is_html or kind.endswith("xml") else None
    if found is None and is_html:
        found = _META.search(start)
    codec = _codec(found[1].decode("ascii", "replace")) if found else None
    return FALLBACK_CHARSET if codec and codec.startswith("utf_16") else codec  # it could be read, so it is not UTF-16


def _parameter(header: str | None) -> str:
    """The charset parameter of a Content-Type header."""
    found = _PARAMETER.search((header or "")[:_MAX_HEADER_CHARS])
    return found[1] if found else ""


def _codec(label: str) -> str | None:
    """Python's name for a label, None when it is not one of an encoding of text."""
    key = re.sub(r"[^a-z0-9]+", "_", label.strip().lower()).strip("_")
    key = {"utf8": "utf_8", "windows_31j": "cp932", "x_sjis": "cp932"}.get(key, key.replace("windows_", "cp"))
    name = aliases.get(key, key)
    name = _WIDER.get(name, name)
    return name if name in _TEXT_CODECS else None
