"""Reads what a body is from its header and its beginning (media type, character set), and unpacks it. Pure.

Only types that an extractor can read pass, and only character sets that Python and browsers both know: a codec is
never looked up by a stranger's label. A body is unpacked piece by piece, and never gives more than the agreed number of
bytes.
"""

from __future__ import annotations

import re
import zlib
from encodings.aliases import aliases
from importlib import import_module

#: Readable types beside `text/*` and the families of JSON and XML: data, feeds, and source code.
READABLE = frozenset(
    {"application/pdf", "application/json", "application/xml"}
    | {
        f"application/{prefix}{name}"
        for prefix in ("", "x-")
        for name in (
            *("yaml", "toml", "csv", "ndjson", "jsonl", "jsonlines", "json5", "json-seq", "markdown", "sql", "graphql"),
            *(
                "javascript",
                "ecmascript",
                "typescript",
                "python",
                "perl",
                "ruby",
                "php",
                "httpd-php",
                "sh",
                "shellscript",
            ),
            *("csh", "tcl", "lua", "tex", "latex", "subrip", "mbox", "patch", "bibtex", "troff"),
        )
    }
)
#: Types of text that hold no words.
_UNREADABLE_TEXT = frozenset({"text/css", "text/rtf"})
_READABLE_FAMILY = re.compile(r"application/[\w.+-]+\+(?:json|xml)", re.ASCII)
#: How many bytes of a body are searched for its type and set (WHATWG's prescan reads as many).
SNIFFED_BYTES = 1024
FALLBACK_CHARSET = "utf-8"
#: The standard's names that Python spells otherwise.
_STANDARD = {
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "windows-874": "cp874",
    "ibm866": "cp866",
    "iso-8859-8-i": "iso8859_8",
}
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
    "utf_16": "utf_16_le",
}
_TEXT_CODECS = (
    frozenset({"utf_8", "utf_16", "utf_16_le", "utf_16_be", "gb18030", "big5hkscs", "euc_jp", "iso2022_jp"})
    | {"cp932", "cp949", "cp866", "cp874", "koi8_r", "koi8_u", "mac_roman", "mac_cyrillic"}
    | {f"cp125{number}" for number in range(9)}
    | {f"iso8859_{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
)


def media_type(header: str | None, start: bytes) -> str:
    """Return the type of a response, in lower case: from its header, or from how its body starts when it has none."""
    if header is not None and "/" in header:
        return header.partition(";")[0].strip().lower()
    if start.startswith(b"%PDF-"):
        return "application/pdf"
    if _HTML.match(start[:SNIFFED_BYTES]):
        return "text/html"
    return "application/octet-stream" if b"\0" in start[:SNIFFED_BYTES] else "text/plain"


def is_readable(kind: str) -> bool:
    """Tell whether an extractor can read the type."""
    is_text = kind.startswith("text/") and kind not in _UNREADABLE_TEXT
    return is_text or kind in READABLE or _READABLE_FAMILY.fullmatch(kind) is not None


def charset_label(header: str | None) -> str:
    """Return the character set as the Content-Type header writes it; empty when it names none."""
    found = _PARAMETER.search((header or "")[:_MAX_HEADER_CHARS])
    return found[1] if found else ""


def declared_charset(label: str, kind: str, body: bytes) -> str | None:
    """Return Python's codec for the character set that the header's label declares, else the document itself."""
    return _codec(label) or _codec_in_document(kind, body[:SNIFFED_BYTES])


def _codec_in_document(kind: str, start: bytes) -> str | None:
    is_html = kind in {"text/html", "application/xhtml+xml"}
    found = _XML.search(start) if is_html or kind.endswith("xml") else None
    if found is None and is_html:
        found = _META.search(start)
    codec = _codec(found[1].decode("ascii", "replace")) if found else None
    return FALLBACK_CHARSET if codec and codec.startswith("utf_16") else codec  # it could be read, so it is not UTF-16


def _codec(label: str) -> str | None:
    """Return Python's name for a label, None when it names no character set.

    The labels are those of the WHATWG standard where `webencodings` is installed, and those that Python knows.
    """
    try:
        webencodings = import_module("webencodings")  # the worker has it, of the extra `web`
    except ImportError:
        standard = None
    else:
        standard = webencodings.lookup(label.strip())
    if standard is not None:
        label = _STANDARD.get(standard.name, standard.name)
    key = re.sub(r"[^a-z0-9]+", "_", label.strip().lower()).strip("_")
    key = {"utf8": "utf_8", "windows_31j": "cp932", "x_sjis": "cp932"}.get(key, key.replace("windows_", "cp"))
    name = aliases.get(key, key)
    name = _WIDER.get(name, name)
    return name if name in _TEXT_CODECS else None


_GZIP = 31  # zlib's window bits for gzip with its header and checksum
#: Joined gzip files have a few members. Each member costs its own set-up, so a body of many tiny ones costs seconds.
MOST_MEMBERS = 256


class BrokenPacking(ValueError):
    """Raised when the bytes are not valid gzip."""


class Plain:
    """A body without packing. At most `limit` bytes are given; `is_cut` tells that there were more."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self.is_cut = False

    def feed(self, data: bytes) -> bytes:
        """Return the bytes themselves, within the limit."""
        kept = data[: self._left]
        self.is_cut = self.is_cut or len(kept) < len(data)
        self._left -= len(kept)
        return kept

    def end(self) -> None:
        """Do nothing: no part can be missing."""


class Gunzip:
    """The content of a gzip body; `is_cut` tells that there was more.

    At most `limit` bytes of all its members together are given.
    """

    def __init__(self, limit: int) -> None:
        self._left = limit
        self.is_cut = False
        self._members = 0
        self._member: zlib._Decompress | None = None

    def feed(self, data: bytes) -> bytes:
        """Return what the bytes unpack to, within the limit. Raises BrokenPacking."""
        pieces = []
        while data and not self.is_cut:
            if self._member is None:
                data = data.lstrip(b"\0") if self._members else data  # padding between members, as gzip(1) allows
                if not data:
                    break
                self._begin()
            assert self._member is not None
            piece, data = self._unpack(self._member, data)
            pieces.append(piece)
        return b"".join(pieces)

    def end(self) -> None:
        """Raise BrokenPacking when the last member is not complete, unless the rest was not wanted."""
        if self._member is not None and not self.is_cut:
            raise BrokenPacking("it ends early")

    def _begin(self) -> None:
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise BrokenPacking("it has too many parts")
        self._member = zlib.decompressobj(_GZIP)

    def _unpack(self, runner: zlib._Decompress, data: bytes) -> tuple[bytes, bytes]:
        """Unpack `data` and return the result, with the bytes after the member's end. Raises BrokenPacking."""
        try:
            piece = runner.decompress(data, self._left + 1)
        except zlib.error:
            raise BrokenPacking("it is damaged") from None
        if len(piece) > self._left:
            self.is_cut = True
            return piece[: self._left], b""
        self._left -= len(piece)
        if not runner.eof:
            return piece, b""  # room was left, so that all of the input was taken
        self._member = None
        return piece, runner.unused_data
