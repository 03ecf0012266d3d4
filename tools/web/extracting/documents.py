"""A body of bytes as cleaned text, whatever it is. Runs in the worker."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from dataclasses import replace

from tools.clean import clean_heard, one_line
from tools.web.extracting.extracted import Extracted, ExtractLimits, Flag
from tools.web.extracting.html import read_html
from tools.web.extracting.pdf import read_pdf
from tools.web.extracting.unreadable import Unreadable
from tools.web.extracting.xml import read_xml

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_SNIFFED_BYTES = 1024
#: Codecs of Python's that are no character sets, or cost more than their length.
_NO_CHARSETS = frozenset({"idna", "punycode", "undefined", "utf-7", "unicode_escape", "raw_unicode_escape"})
_MAX_TITLE_CHARS = 300


def read_document(
    body: bytes,
    content_type: str,
    charset: str,
    url: str,
    *,
    limits: ExtractLimits,
    is_late: Callable[[], bool],
) -> Extracted:
    """The text of the document, cleaned and within the cap. Raises Unreadable, and ImportError for a missing package.

    `is_late` is asked where a document can be left half read.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind in {"", "application/octet-stream", "binary/octet-stream"}:
        kind = _guessed(body)
    if kind == "application/pdf":
        found = read_pdf(body, max_pages=limits.pdf_pages, max_chars=limits.output_chars, is_late=is_late)
    else:
        found = _of_text(decoded(body, charset), kind, url)
    return _cleaned(found, limits.output_chars)


def decoded(body: bytes, charset: str) -> str:
    """The text; what is no text in that charset is replaced, and a name that is none means UTF-8."""
    for mark, codec in ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if body.startswith(mark):
            return body.decode(codec, "replace").removeprefix("\ufeff")
    try:
        codec = codecs.lookup(charset or "utf-8").name
        if codec in _NO_CHARSETS:
            codec = "utf-8"
        return body.decode(codec, "replace")
    except (LookupError, ValueError):  # "hex" and its like are no text encodings
        return body.decode("utf-8", "replace")


def _of_text(text: str, kind: str, url: str) -> Extracted:
    if kind in _HTML:
        return read_html(text, url)
    if kind.endswith(("/xml", "+xml")):
        return read_xml(text, url)
    if kind.endswith(("/json", "+json")):
        return Extracted("", _pretty(text))
    if kind.startswith("text/"):
        return Extracted("", text)
    raise Unreadable("it is not text")


def _guessed(body: bytes) -> str:
    """What a document without a type is."""
    start = body[:_SNIFFED_BYTES].lstrip().lower()
    if start.startswith(b"%pdf-"):
        return "application/pdf"
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "text/html"
    if start.startswith(b"<?xml"):
        return "application/xml"
    return "text/plain" if b"\0" not in start or start.startswith((b"\xff\xfe", b"\xfe\xff")) else "application/unknown"


def _pretty(text: str) -> str:
    """JSON with a line for each value; as it stands when it is not JSON or too deep."""
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _cleaned(found: Extracted, most: int) -> Extracted:
    text, flags = found.markdown, found.flags
    if len(text) > most:
        text, flags = text[:most], flags | {Flag.CUT}
    # NFC may make a text longer, at most threefold; nothing is to be cut by the cleaning itself.
    text = clean_heard(text, 3 * len(text) + 1, keep_newlines=True)
    return replace(found, title=one_line(found.title, max_chars=_MAX_TITLE_CHARS), markdown=text, flags=flags)
