"""Evennia's web client in a browser: what it needs from elsewhere, logging in, and what its page shows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.browser import PROGRAM, Page

#: `npm ci` fills it; package.json beside it says with what.
_MODULES = Path(__file__).parent / "webclient" / "node_modules"
_BOOTSTRAP = "https://maxcdn.bootstrapcdn.com/bootstrap/4.0.0-beta"
_LAYOUT = "https://golden-layout.com/files/latest"

#: What the page takes from five content servers. The browser compares three of the files with the page's own hashes.
FILES = {
    f"{_BOOTSTRAP}/css/bootstrap.min.css": _MODULES / "bootstrap/dist/css/bootstrap.min.css",
    f"{_BOOTSTRAP}/js/bootstrap.min.js": _MODULES / "bootstrap/dist/js/bootstrap.min.js",
    "https://code.jquery.com/jquery-3.2.1.min.js": _MODULES / "jquery/dist/jquery.min.js",
    f"{_LAYOUT}/js/goldenlayout.min.js": _MODULES / "golden-layout/dist/goldenlayout.min.js",
    f"{_LAYOUT}/css/goldenlayout-base.css": _MODULES / "golden-layout/src/css/goldenlayout-base.css",
    f"{_LAYOUT}/css/goldenlayout-dark-theme.css": _MODULES / "golden-layout/src/css/goldenlayout-dark-theme.css",
    "https://cdn.rawgit.com/ejci/favico.js/master/favico-0.3.10.min.js": _MODULES / "favico.js/favico-0.3.10.min.js",
    "https://cdnjs.cloudflare.com/ajax/libs/popper.js/1.11.0/umd/popper.min.js": (
        _MODULES / "popper.js/dist/umd/popper.min.js"
    ),
}

#: The messages that the page shows, each as its text (a browser shows &nbsp; as a blank) and what its HTML is made of:
#: the name of each element with those of its attributes and, where it has one, its link.
_SHOWN = """(() => [...document.querySelectorAll('.content > div')].map(message => ({
    text: message.textContent.replaceAll('\\u00a0', ' '),
    elements: [...message.querySelectorAll('*')].map(
        element => [element.localName, ...element.getAttributeNames()].join(' ')),
})))()"""


def missing() -> str:
    """Why the tests of the web client cannot run here, empty when they can."""
    if not PROGRAM:
        return "there is no chromium: apt-get install chromium"
    if not all(path.exists() for path in FILES.values()):
        return f"the scripts that the page takes from elsewhere are not there: npm ci --prefix {_MODULES.parent}"
    return ""


@dataclass(frozen=True)
class Shown:
    """A message in the page: its text, and its elements with their attributes."""

    text: str
    elements: list[str]


class WebClient:
    """The web client of a game, open in a page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def open(self, port: int) -> None:
        """Load the page, until it shows the game's first screen."""
        await self.page.open(f"http://127.0.0.1:{port}/webclient/")
        await self.page.until("document.readyState === 'complete' && !!window.Evennia", "the page")
        await self.page.until("document.querySelector('.content')?.textContent.includes('create')", "the first screen")

    async def says(self, line: str) -> int:
        """Type a line into the client's own field; the number of messages that were there before."""
        before = len(await self.messages())
        await self.page.until("document.querySelector('.inputfield')?.focus() ?? true", "the field to type in")
        await self.page.type(line)
        return before

    async def sees(self, words: str, after: int = 0) -> Shown:
        """The first message behind `after` that holds these words, once there is one."""
        found = f"{_SHOWN}.slice({after}).find(message => message.text.includes({json.dumps(words)})) ?? null"
        message = await self.page.until(found, repr(words))
        return Shown(message["text"], message["elements"])

    async def messages(self) -> list[Shown]:
        """All that is shown."""
        return [Shown(message["text"], message["elements"]) for message in await self.page.value(_SHOWN)]
