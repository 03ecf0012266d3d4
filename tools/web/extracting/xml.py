"""Turns a feed into a list of its entries; leaves other XML as it is."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from tools.text.clean import one_line
from tools.web.extracting import prescan
from tools.web.extracting.extracted import Extracted, Unreadable
from tools.web.extracting.html import read_html

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_ENTRIES = 100
MAX_SUMMARY_CHARS = 300
_TAGS = re.compile(r"<[^>]{0,2000}>")
_FEEDS = frozenset({"rss", "feed", "RDF"})


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
