"""Turns an HTML page into Markdown.

the page has one main or article element with two or more `pre`  ->  that element, converted as it stands
otherwise                                                        ->  the main text, found by trafilatura
under half of the page's paragraphs are in that                  ->  the element that holds them, when it has more
under 200 characters came out                                    ->  the whole body, and a flag

A flag says when the text is a small part of the words on the page. A `meta refresh` is reported here, not followed.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mud_assistant.tools.web.extracting import prescan
from mud_assistant.tools.web.extracting.extracted import Extracted, Flag, Unreadable
from mud_assistant.tools.web.extracting.hidden import drop_hidden, tidy_links

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MIN_MAIN_CHARS = 200
MIN_CODE_BLOCKS = 2
_OF_HEADS = frozenset({"title", "meta", "link", "base", "script", "style", "noscript", "template", "object"})
#: The element round the code is taken only when its text is at least this share of the main text's length.
_MIN_SHARE = 0.6
#: A page that sends its readers on only after more seconds than this is meant to be read.
MAX_REFRESH_SECONDS = 10.0
_MAX_REFRESH_CHARS = 3000
_REFRESH = re.compile(
    r"(?P<seconds>[0-9]{0,4}(?:\.[0-9]{0,6})?)\s*[;,\s]\s*(?:url\s*=\s*)?(?P<url>.+)", re.IGNORECASE | re.DOTALL
)
#: From this many words on, a text with less than this share of the page's words is a small part of it.
_MANY_WORDS, _SMALL_SHARE = 200, 0.25
#: Characters that make an element a paragraph, and how many of its first ones are looked for in the text.
_PROSE_CHARS, _KNOWN_BY_CHARS = 80, 60
#: This many paragraphs are enough to judge by; each is looked for in the whole text.
_MOST_PARAGRAPHS = 400
#: The share of paragraphs the main text must have, and the share that an element taken instead must hold.
_KEPT_SHARE, _HELD_SHARE = 0.5, 0.8
_BESIDE = frozenset({"nav", "header", "footer", "aside", "form", "menu"})
_BESIDE_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "menu"})
_INLINE = frozenset(
    {
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "br",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
    }
    | {"q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"}
)
_WORD = re.compile(r"[^\W_]+")
_LINK_TARGET = re.compile(r"\]\([^()\s]{0,2000}\)")
_FENCE = re.compile(r"^[ \t>]*```", re.MULTILINE)
_MAX_TITLE_CHARS = 1_000


def read_html(text: str, url: str) -> Extracted:
    """Return the page's title and text. Raises Unreadable, ImportError."""
    try:
        prescan.check(text)
    except prescan.TooTangled as error:
        raise Unreadable(f"its markup is not worth reading: {error}") from error
    root = _parse(text)
    if root is None:
        return Extracted("", "")
    title, refresh = _title(root), _refresh(root)
    found = _text(root, url)
    return replace(found, title=title, refresh=refresh)


def _text(root: HtmlElement, url: str) -> Extracted:
    """Return the page's text and its flags. `root` is changed."""
    drop_hidden(root)
    tidy_links(root, url)
    documentation = _documentation(root)
    if documentation is not None:
        markdown = _to_markdown(documentation)
        if len(markdown) >= MIN_MAIN_CHARS:
            return _add_flags(root, markdown)
    markdown = _main_text(root)
    coded = _around_code(root, markdown)
    if coded is not None:
        markdown = _to_markdown(coded)
    markdown = _with_paragraphs(root, markdown)
    if len(markdown) >= MIN_MAIN_CHARS:
        return _add_flags(root, markdown)
    whole = _to_markdown(_first(root, "body", root))
    return Extracted("", max(whole, markdown, key=len), frozenset({Flag.WHOLE_BODY}))


def _add_flags(root: HtmlElement, markdown: str) -> Extracted:
    """Return the text, with a flag when the page has far more words."""
    body = _first(root, "body", root)
    on_page = len(_WORD.findall(str(body.text_content()))) if body is not None else 0
    found = len(_WORD.findall(_LINK_TARGET.sub("]", markdown)))
    is_small = on_page > _MANY_WORDS and found < on_page * _SMALL_SHARE
    return Extracted("", markdown, frozenset({Flag.SMALL_PART} if is_small else ()))


def _with_paragraphs(root: HtmlElement, markdown: str) -> str:
    """Return the main text, or the smallest element with most of the page's paragraphs if the main text lost them."""
    blocks = root.iter("p", "li", "blockquote", "td", "dd", "div")
    paragraphs = list(islice((element for element in blocks if _is_prose(element)), _MOST_PARAGRAPHS))
    words = {element: _own_words(element) for element in paragraphs}
    total = sum(len(text) for text in words.values())
    known = _bare(markdown)
    kept = sum(len(text) for text in words.values() if _bare(text)[:_KNOWN_BY_CHARS] in known)
    if total < MIN_MAIN_CHARS or kept >= total * _KEPT_SHARE:
        return markdown
    held: dict[HtmlElement, int] = {}
    for element, text in words.items():
        for above in (element, *element.iterancestors()):
            held[above] = held.get(above, 0) + len(text)
    enough = [element for element, chars in held.items() if chars >= total * _HELD_SHARE]
    least = max(enough, key=lambda element: sum(1 for _ in element.iterancestors()))
    other = _to_markdown(least)
    return other if len(other) > len(markdown) else markdown


def _is_prose(element: HtmlElement) -> bool:
    """Tell whether an element has sentences of its own and stands outside menus, headers, footers and the like."""
    if len(_own_words(element)) < _PROSE_CHARS:
        return False
    linked = sum(len(str(link.text_content())) for link in element.iter("a"))
    if linked * 2 > len(str(element.text_content())):
        return False
    return not any(above.tag in _BESIDE or above.get("role") in _BESIDE_ROLES for above in element.iterancestors())


def _own_words(element: HtmlElement) -> str:
    """Return the text that stands in the element itself, or in inline elements of it."""
    parts = [element.text or ""]
    for child in element:
        is_inline = isinstance(child.tag, str) and child.tag in _INLINE
        parts += [str(child.text_content()) if is_inline else "", child.tail or ""]
    return " ".join("".join(parts).split())


def _bare(text: str) -> str:
    """Return only letters and digits, to find words again whatever marks stand between."""
    return "".join(_WORD.findall(_LINK_TARGET.sub("]", text)))


def _refresh(root: HtmlElement) -> str:
    """Return where the page sends its readers by itself within `MAX_REFRESH_SECONDS`.

    Empty when it does not, or only for readers without scripts.
    """
    for meta in root.iter("meta"):
        if str(meta.get("http-equiv", "")).strip().lower() != "refresh":
            continue
        if any(above.tag == "noscript" for above in meta.iterancestors()):
            continue
        match = _REFRESH.fullmatch(str(meta.get("content", ""))[:_MAX_REFRESH_CHARS].strip())
        if match and float(match["seconds"] or 0) <= MAX_REFRESH_SECONDS:
            return match["url"].strip().strip("'\"").strip()
    return ""


def _parse(text: str) -> HtmlElement | None:
    """Parse the page; None when it is empty."""
    from lxml import etree, html  # noqa: PLC0415  (only the worker has it)

    # As bytes, because a stale declaration of an encoding is an error in a str; `encoding` overrules it here.
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
    """Move elements that do not belong in the head to the body, in place.

    libxml2 leaves them there when the head was never closed and a tag follows that it does not know, such as `main`.
    """
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
    """Return the one main or article element when it holds code: any other way its code would lose its lines."""
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = root.xpath(path)
        if found:
            (element, *others) = found
            has_code = not others and len(element.findall(".//pre")) >= MIN_CODE_BLOCKS
            if has_code or path == ".//article":
                return element if has_code else None
    return None


def _around_code(root: HtmlElement, markdown: str) -> HtmlElement | None:
    """Return the smallest element that holds all code blocks and enough text, if the main text lost code; else None.

    Pages of DocBook, Texinfo and npm have neither main nor article, and trafilatura loses or flattens their code as it
    does elsewhere (docs/web.md has the figures).
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


def _to_markdown(element: HtmlElement) -> str:
    """Convert all of the element to Markdown."""
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
