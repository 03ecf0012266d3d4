"""Removes what a reader would not see from a parsed page: that is where instructions to a model hide.

It goes by the element itself: its name, `hidden`, `aria-hidden` and its own `style`. What a style sheet or a script
hides is not known here. Zero-width characters are removed when the text is cleaned.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

#: Elements that show nothing, or none of the page's own words.
_UNSEEN = (
    *("script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "math", "canvas"),
    *("audio", "video", "img", "picture", "map", "input", "select", "textarea", "button", "datalist", "dialog"),
)
_UNSEEN_STYLE = re.compile(
    r"(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:0?\.?0*(?:[;!%]|$)|color:transparent|"
    r"font-size:(?:0(?:%|[a-z]+)?|[01](?:\.\d+)?p[xt])(?:[;!]|$)|font-size:0?\.[0-3]\d*r?em|"
    r"(?:max-)?(?:height|width):0(?:px)?(?:[;!]|$)|"
    r"clip-path:inset\((?:50|100)%|clip:rect\([01]|(?:left|top|right|text-indent|margin-left|margin-top):-\d{4,}|"
    r"transform:scale\(0)"
)
_COLOUR = re.compile(r"(?:^|;)color:([^;!]+)")
_GROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")
_NAMED = {"white": "#ffffff", "black": "#000000", "rgb(255,255,255)": "#ffffff", "rgb(0,0,0)": "#000000"}
_MAX_STYLE_CHARS = 2_000
#: The texts of anchors that documentation puts behind each heading.
_PERMALINKS = frozenset({"¶", "#", "§", "🔗", ""})
_BLOCKED_SCHEMES = ("javascript:", "data:", "vbscript:", "file:", "blob:")
_INVISIBLE = re.compile("[\x00-\x20\x7f-\xa0\u200b-\u200f\ufeff]+")
_SHORT_DIGITS = 4


def drop_hidden(root: HtmlElement) -> None:
    """Remove elements a reader cannot see from `root`, in place. Text after them is kept."""
    from lxml import etree  # noqa: PLC0415  (only the worker has it)

    # Elements removed by name go first; with_tail=False keeps the text after each.
    etree.strip_elements(root, etree.Comment, etree.ProcessingInstruction, *_UNSEEN, with_tail=False)
    for element in [element for element in root.iter() if isinstance(element.tag, str) and _is_hidden(element)]:
        if element is not root and element.getparent() is not None:
            element.drop_tree()


def tidy_links(root: HtmlElement, url: str) -> None:
    """Make the links in `root` absolute, in place, and replace links a reader cannot follow by their text."""
    from urllib.parse import urljoin  # noqa: PLC0415  (with the rest of the worker's tools)

    for link in list(root.iter("a")):
        href = _INVISIBLE.sub("", link.get("href", ""))
        if not href or (href.startswith("#") and link.text_content().strip() in _PERMALINKS):
            link.drop_tree() if href else link.drop_tag()
            continue
        try:
            href = urljoin(url, href)
        except ValueError:
            href = ""
        if not href or href.lower().startswith(_BLOCKED_SCHEMES):
            link.drop_tag()
        else:
            link.set("href", href)


def _is_hidden(element: HtmlElement) -> bool:
    if element.get("hidden") is not None or element.get("aria-hidden", "").strip().lower() == "true":
        return True
    style = element.get("style")
    if not style:
        return False
    style = re.sub(r"/\*.*?\*/|\s+", "", style[:_MAX_STYLE_CHARS].lower(), flags=re.DOTALL)
    if _UNSEEN_STYLE.search(style):
        return True
    colour, ground = _COLOUR.search(style), _GROUND.search(style)
    return colour is not None and ground is not None and _plain(colour[1]) == _plain(ground[1])


def _plain(colour: str) -> str:
    """Return a colour in one notation, as far as that is cheap."""
    colour = _NAMED.get(colour, colour)
    if colour.startswith("#") and len(colour) == _SHORT_DIGITS:
        return "#" + "".join(2 * digit for digit in colour[1:])
    return colour
