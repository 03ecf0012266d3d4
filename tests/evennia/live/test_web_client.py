"""What a model says, over the real web client and over telnet: words reach the players, and nothing else does."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mud_assistant.llm.testing import Call, Reply, Step
from tests.browser import browsing
from tests.evennia.live.game import Game
from tests.evennia.live.living import Model, game_with_sage
from tests.evennia.live.telnet import Telnet
from tests.evennia.live.web_client import FILES, WebClient, missing

pytestmark = [
    pytest.mark.slow,  # a game and a browser are started
    pytest.mark.skipif(bool(missing()), reason=missing() or "chromium is there"),
]

MEGABYTE = 1024 * 1024
#: What an assistant puts behind a bar that is no markup; it takes no room.
INVISIBLE = "\u200b"
#: How much in the messages does something: Evennia makes a link of the address in a new game's first room.
_ACTIVE = "document.querySelectorAll('.content :is(a, img, script, iframe, [onclick], [onerror])').length"
#: Markup that Evennia itself sends to a terminal: colours, and nothing that moves, links or names a window.
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
#: An isolate that is closed turns no other word of the line round, so it is kept (tools/text/clean.py).
_CLOSED_ISOLATE = re.compile("[\u2066-\u2068]([^\u2066-\u2069]*)\u2069")
_NEGOTIATION = re.compile(rb"\xff\xfa.*?\xff\xf0|\xff[\xfb-\xfe].|\xff[^\xfa\xff]", re.DOTALL)


@dataclass(frozen=True)
class Hostile:
    """What a model says, and what everybody must see of it."""

    kind: str
    said: str
    seen: str


HOSTILE = [
    Hostile(
        "markup",
        "<b onclick=\"document.title='owned'\">b</b><img src=x onerror=\"document.title='owned'\"> &lt;i&gt;",
        "<b onclick=\"document.title='owned'\">b</b><img src=x onerror=\"document.title='owned'\"> &lt;i&gt;",
    ),
    Hostile(
        "script",
        "<script>document.title='owned'</script></div></span>x",
        "<script>document.title='owned'</script></div></span>x",
    ),
    Hostile(
        "MXP links",
        "|lcsay I am owned|ltclick me|le |luhttps|ltsite|le",
        "|lcsay I am owned|ltclick me|le |luhttps|ltsite|le",
    ),
    Hostile("MXP of a terminal", '\x1b[1z<SEND HREF="say owned">go</SEND>\x1b[7z', '<SEND HREF="say owned">go</SEND>'),
    Hostile("colours", "|rred|n |[b |=a ||x |* |/ |- |_ {rold{n", "|rred|n |[b |=a ||x |* |/ |- |_ {rold{n"),
    Hostile("ANSI", "\x1b[31;5mred\x1b[0m \x1b[2J\x1b[5;5Hhome \x9b31m", "red home 31m"),
    Hostile("OSC", "a\x1b]0;owned\x07b\x1b]8;;https\x1b\\c\x1b]52;c;b3duZWQ=\x07d", "abcd"),
    Hostile("braces", "{character} {0} {{x}} {actor} {nobody}", "{character} {0} {{x}} {actor} {nobody}"),
    Hostile(
        "inline functions",
        "$pad(x,50000000) $eval(1+1) $You() $random(1,9)",
        "$pad(x,50000000) $eval(1+1) $You() $random(1,9)",
    ),
    Hostile(
        "newlines",
        'Well.\r\nAdmin says, "Owned."\n\n\x0b\x85\u2028Owner says, "So."',
        'Well. Admin says, "Owned." Owner says, "So."',
    ),
    Hostile("directions", "a\u202egnorw\u202c b\u2066c\u2069 \u2067d", "agnorw b\u2066c\u2069 d"),
]


@asynccontextmanager
async def playing(template: Path, folder: Path) -> AsyncIterator[tuple[Game, Model, Telnet, WebClient]]:
    """A game with Sage, its owner at telnet, and Visitor, who comes through the web client and makes an account."""
    async with game_with_sage(template, folder / "game") as (game, model), browsing(folder, FILES) as page:
        client = WebClient(page)
        await client.open(game.ports["web"])
        await client.sees("Is this what you intended", await client.says("create Visitor first-words-1"))
        await client.sees("A new account", await client.says("yes"))
        await client.sees("Limbo", await client.says("connect Visitor first-words-1"))
        yield game, model, game.telnets[0], client


async def test_what_a_model_says_is_text_in_the_page_and_clean_bytes_on_telnet(template: Path, tmp_path: Path) -> None:
    async with playing(template, tmp_path) as (game, model, telnet, client):
        plain = await client.sees("Sage says", await client.says("say Sage, 7"))
        assert plain.text == 'Sage says, "I heard 7."'
        title, active = await client.page.value("document.title"), await client.page.value(_ACTIVE)
        refused = list(client.page.refused)
        for case in HOSTILE:
            model.next = [Reply(calls=(Call("say", {"text": case.said}),))]
            raw, mark = len(telnet.raw), telnet.mark
            shown = await client.sees("Sage says", await client.says(f"say Sage, tell me of {case.kind}"))
            expected = f'Sage says, "{case.seen}"'
            assert shown.text.replace(INVISIBLE, "") == expected, case.kind
            assert shown.elements == plain.elements, case.kind
            await telnet.saw("Sage says", mark)
            assert expected in told(telnet.raw[raw:]), case.kind
        assert await client.page.value("document.title") == title
        assert await client.page.value(_ACTIVE) == active
        assert client.page.refused == refused
        assert "Traceback" not in game.log()


@pytest.mark.parametrize(
    "said",
    [
        pytest.param([Reply(calls=(Call("say", {"text": "$pad(x,50000000) " * 100}),))], id="a-padded-text"),
        pytest.param([Reply("word " * (MEGABYTE // 5))], id="a-megabyte-of-text"),
        pytest.param([Reply(calls=(Call("say", {"text": "word " * (MEGABYTE // 5)}),))], id="a-megabyte-of-speech"),
    ],
)
async def test_what_is_too_long_is_cut_and_the_server_stays_small(
    template: Path, tmp_path: Path, said: list[Step]
) -> None:
    async with playing(template, tmp_path) as (game, model, telnet, client):
        await client.sees("Sage says", await client.says("say Sage, 7"))
        before = memory_bytes(game)
        model.next = list(said)
        asked = model.asked()
        await client.says("say Sage, tell me all")
        await model.was_asked(asked + 1)
        await client.sees("I heard 8.", await client.says("say Sage, 8"))
        assert memory_bytes(game) - before < 64 * MEGABYTE
        spoken = [line for line in told(telnet.raw).splitlines() if line.startswith("Sage says")]
        assert max(map(len, spoken)) < 500
        assert sum(map(len, spoken)) < 5_000
        assert "Traceback" not in game.log()


def told(raw: bytes) -> str:
    """The lines of a telnet connection without Evennia's own colours; whatever else is no text fails the test."""
    plain = _COLOUR.sub(b"", _NEGOTIATION.sub(b"", raw)).decode().replace("\r\n", "\n").replace(INVISIBLE, "")
    text = _CLOSED_ISOLATE.sub(r"\1", plain)
    controls = [character for character in text if not (character.isprintable() or character == "\n")]
    assert controls == []
    forged = [line for line in plain.split("\n") if line.startswith(("Admin says", "Owner says"))]
    assert forged == []
    return plain


def memory_bytes(game: Game) -> int:
    """The memory of the Server that is in use."""
    status = Path(f"/proc/{game.server_pid}/status").read_text()
    (kilobytes,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return int(kilobytes) * 1024
