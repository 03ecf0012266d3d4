"""What every page must hold, checked on the tree that a browser would make of it."""

from __future__ import annotations

from typing import Any

import lxml.html
from lxml.html import HtmlElement

#: Texts that a stranger could choose as a name, a word, a note. None may become markup.
HOSTILE = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</textarea></title></style></select><svg onload=alert(1)>",
    "javascript:alert(1)",
    "//evil.example/x",
    "a\u202egnp.exe\u2066b\u200bc\x00\x1b[31m",
    "&lt;b&gt;{{7*7}}${7*7}<!--",
    "]]><a href='https://evil.example'>win</a>",
    "\ufeffn\u00e4me " + "x" * 400,
)
ELEMENTS = """
a body br button caption circle code dd defs desc details div dl dt em fieldset figcaption figure footer form g
h1 h2 h3 head header html input kbd label legend li line link main meta nav ol option p path pattern pre q rect
script section select span strong summary svg table tbody td text textarea th thead time title tr ul
"""
ATTRIBUTES = """
action aria-current aria-describedby aria-hidden aria-label aria-labelledby aria-live aria-pressed autocomplete
charset checked class cols colspan content cx cy d data-approvals data-assistant data-at data-confirm data-copy
data-kind data-label data-page data-prefix data-refresh data-runs data-stream data-time datetime defer dir
disabled fill for height href id inputmode lang list max maxlength method min multiple name open overflow
pattern patternunits placeholder points preserveaspectratio r readonly rel required role rows rx scope selected
size spellcheck src step tabindex text-anchor title transform type value viewbox width wrap x x1 x2 y y1 y2
"""
ELEMENTS_ALLOWED, ATTRIBUTES_ALLOWED = frozenset(ELEMENTS.split()), frozenset(ATTRIBUTES.split())


def tree_of(body: bytes) -> HtmlElement:
    return lxml.html.document_fromstring(body.decode("utf-8"))


def all_of(tree: HtmlElement, path: str) -> list[Any]:
    found = tree.xpath(path)
    assert isinstance(found, list)
    return found


def check_page(body: bytes, *, prefix: str = "", is_stranger: bool = False) -> HtmlElement:
    """Check safety and accessibility of a whole page, and return its tree."""
    tree = tree_of(body)
    for node in tree.iter():
        assert isinstance(node.tag, str), f"a comment or instruction: {lxml.html.tostring(node)[:80]!r}"
        assert node.tag in ELEMENTS_ALLOWED, f"<{node.tag}>"
        for name, value in node.attrib.items():
            assert name in ATTRIBUTES_ALLOWED, f"{node.tag} {name}={str(value)[:60]}"
            if name in {"href", "src", "action"}:
                assert str(value).startswith(("#", f"{prefix}/", "/login")), value
                assert not str(value).startswith("//"), value
    scripts = all_of(tree, "//script")
    assert [(bool(each.get("src")), each.text) for each in scripts] == [(True, None)], "only our own script file"
    assert not all_of(tree, "//style")
    ids = all_of(tree, "//@id")
    assert len(ids) == len(set(ids)), sorted(each for each in ids if ids.count(each) > 1)
    assert len(all_of(tree, "//h1")) == 1
    assert len(all_of(tree, "//main")) == 1
    if not is_stranger:
        for landmark in ("//header", "//header//nav[@aria-label]", "//footer", "//a[@class='skip'][@href='#content']"):
            assert all_of(tree, landmark), landmark
        assert all_of(tree, "//main")[0].get("id") == "content"
    _check_forms(tree, is_stranger=is_stranger)
    _check_tables(tree)
    for svg in all_of(tree, "//svg[not(@aria-hidden)][not(ancestor::svg)]"):
        assert svg.get("role") == "img"
        assert svg.get("aria-label")
        assert svg.find("title") is not None
    return tree


def _check_forms(tree: HtmlElement, *, is_stranger: bool) -> None:
    for form in all_of(tree, "//form"):
        tokens = [each.get("value") for each in form.xpath(".//input[@name='csrf']")]
        if form.get("method") == "post" and not is_stranger:
            assert tokens == ["token-of-the-session"], lxml.html.tostring(form)[:200]
        elif form.get("method") == "get":
            assert tokens == [], "the token of a session in an address"
    labelled = set(all_of(tree, "//label/@for"))
    for control in all_of(tree, "//input[@type!='hidden'] | //select | //textarea"):
        assert control.get("id") in labelled or control.get("aria-label"), lxml.html.tostring(control)[:200]
    for button in all_of(tree, "//button | //a[@href]"):
        assert button.text_content().strip() or button.get("aria-label"), lxml.html.tostring(button)[:200]


def _check_tables(tree: HtmlElement) -> None:
    for table in all_of(tree, "//table"):
        assert table.xpath("./caption"), "a table without a caption"
        assert all(head.get("scope") in {"col", "row"} for head in table.xpath(".//th"))
