from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.web.extracting import prescan
from mud_assistant.tools.web.extracting.prescan import TooTangled, check

ATTRIBUTES = prescan.MAX_ATTRIBUTES


def many(count: int) -> str:
    return " ".join(f'a{number}="x"' for number in range(count))


@pytest.mark.parametrize(
    "page",
    [
        f"<p {many(ATTRIBUTES)}>words</p>",
        "<p>x</p>" * prescan.MAX_TAGS,
        "<div>" * prescan.MAX_DEPTH + "</div>" * prescan.MAX_DEPTH,
        "<ul>" + "<li>never closed" * 5_000 + "</ul>",
        "<p>never closed" * 5_000,
        "<img src=x><br>" * 5_000,
        "<svg>" + '<path d="M0"/>' * 5_000 + "</svg>",
        "<script>" + "document.write('<div>');" * 5_000 + "</script>",
        "<!-- " + "<div>" * 5_000 + " -->",
        "<a title='" + "word " * 5_000 + "'>one attribute with many words</a>",
        "words " * 50_000 + "1 < 2 and a <b>bold</b> word",
        "",
    ],
)
def test_a_page_that_a_parser_can_read_passes(page: str) -> None:
    check(page)


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (f"<p {many(ATTRIBUTES + 1)}>", "attributes"),
        (f"<p {many(ATTRIBUTES + 1)}", "attributes"),
        ("<p " + "a " * (ATTRIBUTES + 1) + ">", "attributes"),
        ("<p " + "a='1'" * (ATTRIBUTES + 1) + ">", "attributes"),
        ("<p " + "a/" * (ATTRIBUTES + 1) + ">", "attributes"),
        (f"<!-- <a title=' --><p {many(ATTRIBUTES + 1)}>'", "attributes"),
        (f'<p title="<p {many(ATTRIBUTES + 1).replace(chr(34), "")}>">', "attributes"),
        (f"</p {many(ATTRIBUTES + 1)}>", "attributes"),
        ("<p>x</p>" * (prescan.MAX_TAGS + 1), "tags"),
        ("<p title='>'>" * (prescan.MAX_TAGS + 1), "tags"),
        ("<div>" * (prescan.MAX_DEPTH + 1), "nested"),
        ("<DIV><span></b></i>" * prescan.MAX_DEPTH, "nested"),
        ("<div x=/>" * (prescan.MAX_DEPTH + 1), "nested"),
        ("<div><!-- </div> -->" * (prescan.MAX_DEPTH + 1), "nested"),
        ("<div><script></div></script>" * (prescan.MAX_DEPTH + 1), "nested"),
        (("<a " * 999 + ">") * 600, "inside each other"),
    ],
)
def test_a_page_that_would_keep_it_busy_is_refused_with_its_reason(page: str, why: str) -> None:
    with pytest.raises(TooTangled, match=why):
        check(page)


@given(st.text(st.sampled_from("<>/ab ='\"!-\n"), max_size=300))
def test_nothing_but_the_one_error_comes_out(page: str) -> None:
    try:
        check(page)
    except TooTangled:
        pytest.fail("300 characters cannot be too many")


@pytest.mark.parametrize(
    "piece",
    ["<", "<a", "<a ", '<a t="', "<!--", "<script>", "</a", "<a b", "'", '<a t="><', "<title>", "<a =", "<a\t/"],
)
def test_no_piece_repeated_is_looked_at_more_than_a_bounded_number_of_times(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linear by construction: the characters matched are counted, and over four times the text they are too many."""
    matched: list[int] = []
    original = prescan._TAG

    class Counting:
        def match(self, text: str, at: int) -> object:
            found = original.match(text, at)
            assert found is not None
            matched.append(found.end() - at)
            return found

    monkeypatch.setattr(prescan, "_TAG", Counting())
    text = piece * (500_000 // len(piece))
    with suppress(TooTangled):
        check(text)
    assert sum(matched) <= 5 * len(text) + prescan._SHORT_CHARS
