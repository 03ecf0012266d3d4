"""Values of a busy game: any number of assistants on a day of talk, the same each time."""

from __future__ import annotations

import random

from mud_assistant.assistant.page.values.assistants import (
    AssistantDetail,
    AssistantStatus,
    ModelLine,
    MutedPlayer,
    Overview,
    ParkedNotice,
    SettingLine,
    ToolGrant,
    UnknownCallNotice,
)
from mud_assistant.assistant.page.values.common import CircuitSpan, ServerStatus, TimingPoint, TroubleNotice
from mud_assistant.assistant.page.values.money import Pace, UsageAnswer, UsageRowView
from mud_assistant.resilience import Allowance, Amount
from tests.assistant.page.desk import NOW, MemoryDesk

NAMES_TEXT = """
Berta Odric Marrow Ysolde Tam Captain_Hale Old_Nessa Quill Bramble Ferro Ilka Sergeant_Voss Pim Hedda Lark
Rook Miller_Jon Saffi Grizel Tobin Wren Aldous Cass Dunstan Edda Finn Greta Hob Isolde Jory
"""
NAMES = NAMES_TEXT.split()
PLACES = ("The Gilded Goose", "Harbour market", "North gate", "Library of Ash", "Mill lane", "The long hall")
MODELS = ("qwen3:14b", "claude-haiku-4-5", "gpt-5-mini", "mistral-small:24b")
WORDS = (
    "The bridge is out since the flood, dear. Take the mill lane, and mind the geese.",
    "Two coppers for a mug, three for one without a hole in it.",
    "I saw him go north at dawn, with the grey mare and no lantern.",
    "Halt! Who rings the bell at this hour?",
    "",
    "If you bring me the blue ledger, I can tell you who signed for the barrels. Come back when the market closes.",
)
DOING = ("thinking, step 2 of 5", "speaking", "reading a page", "asking qwen3:14b")
ORIGINS = ("http://127.0.0.1:11434", "https://api.anthropic.com", "https://api.openai.com")


def status_of(number: int, chance: random.Random) -> AssistantStatus:
    state = chance.choices(["awake", "waiting", "off", "stopped", "opening"], [70, 10, 12, 5, 3])[0]
    state = {7: "emergency", 19: "lost"}.get(number, state)
    is_on = state in {"awake", "waiting"}
    is_busy = state == "awake" and chance.random() < 0.25
    spent = round(chance.betavariate(1.2, 4) * 2.4, 4) if state != "off" else 0.0
    name = NAMES[number % len(NAMES)].replace("_", " ") + (
        "" if number < len(NAMES) else f" {number // len(NAMES) + 1}"
    )
    return AssistantStatus(
        id=f"assistant:{number}",
        name=name,
        state=state,
        doing=chance.choice(DOING) if is_busy else "",
        run=f"run-{number}-4{number:02}" if is_busy else None,
        place=chance.choice(PLACES) if state != "lost" else "",
        model=chance.choice(MODELS),
        circuit=chance.choices(["closed", "half_open", "open"], [92, 4, 4])[0] if is_on else "unknown",
        events_waiting=chance.choices([0, 1, 2, 9], [80, 10, 7, 3])[0] if is_on else None,
        approvals_waiting=int(chance.random() < 0.04),
        used_today=Amount(calls=int(spent * 190), tokens=int(spent * 410_000), money=spent),
        ceiling=Allowance(money=2.0) if number % 3 else Allowance(),
        last_words=chance.choice(WORDS) if state != "off" else "",
        last_at=NOW - chance.expovariate(1 / 2400) if state != "off" else None,
        trouble={"emergency": "Five runs crashed one after another.", "lost": "Its character was deleted."}.get(
            state, ""
        ),
        context_used=chance.betavariate(2, 3) if is_on else None,
        context_tokens=chance.randrange(900, 30_000) if is_on else None,
    )


def timings(chance: random.Random) -> tuple[TimingPoint, ...]:
    points = []
    for minute in range(60):
        wait = chance.gammavariate(2, 0.12) + (1.8 if 31 < minute < 37 else 0)
        at = NOW - 3600 + minute * 60
        talked = chance.random() > 0.12
        first = wait + chance.gammavariate(3, 0.3) if talked else None
        points.append(TimingPoint(at=at, waiting=wait if talked else None, first_sentence=first))
    return tuple(points)


def busy_overview(count: int = 50, seed: int = 19) -> Overview:
    chance = random.Random(seed)  # noqa: S311
    all_of = tuple(status_of(number, chance) for number in range(count))
    money = sum(each.used_today.money for each in all_of)
    return Overview(
        at=NOW,
        version="0.1.0",
        assistants=all_of,
        servers=(
            ServerStatus(
                origin=ORIGINS[0], circuit="closed", in_flight=3, waiting=2, sentence="answers, 3 of 4 at work"
            ),
            ServerStatus(origin=ORIGINS[1], circuit="closed", in_flight=1, sentence="answers"),
            ServerStatus(
                origin=ORIGINS[2],
                circuit="open",
                open_for=18.4,
                failures_in_a_row=6,
                sentence="answered 503 six times; it is not asked for 18 s",
            ),
        ),
        troubles=(
            TroubleNotice(
                kind="emergency", assistant="assistant:7", name="Quill", sentence="Five runs crashed in a row."
            ),
            TroubleNotice(kind="server", sentence="https://api.openai.com has answered 503 for two minutes."),
        ),
        used_today=Amount(calls=4210, tokens=9_120_455, money=round(money, 4)),
        ceiling=Allowance(money=40.0),
        reactor_lag=0.0121,
        approvals_waiting=sum(each.approvals_waiting for each in all_of),
        watchers=2,
        timings=timings(chance),
        circuits=(
            CircuitSpan(origin=ORIGINS[0], circuit="closed", since=NOW - 3600, until=NOW),
            CircuitSpan(origin=ORIGINS[1], circuit="closed", since=NOW - 3600, until=NOW - 1500),
            CircuitSpan(origin=ORIGINS[1], circuit="half_open", since=NOW - 1500, until=NOW - 1380),
            CircuitSpan(origin=ORIGINS[1], circuit="closed", since=NOW - 1380, until=NOW),
            CircuitSpan(origin=ORIGINS[2], circuit="closed", since=NOW - 3600, until=NOW - 420),
            CircuitSpan(origin=ORIGINS[2], circuit="open", since=NOW - 420, until=NOW),
        ),
    )


def busy_detail(status: AssistantStatus) -> AssistantDetail:
    def setting(name: str, value: str, set_by: str, meaning: str) -> SettingLine:
        return SettingLine(name=name, value=value, meaning=meaning, set_by=set_by, default="", allowed="", example="")

    return AssistantDetail(
        status=status,
        persona="You keep the Gilded Goose, an inn by the harbour. You are dry, kind, and know everybody's debts.\n"
        "You never leave the inn after dark.",
        character="berta-innkeeper",
        lore_entries=14,
        models=(
            ModelLine(name="qwen3:14b", provider="ollama", why="It is set for the whole game.", circuit="closed"),
            ModelLine(name="gpt-5-mini", provider="openai", why="It is asked when the first fails.", circuit="open"),
        ),
        servers=busy_overview(1).servers[:1],
        tools=(
            ToolGrant(name="say", granted=True, category="terminal", meaning="Speak to the room."),
            ToolGrant(name="whisper", granted=True, category="terminal", meaning="Speak to one player."),
            ToolGrant(name="web_search", granted=True, category="async", meaning="Search the web."),
            ToolGrant(
                name="execute_command", granted=False, category="dangerous", meaning="Run a command of the game."
            ),
        ),
        muted=(MutedPlayer(id="player:9", name="Grumbold", since=NOW - 90_000),),
        memories=212,
        parked=(
            ParkedNotice(event="event:88", heard="Berta, count to a million, please", reason="Failed five times."),
        ),
        unknown=(UnknownCallNotice(run="run-12-3", step=2, call='give {"item": "key"}', at=NOW - 7200),),
        settings=(
            setting("model", "qwen3:14b", "game", "The model it thinks with."),
            setting("limits.money", "2.00", "assistant", "The most that it may spend in a day."),
            setting("key", "env:OPENAI_API_KEY", "game", "Where the key is read."),
            setting("steps", "5", "default", "The most steps of a run."),
        ),
        timings=timings(random.Random(status.id)),  # noqa: S311
    )


def busy_usage(by: str = "assistant", seed: int = 4) -> UsageAnswer:
    chance = random.Random(seed)  # noqa: S311
    names = {"assistant": NAMES[:9], "player": NAMES[10:28], "model": MODELS, "day": ("all",)}[by]
    rows = tuple(
        UsageRowView(day=f"2026-11-{day:02}", by=by, key=f"{by}:{name}", name=name.replace("_", " "), used=used)
        for day in range(1, 23)
        for index, name in enumerate(names)
        for money in [chance.betavariate(2, 4) * 3 / (index + 1)]
        for used in [Amount(calls=int(money * 150), tokens=int(money * 300_000), money=round(money, 4))]
    )
    spent = sum(row.used.money for row in rows)
    pace = Pace(
        month="2026-11",
        days_over=22,
        days_in_month=30,
        spent=Amount(money=spent),
        expected=Amount(money=spent / 22 * 30),
        ceiling=Allowance(money=300.0),
    )
    return UsageAnswer(
        by=by,
        since="2026-11-01",
        until="2026-11-22",
        utc_offset_hours=0,
        rows=rows,
        total=Amount(money=spent),
        pace=pace,
        ceiling=Allowance(money=10.0),
    )


def busy_desk(count: int = 50) -> MemoryDesk:
    overview = busy_overview(count)
    details = {each.id: busy_detail(each) for each in overview.assistants}
    return MemoryDesk(
        overview_value=overview,
        details=details,
        usage_values={by: busy_usage(by) for by in ("assistant", "player", "model", "day")},
    )
