"""The whole page in Debian's Chromium: what a visitor sees and does, with and without script, by keyboard, on a phone.

One service and one browser serve the whole file. The third assistant is surrounded by hostile names and words.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import pytest_twisted

from mud_assistant.assistant.service.operations.lore_pieces import add_piece
from mud_assistant.assistant.service.operations.operated import Operated
from mud_assistant.assistant.service.operations.operators import Operator, VisitorRole
from mud_assistant.assistant.service.operations.personas import set_persona
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from tests.assistant.living import ANN
from tests.assistant.page.live.browsers import until
from tests.assistant.page.staged import STORY, Stage, a_stage, simple_brain
from tests.assistant.page.views.hostile import ATTACKS
from tests.browser import PROGRAM, Page, browsing

pytestmark = pytest.mark.skipif(not PROGRAM, reason="chromium is missing: apt-get install chromium")

#: Each sets a global when it runs as a script. Every third also has a name that turns the text round.
EVIL = [text.replace("alert(1)", "pwned=1") for text in ATTACKS if 0 < len(text) < 200]
SAGE, VENN = quote("assistant:1", safe=""), quote("assistant:3", safe="")
RULES = (Path(__file__).parent / "rules.js").read_text()
VIEWS = (
    "/",
    f"/a/{VENN}",
    f"/a/{VENN}/character",
    f"/a/{VENN}/model",
    f"/a/{VENN}/talk",
    "/new",
    "/live",
    "/runs",
    "/runs/{run}",
    "/approvals",
    "/money?by=assistant",
    f"/doctor?assistant={VENN}",
    f"/settings?assistant={VENN}",
    f"/players/{quote('player:2-0', safe='')}",
)
#: The controls of a page in the order of the page, and the one that has the focus, as numbers.
CONTROLS = """(() => {
  const kinds = "a[href], button:not(:disabled), input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  const isSeen = (node) => node.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
  window.controls = [...document.querySelectorAll(kinds)].filter(isSeen);
  return window.controls.length;
})()"""
FOCUSED = """(() => {
  const node = document.activeElement;
  const style = getComputedStyle(node);
  return [window.controls.indexOf(node), style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
})()"""
#: Whether the page reads so; it may be loading.
READS = "((words) => (document.body ? document.body.innerText : '').includes(words))"
ROWS = "document.querySelectorAll('#live .row').length"


@dataclass
class Shown:
    """The service, its page, and the browser's first tab, where somebody is logged in."""

    stage: Stage
    page: Page

    async def log_in(self, address: str) -> None:
        await self.page.open(address)
        await self.page.until("!!document.querySelector('main table')", "the overview")

    async def visit(self, path: str) -> None:
        await self.page.visit(self.stage.base + path)

    async def press(self, button: str, *, within: str = "main") -> None:
        """Press a button by its words, and wait until the next page is there."""
        await self.page.value("window.isOld = true")
        found = (
            f"[...document.querySelectorAll('{within} button')].find((one) => one.textContent.trim() === {button!r})"
        )
        await self.page.value(f"{found}.click()")
        await self.page.until("!window.isOld && document.readyState === 'complete'", f"what {button} does")

    async def text(self) -> str:
        return str(await self.page.value("document.body.innerText"))


@pytest.fixture
def reactor_baseline() -> None:
    """Nothing is compared after each test: the browser keeps connections open from one to the next."""


def hostile_brain(request: RecordedRequest) -> Step:
    """Look, then think and answer with hostile words; for all others as usual."""
    said = [str(one.get("content")) for one in request.messages if one.get("role") == "user"]
    number = next((number for number in range(len(EVIL)) if f"Venn #{number}#" in said[-1]), None) if said else None
    if number is None:
        return simple_brain(request)
    evil = " ".join(EVIL[number : number + 2])
    if request.messages[-1].get("role") != "tool" and number % 8 == 0:
        return Reply(reasoning=evil, calls=(Call("inspect", {"target": "astrolabe"}), Call("remember", {"text": evil})))
    if number == 2:
        return Reply(calls=(Call("execute_command", {"command": f"create {evil}"}),))
    return Reply(reasoning=evil, calls=(Call("say", {"text": evil}),))


@pytest_twisted.async_yield_fixture(scope="module")
async def shown(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shown]:
    folder = tmp_path_factory.mktemp("browser")
    (folder / "profile").mkdir()
    async with (
        a_stage(folder, ("Sage", "Oda", "Venn"), ("Ann", *EVIL[:12]), thing=" ".join(EVIL[:9])) as stage,
        browsing(folder / "profile", {}) as page,
    ):
        stage.brain = hostile_brain
        there, owner = Operated(stage.day.service, stage.host), Operator(ANN, VisitorRole.OWNER)
        await set_persona(there, owner, "assistant:3", " ".join(EVIL))
        await set_persona(there, owner, "assistant:3", "librarian")
        keys, text = [EVIL[4].replace(",", ""), "Venn"], " ".join(EVIL[:9])
        await add_piece(there, owner, "assistant:3", title=EVIL[3], keys=keys, text=text)
        shown = Shown(stage, page)
        await shown.log_in(stage.address)  # the tests of this file may run in any order, and not all of them here
        yield shown


async def test_the_printed_address_logs_in_once_and_is_clean_afterwards(shown: Shown) -> None:
    page, address = shown.page, shown.stage.page.new_address()
    await page.forget_cookies()
    await page.open("about:blank")
    await shown.log_in(address)
    assert await page.value("location.href") == shown.stage.base + "/"
    cookies: Any = await page.value("document.cookie")
    assert cookies == "", "a script can read the cookie of the session"
    client = await shown.stage.client()
    for used in (shown.stage.address, address):
        token = used.rpartition("=")[2].encode()
        again = await client.send("POST", "/login", b'{"token":"%s"}' % token, **{"Content-Type": "application/json"})
        assert again.status == 401


async def test_words_stand_on_the_live_page_at_once_and_it_pauses_and_filters(shown: Shown) -> None:
    page, stage = shown.page, shown.stage
    await shown.visit("/live")
    await page.until("document.getElementById('live-state').textContent === 'Connected'", "the stream")
    await stage.says("Sage, do you hear me?", waits=False)
    await page.until("document.getElementById('live').textContent.includes('do you hear me?')", "what Ann said")
    await page.until("!!document.querySelector('#live .k-outcome')", "how it ended")
    assert await page.value("getComputedStyle(document.getElementById('live-empty')).display") == "none"
    await page.value("document.getElementById('live-pause').click()")
    rows = await page.value(ROWS)
    await stage.says("Sage, and now?")
    await page.until("document.getElementById('live-pause').textContent.includes('new')", "that something waits")
    assert await page.value(ROWS) == rows
    await page.value("document.getElementById('live-pause').click()")
    assert await page.value(ROWS) > rows
    await shown.visit(f"/live?assistant={SAGE}&kind=heard")
    await page.until("document.getElementById('live-state').textContent === 'Connected'", "the stream")
    await stage.says("Oda, are you there?", at=1)
    await stage.says("Sage, are you there?")
    await page.until(f"{ROWS} >= 1", "what Sage heard")
    named = "(one) => one.className + one.querySelector('.name').textContent"
    rows = await page.value(f"[...document.querySelectorAll('#live .row')].map({named})")
    assert set(rows) == {"row k-heardSage"}


async def test_words_grow_while_the_model_streams_and_the_stop_button_ends_them(shown: Shown) -> None:
    page, stage = shown.page, shown.stage
    other = await page.tab()
    await other.visit(stage.base + "/live")
    await other.until("document.getElementById('live-state').textContent === 'Connected'", "the stream")
    await stage.says("Sage, tell me a story.", waits=False)
    words = "(document.querySelector('#live .growing .words') || {}).textContent || ''"
    await other.until(f"({words}).includes('word5')", "the first words")
    seen = len(await other.value(words))
    await other.until(f"({words}).length > {seen + 20}", "more words")
    await shown.visit("/")
    await page.value("document.querySelector('#assistants form[action=\"/a/assistant%3A1\"] button').click()")
    await page.until(READS + "('Sage is stopped')", "that it was stopped")
    assert "assistant:1" not in stage.day.service.runners
    assert "Sage was thinking: step 1 of run-" in await shown.text()
    row = "[...document.querySelectorAll('#assistants tr')].find((one) => one.innerText.includes('Sage'))"
    assert "off" in await page.value(f"{row}.innerText")
    heard = await other.value("document.getElementById('live').textContent")
    assert STORY.split()[-1] not in heard
    await page.value(f"{row}.querySelector('form button').focus()")
    await page.press("Enter", 13, "\r")
    await page.until("!!document.querySelector('dialog[open]')", "the question")
    await page.press("Escape", 27)
    await page.until("!document.querySelector('dialog')", "that the question is gone")
    assert await page.value("document.activeElement.textContent") == "Start Sage"
    await page.press("Enter", 13, "\r")
    await page.until("!!document.querySelector('dialog[open] .primary')", "the question")
    await page.press("Enter", 13, "\r")
    await page.until(READS + "('Sage starts.')", "that it starts")
    await until(lambda: stage.day.service.runners["assistant:1"].assistant is not None)


async def test_an_approval_is_exact_runs_once_and_the_second_of_two_operators_is_told(shown: Shown) -> None:
    page, stage = shown.page, shown.stage
    await stage.says("Oda, make us a lantern.", at=1)
    other = await page.tab()
    await other.visit(stage.base + "/approvals")
    await shown.visit("/approvals")
    assert await page.value("document.querySelector('main pre').textContent") == '{"command":"create lantern"}'
    await shown.press("Allow once")
    assert "Oda may do this once: create lantern" in await shown.text()

    def lanterns() -> int:
        return [one.name for one in stage.day.world.things["room1"]].count("lantern")

    await until(lambda: lanterns() == 1)
    await stage.day.runners[1].settled()
    button = "[...document.querySelectorAll('main button')].find((one) => one.textContent.trim() === 'Allow once')"
    await other.value(f"{button}.click()")
    await other.until(READS + "('Already decided')", "that the other was first")
    await stage.day.runners[1].settled()
    assert lanterns() == 1


async def test_hostile_names_and_words_stay_text_on_every_page(shown: Shown) -> None:
    page, stage = shown.page, shown.stage
    await shown.visit("/live")
    await page.until("document.getElementById('live-state').textContent === 'Connected'", "the stream")
    for number in range(0, len(EVIL), 2):
        await stage.says(f"Venn #{number}# {' '.join(EVIL[number : number + 2])}", at=2, player=number % 13)
    await page.until(f"document.getElementById('live').textContent.includes('Venn #{number}#')", "the last line")
    assert await page.value(RULES) == []
    run = str(await run_of(shown, "inspect"))
    told, seen = list(page.told), ""
    for width, dark in ((1280, False), (375, True)):
        await page.looks(width, 812, dark=dark)
        for path in VIEWS:
            await shown.visit(path.format(run=run))
            assert await page.value(RULES) == [], (path, width, dark)
            seen += str(await page.value("document.body.textContent"))
    await page.looks(1280, 812)
    assert page.told == told
    assert len([evil for evil in EVIL if evil in seen]) > len(EVIL) - 6
    assert page.refused == []
    asked = [one for one in page.asked if not one.startswith(("about:", "data:"))]
    assert asked
    assert [one for one in asked if not one.startswith(f"{stage.base}/")] == []


#: What each rule must find, by a script that breaks it.
BREACHES = {
    "an element that we never write": "document.querySelector('main').append(document.createElement('img'))",
    "contrast": "document.querySelector('h1').style.color = '#999'",
    "a heading is left out": "document.querySelector('h2').outerHTML = '<h3>3</h3>'",
    "px wide": "document.querySelector('h1').style.width = '3000px'",
    "a control without a label": "document.querySelector('main').append(document.createElement('input'))",
    "the attribute onclick": "document.querySelector('h1').setAttribute('onclick', '')",
    "an address elsewhere": "document.querySelector('.brand').href = 'https://evil.example/'",
    "the frame of the page": "document.body.append(document.createElement('div'))",
    "a character that turns": "document.querySelector('h1').textContent = 'a\\u202eb'",
    "a script of somebody else": "window.pwned = 1",
}


@pytest.mark.parametrize("rule", BREACHES)
async def test_each_rule_finds_what_breaks_it(shown: Shown, rule: str) -> None:
    await shown.visit("/")
    await shown.page.value(BREACHES[rule] + "; 0")
    assert rule in str(await shown.page.value(RULES))


async def run_of(shown: Shown, tool: str) -> object:
    await shown.visit(f"/runs?tool={tool}")
    return await shown.page.value("document.querySelector('main a[href*=\"/runs/run-\"]').pathname.split('/').pop()")


async def test_without_script_everything_but_the_live_page_works(shown: Shown) -> None:
    page, stage = shown.page, shown.stage
    await stage.says("Oda, look at the astrolabe", at=1)
    run = str(await run_of(shown, "inspect"))
    await page.looks(1280, 812, script=False)
    try:
        for path in VIEWS:
            await shown.visit(path.format(run=run))
            assert len(await shown.text()) > 200, path
            assert await page.value("!document.body.classList.contains('scripted')")
        await shown.visit("/live")
        assert "This page needs script" in await shown.text()
        await shown.visit("/")
        await page.value("document.querySelector('main [name=q]').value = 'Oda'")
        await shown.press("Filter")
        assert await page.value("document.querySelectorAll('#assistants tbody tr').length") == 1
        await shown.press("Stop Oda")
        assert "Oda is stopped" in await shown.text()
        await shown.press("Start Oda")
        assert "Oda starts." in await shown.text()
        await shown.visit(f"/settings?assistant={SAGE}&q=pause_seconds")
        await page.value("document.querySelector('main [name=value]').value = '2.5'")
        await page.value("document.querySelector('main [name=value]').form.querySelector('[value=change]').click()")
        await page.until(READS + "('pause_seconds = 2.5')", "the new setting")
        await until(lambda: stage.day.service.runners["assistant:1"].config.assistant.pause_seconds == 2.5)
        await shown.press("Stop all", within="header")
        assert "are stopped, and stay so" in await shown.text()
        assert stage.day.service.runners == {}
    finally:
        await page.looks(1280, 812)


async def test_every_control_is_reached_by_tab_in_order_and_shows_it(shown: Shown) -> None:
    page = shown.page
    for path in ("/", "/runs", "/approvals", f"/a/{VENN}/character", "/money", "/live"):
        await shown.visit(path)
        count = int(await page.value(CONTROLS))
        reached: list[int] = []
        for _ in range(4 * count + 10):
            await page.press("Tab", 9)
            at, is_shown = await page.value(FOCUSED)
            if at < 0:
                continue
            if reached and at == 0 and reached[-1] != 0:
                break
            assert is_shown, (path, await page.value("document.activeElement.outerHTML.slice(0, 200)"))
            if not reached or reached[-1] != at:
                reached.append(at)
        assert reached == list(range(count)), path
    await shown.visit("/runs")
    await page.press("Tab", 9)
    assert await page.value("document.activeElement.textContent") == "Skip to the content"
    await page.press("Enter", 13, "\r")
    assert await page.value("document.activeElement.id") == "content"
