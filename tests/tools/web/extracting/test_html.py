"""Pages of our own making; what real documentation loses is in test_documentation.py."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mud_assistant.tools.web.extracting.extracted import Flag, Unreadable
from mud_assistant.tools.web.extracting.html import read_html

pytest.importorskip("trafilatura")
pytest.importorskip("html_to_markdown")

WORDS = "The harbour master walks along the quay each morning and counts the boats that came in during the night. "
NAV = "<nav><ul><li><a href=/>Home</a><li><a href=/shop>Shop</a></ul></nav>"
CODE = "<pre><code class='language-python'>if a:\n    b()\n\nc()</code></pre>"
IN_LIST = f"<ul><li><p>First</p>{CODE}</li><li>Second{CODE}</li></ul>"


def page(body: str, head: str = "<title>A page</title>") -> str:
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


def test_an_article_comes_without_its_menus() -> None:
    paragraphs = "".join(f"<p>{WORDS} On day {day} there were {7 * day}.</p>" for day in range(8))
    found = read_html(page(f"{NAV}<article><h1>Boats</h1>{paragraphs}</article><footer>Imprint</footer>"), "")
    assert (found.title, found.flags) == ("A page", frozenset())
    assert "counts the boats" in found.markdown
    assert "Shop" not in found.markdown
    assert "Imprint" not in found.markdown


@pytest.mark.parametrize("tag", ["main", "article", "div role='main'"])
def test_code_in_the_one_main_element_keeps_its_lines(tag: str) -> None:
    found = read_html(page(f"{NAV}<{tag}><h1>Docs</h1><p>{WORDS * 3}</p>{IN_LIST}</{tag.partition(' ')[0]}>"), "")
    assert found.markdown.count("```python") == 2
    assert found.markdown.count("if a:\n") == 2
    indents = {line.index("b()") - before.index("if a:") for before, line in _pairs(found.markdown)}
    assert indents == {4}
    assert "Shop" not in found.markdown


def _pairs(markdown: str) -> list[tuple[str, str]]:
    lines = markdown.split("\n")
    return [(before, line) for before, line in pairwise(lines) if "if a:" in before]


def test_two_articles_are_no_documentation_page() -> None:
    one = f"<article><p>{WORDS * 3}</p>{CODE}{CODE}</article>"
    assert "Home" not in read_html(page(NAV + one + one), "").markdown


def test_without_main_or_article_the_element_round_all_code_is_taken() -> None:
    found = read_html(page(f"{NAV}<div class=x><h2>Docs</h2><p>{WORDS * 4}</p>{IN_LIST}<p>{WORDS}</p></div>"), "")
    assert found.markdown.count("```") == 4


def test_a_table_and_links_are_kept_and_links_are_whole() -> None:
    table = "<table><tr><th>Boat</th><th>Crew</th></tr><tr><td>Lark</td><td>4</td></tr></table>"
    body = f"<main><p>{WORDS * 3} See <a href='../x?y=1#z'>the list</a>.</p>{table}<pre>a</pre><pre>b</pre></main>"
    for text in (page(body), page(body.replace("<pre>", "<p>"))):
        markdown = read_html(text, "https://h.example/a/b/c.html").markdown
        assert "[the list](https://h.example/a/x?y=1#z)" in markdown
        assert "| Lark | 4 |" in " ".join(markdown.split())


@pytest.mark.parametrize(
    "href", ["javascript:alert(1)", " JaVa\tscript:x", "data:text/html,x", "file:///etc/passwd", "//["]
)
def test_a_link_nobody_should_follow_becomes_its_words(href: str) -> None:
    markdown = read_html(
        page(f"<main><p>{WORDS * 3}<a href='{href}'>here</a></p>{CODE}{CODE}</main>"), "https://h/"
    ).markdown
    assert "here" in markdown
    assert "](" not in markdown


def test_a_page_with_hardly_any_text_comes_whole_with_a_flag() -> None:
    found = read_html(page("<div id=app>Loading</div>" + NAV), "")
    assert found.flags == {Flag.WHOLE_BODY}
    assert "Loading" in found.markdown


@pytest.mark.parametrize("text", ["", "   ", "\0", "<!-- only a comment -->", "<html></html>", "<title></title>"])
def test_an_empty_page_is_empty_and_no_error(text: str) -> None:
    assert read_html(text, "").markdown == ""


def test_a_head_that_is_never_closed_keeps_nothing_of_the_body() -> None:
    text = f"<title>T</title><style>x</style><main><p>{WORDS * 3}</p>{CODE}{CODE}</main><p>After"
    found = read_html(text, "")
    assert (found.title, found.markdown.count("```python")) == ("T", 2)
    short = read_html("<title>T</title><main><p>Hi</p></main> you", "")
    assert short.markdown.split() == ["Hi", "you"]


def test_a_declaration_of_another_encoding_does_not_count_any_more() -> None:
    text = '<?xml version="1.0" encoding="latin-1"?><html><body><main><p>' + "Möwen über dem Hafen. " * 20
    assert "Möwen" in read_html(text, "").markdown


def test_the_first_heading_stands_in_for_a_title() -> None:
    assert read_html(page(f"<h1>Boats <b>here</b></h1><p>{WORDS * 4}", "<title> </title>"), "").title == "Boats here"


def test_what_the_pre_scan_refuses_no_parser_sees() -> None:
    with pytest.raises(Unreadable, match="nested"):
        read_html("<div>" * 1000, "")


URL = "https://h.example/a/b"
SENTENCE = "The miller of the old valley told everybody that the brook had never been so low in all his years. "


@pytest.mark.parametrize("outside", ["<div class='comments'>{}</div>", "<div class='footer-widget'>{}</div>"])
@pytest.mark.parametrize("decoy", ["article", "main"])
def test_the_paragraphs_are_taken_where_the_main_text_lost_them(outside: str, decoy: str) -> None:
    """What calls itself the article is an advertisement, and the story stands in a part with a wrong name."""
    story = "".join(f"<p>{number}: {SENTENCE * 3}</p>" for number in range(12))
    decoy_part = f"<{decoy}><p>{'Subscribe to our letter now, it is free of charge for all. ' * 8}</p></{decoy}>"
    found = read_html(f"<html><body><nav>Home</nav>{decoy_part}{outside.format(story)}</body></html>", URL)
    assert found.markdown.count("brook had never been so low") == 36


def test_a_small_part_of_a_page_is_told() -> None:
    entries = "".join(f"<li><a href='/{n}'>An entry of the list number {n} with words</a></li>" for n in range(200))
    page = f"<html><body><article><h1>News</h1><p>{SENTENCE * 3}</p></article><ul>{entries}</ul></body></html>"
    found = read_html(page, URL)
    assert SENTENCE.strip() in found.markdown
    if "number 150" not in found.markdown:
        assert Flag.SMALL_PART in found.flags
    whole = read_html(f"<html><body><article><h1>News</h1><p>{SENTENCE * 30}</p></article></body></html>", URL)
    assert whole.flags == frozenset()


@pytest.mark.parametrize(
    ("content", "there"),
    [
        ("0; url=/b", "/b"),
        ("0;URL='https://h.example/b?c=d;e'", "https://h.example/b?c=d;e"),
        ("5,url=b", "b"),
        (" 1.5 ; Url = /b ", "/b"),
        ("0; /b", "/b"),
        ("300; url=/b", ""),
        ("300", ""),
        ("0", ""),
        ("x; url=/b", ""),
        ("", ""),
    ],
)
def test_where_a_page_sends_its_readers_is_told(content: str, there: str) -> None:
    page = f'<html><head><meta http-equiv="Refresh" content="{content}"></head><p>x</p></html>'
    assert read_html(page, URL).refresh == there


def test_what_is_for_readers_without_scripts_sends_nobody_on() -> None:
    page = '<html><head><noscript><meta http-equiv="refresh" content="0; url=/no"></noscript></head><p>x</p></html>'
    assert read_html(page, URL).refresh == ""
