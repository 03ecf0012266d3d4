"""Chromium without a window, told what to do over its own protocol (DevTools), through a pair of pipes.

https://chromedevtools.github.io/devtools-protocol/ has the calls. Nothing leaves this machine: what a page asks another
host for is given from files, or refused.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.defer import TimeoutError as Timeout
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from mud_assistant.resilience import Launcher

reactor: Any = _reactor
PROGRAM = shutil.which("chromium") or ""
#: How long a call may take, and what is waited for in a page, in seconds.
PATIENCE = 60.0
_TO_BROWSER, _FROM_BROWSER = 3, 4
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # it refuses to have one when it is started by root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
    "about:blank",
)

#: Told of an event of the page by its name, with its parameters.
Listener = Callable[[str, Mapping[str, Any]], None]


class BrowserError(AssertionError):
    """The browser refused a call, or a script in the page threw."""


class Browser(ProcessProtocol):
    """The browser's process."""

    def __init__(self) -> None:
        self.ended: Deferred[None] = Deferred()
        self.listeners: list[Listener] = []
        self._buffer = b""
        self._calls: dict[int, Deferred[Mapping[str, Any]]] = {}
        self._count = 0

    async def call(self, method: str, session: str = "", **parameters: Any) -> Mapping[str, Any]:
        """The result of a call, to a page when its session is given. Raises BrowserError."""
        self._count += 1
        answered: Deferred[Mapping[str, Any]] = Deferred()
        self._calls[self._count] = answered
        message = {"id": self._count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        transport: Any = self.transport
        transport.writeToChild(_TO_BROWSER, json.dumps(message).encode() + b"\0")
        return await answered.addTimeout(PATIENCE, reactor)

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        if childFD != _FROM_BROWSER:
            return
        *whole, self._buffer = (self._buffer + data).split(b"\0")
        for text in whole:
            self._take(json.loads(text))

    def processEnded(self, reason: Failure) -> None:
        waiting, self._calls = self._calls, {}
        for answered in waiting.values():
            answered.errback(BrowserError("the browser has ended"))
        self.ended.callback(None)

    def _take(self, message: Mapping[str, Any]) -> None:
        if "id" not in message:
            for listener in self.listeners:
                listener(message["method"], message["params"])
        elif (answered := self._calls.pop(message["id"], None)) is not None:
            if "error" in message:
                answered.errback(BrowserError(message["error"]["message"]))
            else:
                answered.callback(message["result"])


class Page:
    """A page. `files` gives what is asked of other hosts, by address; everything else out there is refused.

    `refused` is what was, and `told` what the page's scripts threw or wrote to the console, and what the browser
    reported there, such as a breach of the page's policy. `asked` are the addresses that the page asked for anything.
    """

    def __init__(self, browser: Browser, session: str, files: Mapping[str, Path]) -> None:
        self.refused: list[str] = []
        self.told: list[str] = []
        self.asked: list[str] = []
        self._browser = browser
        self._session = session
        self._files = files
        self._answering = Launcher()
        browser.listeners.append(self._hear)

    async def open(self, url: str) -> None:
        """Begin to load a page."""
        for domain in ("Runtime", "Log", "Network"):
            await self._call(f"{domain}.enable")
        await self._call("Fetch.enable", patterns=[{"urlPattern": "https://*"}])
        await self._call("Page.navigate", url=url)

    async def value(self, script: str) -> Any:
        """What an expression comes to in the page. Raises BrowserError when it throws."""
        done = await self._call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in done:
            raise BrowserError(json.dumps(done["exceptionDetails"])[:2000])
        return done["result"].get("value")

    async def until(self, script: str, what: str) -> Any:
        """What an expression comes to, once that is something."""
        deadline = reactor.seconds() + PATIENCE
        while not (value := await self.value(script)):
            if reactor.seconds() > deadline:
                text = await self.value("document.body.innerText.slice(-1500)")
                raise BrowserError(f"{what} never came; console: {self.told[-5:]}; page: {text}")
            await deferLater(reactor, 0.1)
        return value

    async def forget_cookies(self) -> None:
        """Be a browser that was never here."""
        await self._call("Network.clearBrowserCookies")

    async def type(self, text: str) -> None:
        """A line typed where the cursor is, and the return key."""
        await self._call("Input.insertText", text=text)
        await self.press("Enter", 13, "\r")

    async def press(self, name: str, code: int, text: str = "") -> None:
        """A key by its name and its number in Windows: Tab is 9, Escape 27."""
        key = {"key": name, "code": name, "windowsVirtualKeyCode": code}
        await self._call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **key)
        await self._call("Input.dispatchKeyEvent", type="keyUp", **key)

    async def tab(self) -> Page:
        """Another tab of the same browser, with the same cookies. It is gone with the browser."""
        return await _new_page(self._browser, self._files)

    async def visit(self, url: str) -> None:
        """Load a page and wait until it is there whole. Its tab comes to the front: only that one takes keys."""
        await self._call("Page.bringToFront")
        await self.open(url)
        await self.until(f"location.href.split('#')[0] === {json.dumps(url.partition('#')[0])}", f"the page {url}")
        await self.until("document.readyState === 'complete'", f"all of {url}")

    async def looks(self, width: int, height: int, *, dark: bool = False, script: bool = True) -> None:
        """Show pages so wide and high from now on, light or dark, with or without their scripts."""
        await self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self._call("Emulation.setEmulatedMedia", features=[scheme])
        await self._call("Emulation.setScriptExecutionDisabled", value=not script)

    async def picture(self, *, whole: bool = False) -> bytes:
        """A PNG of what is seen, or of the whole page."""
        taken = await self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(taken["data"])

    async def close(self) -> None:
        """What was asked for is answered no more."""
        self._browser.listeners.remove(self._hear)
        await self._answering.stop()

    def _call(self, method: str, **parameters: Any) -> Any:
        return self._browser.call(method, self._session, **parameters)

    def _hear(self, event: str, given: Mapping[str, Any]) -> None:
        if event == "Fetch.requestPaused":
            self._answering.launch(self._answer(given["requestId"], given["request"]["url"]), "a file for a page")
        elif event == "Network.requestWillBeSent":
            self.asked.append(given["request"]["url"])
        elif event in {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}:
            self.told.append(json.dumps(given)[:500])

    async def _answer(self, request: str, url: str) -> None:
        if (path := self._files.get(url)) is None:
            self.refused.append(url)
            await self._call("Fetch.failRequest", requestId=request, errorReason="AddressUnreachable")
            return
        kind = "text/css" if path.suffix == ".css" else "text/javascript"
        headers = {"Content-Type": kind, "Access-Control-Allow-Origin": "*"}
        await self._call(
            "Fetch.fulfillRequest",
            requestId=request,
            responseCode=200,
            responseHeaders=[{"name": name, "value": value} for name, value in headers.items()],
            body=base64.b64encode(path.read_bytes()).decode(),
        )


@asynccontextmanager
async def browsing(folder: Path, files: Mapping[str, Path]) -> AsyncIterator[Page]:
    """An empty page of a browser that keeps its things in `folder`; at the end of the block it is gone."""
    browser = Browser()
    line = [PROGRAM, f"--user-data-dir={folder / 'profile'}", *_OPTIONS]
    descriptors: Any = {0: "w", 1: "r", 2: "r", _TO_BROWSER: "w", _FROM_BROWSER: "r"}
    environment = {**os.environ, "HOME": str(folder)}
    process = reactor.spawnProcess(browser, PROGRAM, line, env=environment, path=str(folder), childFDs=descriptors)
    try:
        page = await _new_page(browser, files)
        try:
            yield page
        finally:
            await page.close()
    finally:
        await _end(browser, process)


async def _new_page(browser: Browser, files: Mapping[str, Path]) -> Page:
    target = await browser.call("Target.createTarget", url="about:blank")
    attached = await browser.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
    return Page(browser, attached["sessionId"], files)


async def _end(browser: Browser, process: Any) -> None:
    """Ask the browser to go, and kill it when it does not."""
    try:
        await browser.call("Browser.close")
        await deferLater(reactor, 0)
        await browser.ended.addTimeout(5.0, reactor)
    except CancelledError:
        raise
    except (BrowserError, Timeout):
        if not browser.ended.called:
            process.signalProcess("KILL")
            await browser.ended
