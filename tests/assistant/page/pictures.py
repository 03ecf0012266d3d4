"""Takes pictures of all pages with fifty assistants and a day of talk: python -m tests.assistant.page.pictures --help.

The pages are the real ones, served over loopback by the service that lived the day, and seen by Debian's Chromium.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater, react

from assistant.checks.finding import Finding
from assistant.config.schema import ModelConfig
from assistant.config.sections import PageConfig
from assistant.keys.redaction import Secrets
from assistant.page.ports import KnownAssistant
from assistant.page.values.actions import CharacterView, LorePreview, NewModel, SettingChanged
from assistant.page.values.assistants import SettingLine
from assistant.surfaces.serve.file import SettingsFile
from assistant.surfaces.serve.local_host import LocalHost
from assistant.surfaces.serve.standing import StandingPage
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


class DayHost:
    """The world of a day: the assistants and their players. `path_of` gives each its file of settings, by its id."""

    def __init__(self, day: Day, path_of: Callable[[str], Path]) -> None:
        self._hosts: dict[str, LocalHost] = {}
        self._known: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        for runner, players in zip(day.runners, day.players, strict=True):
            me, home = runner.embodiment.me, runner.embodiment.where

            def begin(config: Any, entered: str, old: Any = runner) -> Any:
                return day.service.start(old.embodiment, config, entered)

            file = SettingsFile(path_of(me.id), {})
            self._hosts[me.id] = LocalHost(day.service, me, file, begin, where=home)
            self._known[me.id] = (me.name, home)
            self._names |= {me.id: me.name, **{one.principal.id: one.principal.name for one in players}}
        self._first = next(iter(self._hosts.values()))

    def assistants(self) -> Sequence[KnownAssistant]:
        """All of the day."""
        return [KnownAssistant(id_, name, place=home()) for id_, (name, home) in self._known.items()]

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Those of assistants and players."""
        return {id_: self._names[id_] for id_ in ids if id_ in self._names}

    async def start(self, assistant: str) -> str:
        """As outside games."""
        return await self._hosts[assistant].start(assistant)

    async def stay_off(self, assistant: str) -> None:
        """As outside games."""
        await self._hosts[assistant].stay_off(assistant)

    async def settings(self, assistant: str) -> Sequence[SettingLine]:
        """As outside games."""
        return await self._hosts.get(assistant, self._first).settings(assistant)

    async def change_setting(self, assistant: str, option: str, value: str, *, force: bool) -> SettingChanged:
        """As outside games."""
        host = self._hosts.get(assistant, self._first)
        return await host.change_setting(assistant, option, value, force=force)

    async def create(self, name: str, persona: str) -> str:
        """As outside games."""
        return await self._first.create(name, persona)

    async def model_with(self, assistant: str, wanted: NewModel) -> ModelConfig:
        """As outside games."""
        return await self._hosts[assistant].model_with(assistant, wanted)

    async def keep_model(self, assistant: str, wanted: NewModel) -> str:
        """As outside games."""
        return await self._hosts[assistant].keep_model(assistant, wanted)

    async def character(self, assistant: str) -> CharacterView:
        """As outside games."""
        return await self._hosts[assistant].character(assistant)

    async def set_persona(self, assistant: str, text: str) -> str:
        """As outside games."""
        return await self._hosts[assistant].set_persona(assistant, text)

    async def add_lore(self, assistant: str, title: str, keys: Sequence[str], text: str) -> str:
        """As outside games."""
        return await self._hosts[assistant].add_lore(assistant, title, keys, text)

    async def delete_lore(self, assistant: str, number: int) -> str:
        """As outside games."""
        return await self._hosts[assistant].delete_lore(assistant, number)

    async def preview_lore(self, assistant: str, line: str) -> LorePreview:
        """As outside games."""
        return await self._hosts[assistant].preview_lore(assistant, line)

    async def findings(self) -> Sequence[Finding]:
        """As outside games."""
        return await self._first.findings()


async def _take(reactor: Any, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="mud-assistant-pictures-") as name:
        folder = Path(name)
        config = 'assistant.character = "librarian"\n'
        (folder / "assistant.toml").write_text(config)
        (folder / "browser").mkdir()
        async with a_day(folder, assistants=options.assistants, secrets=Secrets()) as day:
            page = StandingPage(
                reactor, day.service, DayHost(day, lambda _: folder / "assistant.toml"), PageConfig(port=options.port)
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
