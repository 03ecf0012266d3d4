"""An HTML page as Markdown, by the rule of reference/web-tools.md section 4.

the page has one main or article element with two or more `pre`  ->  that element, converted as it stands
otherwise                                                        ->  the main text, found by trafilatura
under 200 characters came out                                    ->  the whole body, and a flag
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.web.extracting import prescan
from tools.web.extracting.extracted import Extracted, Flag
from tools.web.extracting.hidden import drop_hidden, tidy_links
from tools.web.extracting.unreadable import Unreadable

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MIN_MAIN_CHARS = 200
MIN_CODE_BLOCKS = 2
_OF_HEADS = frozenset({"title", "meta", "link", "base", "script", "style", "noscript", "template", "object"})
#: The element round the code is taken only when it holds that much of what the main text has.
_MIN_SHARE = 0.6
_FENCE = re.compile(r"^[ \t>]*```", re.MULTILINE)
_MAX_TITLE_CHARS = 1_000


def read_html(text: str, url: str) -> Extracted:
    """The page's title and words. Raises Unreadable, ImportError."""
    try:
        prescan.check(text)
    except prescan.TooTangled as error:
        raise Unreadable(f"its markup is not worth reading: {error}") from error
    root = _parsed(text)
    if root is None:
        return Extracted("", "")
    title = _title(root)
    drop_hidden(root)
    tidy_links(root, url)
    documentation = _documentation(root)
    if documentation is not None:
        markdown = _converted(documentation)
        if len(markdown) >= MIN_MAIN_CHARS:
            return Extracted(title, markdown)
    markdown = _main_text(root)
    coded = _around_code(root, markdown)
    if coded is not None:
        markdown = _converted(coded)
    if len(markdown) >= MIN_MAIN_CHARS:
        return Extracted(title, markdown)
    whole = _converted(_first(root, "body", root))
    return Extracted(title, max(whole, markdown, key=len), frozenset({Flag.WHOLE_BODY}))


def _parsed(text: str) -> HtmlElement | None:
    """The tree of the page; None when nothing is in it."""
    from lxml import etree, html  # noqa: PLC0415  (only the worker has it)

    # As bytes: a declaration of an encoding that no longer holds is an error in text, and overruled here.
    data = text.replace("\0", "").encode("utf-8", "replace")
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(data, parser=parser, ensure_head_body=True) if data.strip() else None
    except (etree.ParserError, etree.XMLSyntaxError):
        return None
    if root is not None:
        _mend_head(root)
    return root


def _mend_head(root: HtmlElement) -> None:
    """Nothing; what libxml2 left in a head that was never closed is where it belongs: it does not know `main`."""
    head, body = root.find("head"), root.find("body")
    if head is None or body is None:
        return
    strays = [child for child in head if isinstance(child.tag, str) and child.tag not in _OF_HEADS]
    for place, stray in enumerate(strays):
        body.insert(place, stray)  # with the text behind it
    if strays and body.text:
        strays[-1].tail, body.text = (strays[-1].tail or "") + body.text, None


def _title(root: HtmlElement) -> str:
    named = _first(root, "title", None)
    if named is None or not (named.text or "").strip():
        named = _first(root, "h1", None)
    return "" if named is None else " ".join(str(named.text_content())[:_MAX_TITLE_CHARS].split())


def _documentation(root: HtmlElement) -> HtmlElement | None:
    """The one main or article element, when there is code in it: elsewhere code would lose its lines."""
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = root.xpath(path)
        if found:
            (element, *others) = found
            has_code = not others and len(element.findall(".//pre")) >= MIN_CODE_BLOCKS
            if has_code or path == ".//article":
                return element if has_code else None
    return None


def _around_code(root: HtmlElement, markdown: str) -> HtmlElement | None:
    """The least element that holds all code blocks, and about as many words as the main text, when that lost code.

    Not in the reference: pages of DocBook, Texinfo and npm have neither main nor article, and trafilatura loses or
    flattens their code as it does elsewhere (docs/web-reading.md has the figures).
    """
    blocks = root.findall(".//pre")
    if len(blocks) < MIN_CODE_BLOCKS or len(_FENCE.findall(markdown)) // 2 >= len(blocks):
        return None
    common = list(reversed(list(blocks[0].iterancestors())))
    for block in blocks[1:]:
        above = set(block.iterancestors())
        common = [element for element in common if element in above]
    for element in reversed(common):
        if len(str(element.text_content())) >= len(markdown) * _MIN_SHARE:
            return element
    return None


def _main_text(root: HtmlElement) -> str:
    from trafilatura import extract  # noqa: PLC0415  (only the worker has it)

    found = extract(
        root,
        output_format="markdown",
        include_comments=False,
        include_formatting=True,
        include_links=True,
        include_tables=True,
        with_metadata=False,
    )
    return found or ""


def _converted(element: HtmlElement) -> str:
    """All of the element as Markdown."""
    from html_to_markdown import ConversionOptions, convert  # noqa: PLC0415  (only the worker has it)
    from lxml import html  # noqa: PLC0415

    options = ConversionOptions(
        heading_style="atx", bullets="-", autolinks=False, extract_metadata=False, skip_images=True
    )
    markup = html.tostring(element, encoding="unicode", with_tail=False)
    return (convert(markup, options).content or "").strip()


def _first(root: HtmlElement, tag: str, otherwise: HtmlElement | None) -> HtmlElement | None:
    found = root.find(f".//{tag}")
    return otherwise if found is None else found
