"""Takes pictures of all pages with fifty assistants and a day of talk: python -m tests.assistant.page.pictures --help.

The pages are the real ones, served over loopback by the service that lived the day, and seen by Debian's Chromium.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater, react

from mud_assistant.assistant.config.sections import PageConfig
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.serve.file import SettingsFile
from mud_assistant.assistant.surfaces.serve.local_host import LocalAssistant, LocalHost
from mud_assistant.assistant.surfaces.serve.standing import StandingPage
from tests.assistant.page.day import Day, a_day
from tests.browser import PROGRAM, Page, browsing

#: The views, by the names of their pictures.
VIEWS = {
    "overview": "/",
    "assistant": f"/a/{quote('assistant:1', safe='')}",
    "live": "/live",
    "runs": "/runs",
    "run": "",
    "approvals": "/approvals",
    "money": "/money",
    "doctor": "/doctor",
    "settings": f"/settings?assistant={quote('assistant:1', safe='')}",
    "character": f"/a/{quote('assistant:1', safe='')}/character",
    "model": f"/a/{quote('assistant:1', safe='')}/model",
    "talk": f"/a/{quote('assistant:1', safe='')}/talk",
    "new": "/new",
    "wall": "/money?by=model",
}
#: Width and height in pixels, by the names of their pictures.
SIZES = {"wide": (1280, 860), "phone": (375, 812)}


def day_host(day: Day, path_of: Callable[[str], Path]) -> LocalHost:
    """The world of a day: the assistants and their players. `path_of` gives each its file of settings, by its id."""
    there: list[LocalAssistant] = []
    names: dict[str, str] = {}
    for runner, players in zip(day.runners, day.players, strict=True):
        me, home = runner.embodiment.me, runner.embodiment.where

        def begin(config: Any, entered: str, old: Any = runner) -> Any:
            return day.service.start(old.embodiment, config, entered)

        there.append(LocalAssistant(me, SettingsFile(path_of(me.id), {}), begin, where=home))
        names |= {one.principal.id: one.principal.name for one in players}
    return LocalHost(day.service, there, names)


async def _take(reactor: Any, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="mud-assistant-pictures-") as name:
        folder = Path(name)
        config = 'assistant.character = "librarian"\n'
        (folder / "assistant.toml").write_text(config)
        (folder / "browser").mkdir()
        async with a_day(folder, assistants=options.assistants, secrets=Secrets()) as day:
            page = StandingPage(
                reactor, day.service, day_host(day, lambda _: folder / "assistant.toml"), PageConfig(port=options.port)
            )
            address = page.open()
            try:
                print(f"living the day of {options.assistants} assistants ...", file=sys.stderr)
                await day.talk(options.lines)
                if options.serve:
                    print(address)
                    await Deferred()
                async with browsing(folder / "browser", {}) as seen:
                    await _all(reactor, seen, address, day, options)
            finally:
                await page.close()


async def _all(reactor: Any, seen: Page, address: str, day: Day, options: argparse.Namespace) -> None:
    base = address.partition("/#")[0]
    await seen.open(address)
    await seen.until("location.pathname === '/' && !!document.querySelector('main h1')", "the overview")
    run = await _a_run(seen, base)
    for size, (width, height) in SIZES.items():
        for dark in (False, True):
            await seen.looks(width, height, dark=dark)
            for view, path in VIEWS.items():
                if options.only and view not in options.only:
                    continue
                await seen.visit(base + (path or run))
                if view == "live":
                    await day.talk_a_little()
                    await deferLater(reactor, 1.5)
                name = f"{view}-{size}-{'dark' if dark else 'light'}.png"
                wide = await seen.value("document.documentElement.scrollWidth")
                if wide > width:
                    print(f"{name}: {wide} px wide", file=sys.stderr)
                (options.out / name).write_bytes(await seen.picture(whole=options.whole))
    for line in dict.fromkeys(seen.told):
        print(f"the console: {line}", file=sys.stderr)


async def _a_run(seen: Page, base: str) -> str:
    """Return the path of a run with a look in it, if there is one."""
    await seen.visit(f"{base}/runs?tool=inspect")
    script = "(document.querySelector('a[href^=\"/runs/run-\"]') || {}).pathname || ''"
    return str(await seen.value(script)) or "/runs/run-1"


def main() -> None:
    """Take the pictures that the command line asks for."""
    parser = argparse.ArgumentParser(description="Take pictures of the operator's page, with a day of talk in it.")
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="the folder (default: pictures)")
    parser.add_argument("--assistants", type=int, default=50, help="how many assistants (default: 50)")
    parser.add_argument("--lines", type=int, default=6, help="how often each is spoken to (default: 6)")
    parser.add_argument("--only", nargs="*", choices=sorted(VIEWS), help="only these views")
    parser.add_argument("--whole", action="store_true", help="the whole page, not only what a screen shows")
    parser.add_argument("--serve", action="store_true", help="take none: print the address and wait for Ctrl-C")
    parser.add_argument("--port", type=int, default=0, help="the port of the page (default: any free one)")
    options = parser.parse_args()
    if not PROGRAM and not options.serve:
        sys.exit("There is no chromium: apt-get install chromium")
    options.out.mkdir(parents=True, exist_ok=True)
    react(lambda reactor: Deferred.fromCoroutine(_take(reactor, options)))


if __name__ == "__main__":
    main()
