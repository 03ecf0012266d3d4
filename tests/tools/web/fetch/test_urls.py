"""Every host form and URL trick we know, refused by name before any look-up."""

# ruff: noqa: RUF001  (look-alike characters are what is tested)

from __future__ import annotations

from ipaddress import IPv6Network, ip_network
from urllib.parse import urlsplit

import hyperlink
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from mud_assistant.tools.web.cite import Citations
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.fetch.seen import SeenUrls
from mud_assistant.tools.web.fetch.url import (
    MAX_URL_CHARS,
    UrlPolicy,
    UrlRefused,
    agree,
    join,
    normal_url,
    normalise,
    parse,
    try_normalise,
    web_url,
)
from mud_assistant.tools.web.source.answers import PageSource
from mud_assistant.tools.web.tools import open_page_tool
from tests.tools.web.scripted import ScriptedReader

ANY = UrlPolicy()

REFUSED = [
    # scheme
    ("ftp://example.com/", "scheme"),
    ("file:///etc/passwd", "scheme"),
    ("gopher://example.com:80/", "scheme"),
    ("javascript:alert(1)", "scheme"),
    ("data:text/html,x", "scheme"),
    ("//example.com/", "scheme"),
    ("example.com", "scheme"),
    ("", "scheme"),
    # host there or not
    ("http:example.com", "no host"),
    ("http:///example.com", "no host"),
    ("http://", "no host"),
    ("http://?x", "no host"),
    ("http://:80/", "no host"),
    # user name
    ("http://user@example.com/", "user name in the URL"),
    ("http://user:pw@example.com/", "user name in the URL"),
    ("http://example.com@127.0.0.1/", "user name in the URL"),
    ("http://@example.com/", "user name in the URL"),
    ("http://a@b@example.com/", "broken URL"),
    # characters
    (" http://example.com/", "space or control character"),
    ("http://example.com/ ", "space or control character"),
    ("http://exam ple.com/", "space or control character"),
    ("http://example.com/a\tb", "space or control character"),
    ("http://example.com/\r\nHost: x", "space or control character"),
    ("http://example.com\n/", "space or control character"),
    ("http://example.com/\x00", "space or control character"),
    ("http://example.com/\x7f", "space or control character"),
    ("http://example.com/\u3000", "space or control character"),
    ("http://example.com/\u2028", "space or control character"),
    ("http://example.com/\ud800", "space or control character"),
    ("http://example.com\\@127.0.0.1/", "backslash"),
    ("http:\\\\example.com/", "backslash"),
    ("http://example.com/a\\b", "backslash"),
    # length
    ("http://example.com/" + "a" * MAX_URL_CHARS, "URL too long"),
    ("http://example.com/" + "ä" * (MAX_URL_CHARS // 2), "URL too long"),
    # port
    ("http://example.com:8080/", "port"),
    ("http://example.com:22/", "port"),
    ("http://example.com:0/", "port"),
    ("http://example.com:65536/", "broken URL"),
    ("http://example.com:99999999/", "broken URL"),
    ("http://example.com:-80/", "broken URL"),
    ("http://example.com:+80/", "broken URL"),
    ("http://example.com:8_0/", "broken URL"),
    ("http://example.com:٨٠/", "broken URL"),
    ("http://example.com:/", "broken URL"),
    ("http://example.com:80:80/", "broken URL"),
    # percent
    ("http://%31%32%37.0.0.1/", "percent sign in the host"),
    ("http://example%2ecom/", "percent sign in the host"),
    ("http://example.com%00.evil.com/", "percent sign in the host"),
    # labels and length of the host
    ("http://example..com/", "empty label"),
    ("http://.example.com/", "empty label"),
    ("http://example.com../", "empty label"),
    ("http://./", "empty label"),
    (f"http://{'a' * 64}.com/", "label too long"),
    (f"http://{'a.' * 126}com/", "host too long"),
    ("http://-a.example.com/", "character in the host"),
    ("http://a-.example.com/", "character in the host"),
    ("http://a_b.example.com/", "character in the host"),
    ("http://foo.com;bar.com/", "character in the host"),
    ("http://a,b.com/", "character in the host"),
    ("http://xn--zz.com/", "character in the host"),
    ("http://a\u2044b.com/", "character in the host"),
    ("http://a\u2100b.com/", "broken URL"),
    # numbers as hosts
    ("http://2130706433/", "number as a host"),
    ("http://0x7f000001/", "number as a host"),
    ("http://017700000001/", "number as a host"),
    ("http://0177.0.0.1/", "number as a host"),
    ("http://0x7f.0.0.1/", "number as a host"),
    ("http://127.1/", "number as a host"),
    ("http://127.0.1/", "number as a host"),
    ("http://1.2.3.4.5/", "number as a host"),
    ("http://256.256.256.256/", "number as a host"),
    ("http://08.8.8.8/", "number as a host"),
    ("http://example.0x1F/", "number as a host"),
    ("http://example.0x/", "number as a host"),
    ("http://example.1/", "number as a host"),
    ("http://127.0x1/", "number as a host"),
    ("http://127.1./", "number as a host"),
    # disguised by Unicode
    ("http://①②⑦.⓪.⓪.①/", "loopback"),
    ("http://１２７.0.0.1/", "loopback"),
    ("http://127。0。0。1/", "loopback"),
    ("http://127．0｡0.1/", "loopback"),
    ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "local name"),
    ("http://ｌｏｃａｌｈｏｓｔ/", "local name"),
    ("http://loc\u00adalhost/", "local name"),
    # local names
    ("http://localhost/", "local name"),
    ("http://LOCALHOST./", "local name"),
    ("http://a.localhost/", "local name"),
    ("http://printer.local/", "local name"),
    ("http://x.internal/", "local name"),
    ("http://metadata.google.internal/", "local name"),
    ("http://router.home.arpa/", "local name"),
    ("http://localhost.localdomain/", "local name"),
    ("http://intranet/", "local name"),
    ("http://wiki/", "single-label name"),
    ("http://com./", "single-label name"),
    # addresses in a URL are judged at once
    ("http://127.0.0.1/", "loopback"),
    ("http://127.0.0.1./", "loopback"),
    ("https://169.254.169.254/latest/meta-data/", "link-local"),
    ("http://[::1]/", "not global unicast"),
    ("http://[::ffff:127.0.0.1]/", "not global unicast"),
    ("http://[::]/", "not global unicast"),
    ("http://[fe80::1%25eth0]/", "broken URL"),
    ("http://[::1/", "broken URL"),
    ("http://[127.0.0.1]/", "broken URL"),
    ("http://[2606:4700::1111]x/", "broken URL"),
    ("http://x[2606:4700::1111]/", "broken URL"),
    ("http://::1/", "broken URL"),
]


@pytest.mark.parametrize(("url", "rule"), REFUSED)
def test_refused_before_any_lookup(url: str, rule: str) -> None:
    with pytest.raises(UrlRefused) as refused:
        parse(url, ANY)
    assert refused.value.kind is ErrorKind.POLICY
    assert refused.value.rule == rule
    assert refused.value.message == f"this URL is not allowed: {rule}"


ACCEPTED = [
    ("http://example.com", "http://example.com/"),
    ("HTTP://EXAMPLE.COM:80/A?B#C", "http://example.com/A?B"),
    ("https://example.com:443/", "https://example.com/"),
    ("https://example.com:80/", "https://example.com:80/"),
    ("http://example.com:00080/", "http://example.com/"),
    ("http://example.com./", "http://example.com/"),
    ("http://example。com/", "http://example.com/"),
    ("http://example.com?q", "http://example.com/?q"),
    ("http://example.com/?", "http://example.com/"),
    ("http://example.com#@127.0.0.1/", "http://example.com/"),
    ("http://example.com/@127.0.0.1/", "http://example.com/@127.0.0.1/"),
    ("http://example.com//a/../b;c=d/%41%2F%zz?x=%26&&y=a=b&z;#f", None),
    ("https://bücher.example/größe?ä=ü", "https://xn--bcher-kva.example/gr%C3%B6%C3%9Fe?%C3%A4=%C3%BC"),
    ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
    ("https://faß.example/", "https://xn--fa-hia.example/"),
    ("https://日本語.jp/", "https://xn--wgv71a119e.jp/"),
    ("https://r3---sn-x.googlevideo.com/", "https://r3---sn-x.googlevideo.com/"),
    ("http://a.b-c.1a.example/", "http://a.b-c.1a.example/"),
    ('http://example.com/a"b<c>?d[]=|e`', "http://example.com/a%22b%3Cc%3E?d[]=%7Ce%60"),
    ("http://8.8.8.8/", "http://8.8.8.8/"),
    ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
    ("http://[2606:4700:0:0::1111]:443/", "http://[2606:4700::1111]:443/"),
]


@pytest.mark.parametrize(("url", "sent"), ACCEPTED)
def test_what_is_sent(url: str, sent: str | None) -> None:
    assert str(parse(url, ANY)) == (sent or "http://example.com//a/../b;c=d/%41%2F%zz?x=%26&&y=a=b&z;")


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("HTTP://A.com:80/b?c=d&e", True),
        ("https://a.com/b?c=d&e", False),
        ("http://b.com/b?c=d&e", False),
        ("http://a.com:81/b?c=d&e", False),
        ("http://a.com/c?c=d&e", False),
        ("http://a.com/b?c=d&f", False),
        ("http://a.com/b?c=d&e=", False),
    ],
)
def test_two_parsers_must_agree(other: str, same: bool) -> None:
    """No text is known that passes the other rules and has two readings; the rule stands for those not known yet."""
    assert agree(urlsplit("http://a.com/b?c=d&e"), hyperlink.URL.from_text(other)) is same


def test_the_parts() -> None:
    url = parse("https://[2606:4700::1]:80/a?b", ANY)
    assert (url.scheme, url.host, url.port, url.target) == ("https", "2606:4700::1", 80, "/a?b")
    assert (url.netloc, url.origin) == ("[2606:4700::1]:80", "https://[2606:4700::1]:80")


def test_ports_are_the_operators_to_choose() -> None:
    policy = UrlPolicy(ports=frozenset({8080}))
    assert parse("http://example.com:8080/", policy).port == 8080
    with pytest.raises(UrlRefused, match="port"):
        parse("http://example.com/", policy)
    with pytest.raises(ValueError, match="1 to 65535"):
        UrlPolicy(ports=frozenset({0}))


@pytest.mark.parametrize(
    ("host", "passes"),
    [
        ("example.com", True),
        ("www.example.com", True),
        ("badexample.com", False),
        ("example.com.evil.org", False),
        ("bad.example.com", False),
        ("very.bad.example.com", False),
        ("bücher.example", True),
        ("8.8.8.8", False),
    ],
)
def test_allow_and_block_lists_hold_for_what_is_below(host: str, passes: bool) -> None:
    policy = UrlPolicy(
        allow_domains=frozenset({"Example.com.", "*.bücher.example"}), block_domains=frozenset({".bad.example.com"})
    )
    if passes:
        parse(f"https://{host}/", policy)
    else:
        with pytest.raises(UrlRefused, match="domain"):
            parse(f"https://{host}/", policy)


@pytest.mark.parametrize("domain", ["", "a b", "exa_mple.com", "http://example.com"])
def test_a_list_with_a_slip_is_an_error_at_the_start(domain: str) -> None:
    with pytest.raises(ValueError, match=r"host|label"):
        UrlPolicy(block_domains=frozenset({domain}))


def test_exceptions_of_the_operator() -> None:
    policy = UrlPolicy(allow_private=frozenset({ip_network("127.0.0.0/8")}), nat64=IPv6Network("64:ff9b::/96"))
    assert str(parse("http://127.0.0.1/", policy)) == "http://127.0.0.1/"
    assert parse("http://[64:ff9b::808:808]/", policy).host == "64:ff9b::808:808"
    for refused in ("http://[64:ff9b::a9fe:a9fe]/", "http://10.0.0.1/", "http://localhost/"):
        with pytest.raises(UrlRefused):
            parse(refused, policy)
    with pytest.raises(ValueError, match="NAT64"):
        UrlPolicy(nat64=IPv6Network("64:ff9b::/95"))


@pytest.mark.parametrize(
    ("location", "sent"),
    [
        ("/b", "https://example.com/b"),
        ("b?c", "https://example.com/a/b?c"),
        ("//other.org", "https://other.org/"),
        ("https://other.org:443/x#y", "https://other.org/x"),
        ("../../b", "https://example.com/b"),
        ("", None),
    ],
)
def test_where_a_redirect_leads(location: str, sent: str | None) -> None:
    base = parse("https://example.com/a/x", ANY)
    assert str(join(base, location, ANY)) == (sent or str(base))


@pytest.mark.parametrize(
    ("location", "rule"),
    [
        ("http://example.com/", "redirect from https to http"),
        ("//127.0.0.1/", "loopback"),
        ("//[::1]/", "not global"),
        ("ftp://example.com/", "scheme"),
        ("\\\\evil.com/", "backslash"),
        ("/a b", "space"),
        ("/" + "a" * 5000, "long"),
        ("//user@example.com/", "user name"),
        ("//[", "broken URL"),
        ("\thttp://x", "space"),
        ("//localhost", "local"),
    ],
)
def test_a_redirect_is_judged_from_the_beginning(location: str, rule: str) -> None:
    with pytest.raises(UrlRefused, match=rule):
        join(parse("https://example.com/a", ANY), location, ANY)


PIECES = st.sampled_from(
    [
        "http",
        "https",
        "://",
        ":",
        "/",
        "//",
        "@",
        "\\",
        "?",
        "#",
        "%",
        "%2e",
        "[",
        "]",
        ".",
        "..",
        "80",
        "443",
        "0x7f",
        "127.0.0.1",
        "::1",
        "localhost",
        "example.com",
        "evil.org",
        "①",
        "。",
        "．",
        "\t",
        "\n",
        " ",
        "\x00",
        ";",
        "xn--",
        "\u200b",
        "\xad",
        "℀",
        "﹕",
        "ß",
        "ſ",
        "K",
        "a" * 70,
        "0177",
        "-",
        "_",
        "&",
        "=",
        "+",
    ]
)


@example("http://example.com\\@evil.org/")
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=12).map("".join).map("http://".__add__)))
def test_whatever_is_given_is_refused_or_has_one_clean_reading(url: str) -> None:
    """It raises nothing but UrlRefused; what passes is ASCII, reads the same to urllib, and is its own normal form."""
    try:
        safe = parse(url, ANY)
    except UrlRefused:
        return
    sent = str(safe)
    assert sent.isascii()
    assert sent.isprintable()
    assert " " not in sent
    again = urlsplit(sent)
    assert (again.scheme, again.hostname, again.port or safe.port) == (safe.scheme, safe.host, safe.port)
    assert again.username is None
    assert parse(sent, ANY) == safe


def test_urls_that_were_shown() -> None:
    seen = SeenUrls()
    seen.add("HTTPS://Example.com:443/Page?q=1#part")
    assert normalise("https://example.com/Page?q=1") in seen
    for other in ("https://example.com/page?q=1", "https://example.com/Page?q=2", "http://example.com/Page?q=1"):
        assert normalise(other) not in seen
    assert "https://example.com/Page?q=1" not in seen


def test_what_cannot_be_asked_for_is_not_kept_and_the_oldest_go() -> None:
    seen = SeenUrls(most=2)
    for url in ("file:///etc/passwd", "https://a.org/", "https://b.org/", "https://a.org/", "https://c.org/"):
        seen.add(url)
    assert len(seen) == 2
    assert normalise("https://b.org/") not in seen
    assert normalise("https://a.org/") in seen


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("Read https://example.org/a_(b), please!", "https://example.org/a_(b)"),
        ("is (http://example.org/x?y=1&z) good?", "http://example.org/x?y=1&z"),
        ("look at Example.org/news.", "https://example.org/news"),
        ("look at example.org.", "http://example.org/"),
        ("<https://example.org/a>", "https://example.org/a"),
        ("https://example.org/a. Then", "https://example.org/a."),
        ("bücher.example/ä", "https://bücher.example/ä"),
    ],
)
def test_urls_in_a_players_message(text: str, url: str) -> None:
    seen = SeenUrls()
    seen.add_text(text)
    assert normalise(url) in seen


def test_an_address_of_mail_is_no_url_that_was_shown() -> None:
    seen = SeenUrls()
    seen.add_text("write to me@example.org or say hello")
    assert len(seen) == 0


@pytest.mark.parametrize(
    ("shown", "opened"),
    [
        ("https://e.org/%7euser", "https://e.org/~user"),
        ("https://e.org/a%2fb", "HTTPS://E.org:443/a%2Fb#top"),
        ("https://b\u00fccher.example/", "https://xn--bcher-kva.example"),
    ],
)
def test_a_url_is_the_same_for_all_who_compare_it(shown: str, opened: str) -> None:
    seen, citations = SeenUrls(), Citations()
    seen.add(shown)
    assert parse(opened, ANY) in seen
    assert citations.number(shown) == citations.number(opened)
    assert normal_url(shown) == normal_url(opened) == parse(opened, ANY).normal


@pytest.mark.parametrize(("chars", "fits"), [(MAX_URL_CHARS, True), (MAX_URL_CHARS + 1, False), (4000, False)])
def test_one_length_holds_for_hits_pages_and_what_was_seen(chars: int, fits: bool) -> None:
    url = "https://e.org/".ljust(chars, "x")
    seen = SeenUrls()
    seen.add(url)
    assert (bool(web_url(url)), bool(try_normalise(url)), len(seen)) == (fits, fits, int(fits))
    tool = open_page_tool(PageSource(ScriptedReader("direct")), ANY, 900, lambda: 0.0)
    if fits:
        assert tool.arguments.model_validate({"url": url})
    else:
        with pytest.raises(ValidationError):
            tool.arguments.model_validate({"url": url})
