"""Turns the bytes of any document into cleaned text. Runs in the worker."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from tools.text.clean import clean_heard, one_line
from tools.web.extracting.charsets import text_of
from tools.web.extracting.extracted import Extracted, ExtractLimits, Flag, Unreadable
from tools.web.extracting.html import read_html
from tools.web.extracting.pdf import read_pdf
from tools.web.extracting.xml import read_xml
from tools.web.fetch.body import is_readable

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_SNIFFED_BYTES = 1024
#: Matches a feed whose server declares it as an HTML page.
_FEED = re.compile(r"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:rss|feed|rdf:RDF)\b", re.DOTALL)
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
    """Return the text of the document, cleaned and within the cap.

    `is_late` is called where a document can be left half read. Raises Unreadable; ImportError for a missing package.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind in {"", "application/octet-stream", "binary/octet-stream"}:
        kind = _guess_type(body)
    if kind == "application/pdf":
        found = read_pdf(body, max_pages=limits.pdf_pages, max_chars=limits.output_chars, is_late=is_late)
    else:
        text, lost = text_of(body, kind, charset)
        found = _of_text(text, kind, url)
        if lost:
            found = replace(found, flags=found.flags | {Flag.CHARACTERS_LOST})
    return _clean(found, limits.output_chars)


def _of_text(text: str, kind: str, url: str) -> Extracted:
    if kind.endswith(("/xml", "+xml")) or (kind in _HTML and _FEED.match(text[:_SNIFFED_BYTES])):
        return read_xml(text, url)
    if kind in _HTML:
        return read_html(text, url)
    if kind.endswith(("/json", "+json")):
        return Extracted("", _pretty(text))
    if is_readable(kind) or kind.startswith("text/"):
        return Extracted("", text)
    raise Unreadable("it is not text")


def _guess_type(body: bytes) -> str:
    """Guess the media type of a document that has none."""
    start = body[:_SNIFFED_BYTES].lstrip().lower()
    if start.startswith(b"%pdf-"):
        return "application/pdf"
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "text/html"
    if start.startswith(b"<?xml"):
        return "application/xml"
    return "text/plain" if b"\0" not in start or start.startswith((b"\xff\xfe", b"\xfe\xff")) else "application/unknown"


def _pretty(text: str) -> str:
    """Return JSON with a line for each value; unchanged when it is not JSON or is nested too deep."""
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _clean(found: Extracted, most: int) -> Extracted:
    text, flags = found.markdown, found.flags
    if len(text) > most:
        text, flags = text[:most], flags | {Flag.CUT}
    # NFC may make a text up to three times longer; the cleaning itself must not cut anything.
    text = clean_heard(text, 3 * len(text) + 1, keep_newlines=True)
    return replace(found, title=one_line(found.title, max_chars=_MAX_TITLE_CHARS), markdown=text, flags=flags)
