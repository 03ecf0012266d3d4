"""Turns the bytes of any document into cleaned text: HTML, a feed, a PDF, JSON or plain text. Runs in the worker.

A feed becomes a list of its entries; other XML stays as it is. A PDF is read within limits of time and pages; pypdf
itself limits what a stream may unpack to. The parsers of HTML are in `html.py`.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from html import unescape
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.web.extracting import prescan
from mud_assistant.tools.web.extracting.charsets import text_of
from mud_assistant.tools.web.extracting.extracted import Extracted, ExtractLimits, Flag, Unreadable
from mud_assistant.tools.web.extracting.html import read_html
from mud_assistant.tools.web.fetch.body import is_readable

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pypdf import PdfReader

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_SNIFFED_BYTES = 1024
#: Matches a feed whose server declares it as an HTML page.
_FEED = re.compile(r"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:rss|feed|rdf:RDF)\b", re.DOTALL)
_FEEDS = frozenset({"rss", "feed", "RDF"})
_TAGS = re.compile(r"<[^>]{0,2000}>")
_MAX_TITLE_CHARS = 300
MAX_ENTRIES = 100
MAX_SUMMARY_CHARS = 300


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


def read_xml(text: str, url: str) -> Extracted:
    """Return the title and entries of a feed, an XHTML page, or the text itself. Raises Unreadable, ImportError."""
    try:
        prescan.check(text)
    except prescan.TooTangled as error:
        raise Unreadable(f"its markup is not worth reading: {error}") from error
    root = _parse(text)
    name = "" if root is None else _local(root)
    if name == "html":
        return read_html(text, url)
    if root is None or name not in _FEEDS:
        return Extracted("", text)
    entries = [element for element in root.iter() if _local(element) in {"item", "entry"}][:MAX_ENTRIES]
    channel = next((element for element in root if _local(element) == "channel"), root)
    return Extracted(_text_in(channel, "title"), "\n".join(_entry(entry) for entry in entries))


def _parse(text: str) -> _Element | None:
    from lxml import etree  # noqa: PLC0415  (only the worker has it)

    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(text.replace("\0", "").strip().encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return None


def _entry(entry: _Element) -> str:
    """Return one line of the list."""
    title = _text_in(entry, "title") or "(no title)"
    link = _link(entry)
    date = (
        _text_in(entry, "pubDate")
        or _text_in(entry, "published")
        or _text_in(entry, "updated")
        or _text_in(entry, "date")
    )
    summary = _text_in(entry, "description") or _text_in(entry, "summary") or _text_in(entry, "content")
    head = f"- [{title}]({link})" if link else f"- {title}"
    return head + (f" ({date})" if date else "") + (f": {summary}" if summary else "")


def _link(entry: _Element) -> str:
    for element in entry:
        if _local(element) == "link" and element.get("rel", "alternate") == "alternate":
            link = (element.get("href") or element.text or "").strip()
            if link.startswith(("http://", "https://")):
                return re.sub(r"[\s<>()\[\]]", "", link)
    return ""


def _text_in(parent: _Element, name: str) -> str:
    """Return the text of the first child of that name on one line, without markup."""
    for element in parent:
        if _local(element) == name:
            words = "".join(str(piece) for piece in element.itertext())[: 10 * MAX_SUMMARY_CHARS]
            return one_line(_TAGS.sub(" ", unescape(_TAGS.sub(" ", words))), max_chars=MAX_SUMMARY_CHARS)
    return ""


def _local(element: _Element) -> str:
    """Return an element's name without its name space."""
    return str(element.tag).rpartition("}")[2]


def read_pdf(body: bytes, *, max_pages: int, max_chars: int, is_late: Callable[[], bool]) -> Extracted:
    """Return the title and the text of the first pages, each under its number. Raises Unreadable, ImportError.

    No further page is begun once `is_late`.
    """
    from pypdf import PdfReader  # noqa: PLC0415  (only the worker has it)

    try:
        reader = PdfReader(io.BytesIO(body))
        title, parts, whole = _read(reader, max_pages, max_chars, is_late)
    except Unreadable:
        raise
    except ImportError as error:  # an optional part of pypdf, such as for AES
        raise Unreadable("it is encrypted") from error
    except (MemoryError, RecursionError) as error:
        raise Unreadable("it is built to cost too much") from error
    except Exception as error:  # pypdf raises KeyError, TypeError and others on a broken file
        raise Unreadable(f"it is not a sound PDF ({type(error).__name__})") from error
    if whole and not any(parts):
        raise Unreadable("it holds no text, likely only pictures of pages")
    text = "\n\n".join(f"## Page {number}\n\n{part.strip()}" for number, part in enumerate(parts, 1) if part.strip())
    return Extracted(title, text, frozenset() if whole else frozenset({Flag.PAGES_LEFT_OUT}))


def _read(
    reader: PdfReader, max_pages: int, max_chars: int, is_late: Callable[[], bool]
) -> tuple[str, list[str], bool]:
    """Return the title, the text of the first pages, and whether these are all pages."""
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("it needs a password")
    title = str((reader.metadata.title if reader.metadata else "") or "")
    parts: list[str] = []
    chars = 0
    for page in reader.pages:
        if len(parts) >= max_pages or chars > max_chars or (parts and is_late()):
            return title, parts, False
        parts.append(page.extract_text())
        chars += len(parts[-1])
    return title, parts, True
