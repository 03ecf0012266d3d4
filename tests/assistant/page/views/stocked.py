"""A desk in memory with a day of talk in it. Every text passes through `word`, which a test replaces."""

from __future__ import annotations

from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.page.values.actions import ApprovalView, CharacterView, LoreLine, LorePreview, PlayerView
from mud_assistant.assistant.page.values.assistants import Overview, SettingLine
from mud_assistant.assistant.page.values.money import Pace, UsageAnswer, UsageRowView
from mud_assistant.assistant.page.values.runs import RunPage
from mud_assistant.resilience import Allowance, Amount
from tests.assistant.page.desk import NOW, MemoryDesk, one_status
from tests.assistant.page.views.stocked_runs import NAMES, Word, one_run, same, summary


def usage(by: str, word: Word = same) -> UsageAnswer:
    keys = {
        "day": ("",),
        "assistant": NAMES,
        "player": ("Mira", "Tobin of the Long Marsh", "Ysolde"),
        "model": ("qwen3:8b", "claude-haiku", "gpt-5-mini", "a-long-model-name:instruct-q4_K_M"),
        "key": ("laptop", "school"),
    }[by]
    rows = tuple(
        UsageRowView(
            day=f"2026-11-{day:02}",
            by=by,
            key=word(f"{by}:{key}"),
            name=word(key) if key else "",
            used=Amount(calls=40 + day, tokens=52_000 + 4_100 * (day % 5), money=0.21 + (day * 7 % 9) * 0.06),
        )
        for day in range(1, 23)
        for key in keys
    )
    total = Amount(
        calls=sum(row.used.calls for row in rows),
        tokens=sum(row.used.tokens for row in rows),
        money=sum(row.used.money for row in rows),
    )
    expected = Amount(calls=total.calls * 30 // 22, tokens=total.tokens * 30 // 22, money=total.money * 30 / 22)
    pace = Pace(
        month="2026-11", days_over=21, days_in_month=30, spent=total, expected=expected, ceiling=Allowance(money=45.0)
    )
    return UsageAnswer(
        by=by,
        since="2026-11-01",
        until="2026-11-22",
        utc_offset_hours=1,
        rows=rows,
        total=total,
        pace=pace,
        ceiling=Allowance(money=1.5, tokens=2_000_000),
    )


_SETTINGS = (
    ("provider.model", "qwen3:8b", "The model that it thinks with.", "game", "", "a name the server knows", "qwen3:8b"),
    (
        "provider.api_key",
        "env:OPENAI_API_KEY",
        "Where the key of the provider is.",
        "game",
        "",
        "env:NAME, file:PATH or keyring:NAME",
        "env:OPENAI_API_KEY",
    ),
    ("budget.daily_money", "1.50", "The most that is spent on a day.", "assistant", "none", "a number or none", "2"),
    ("loop.max_steps", "5", "How many times it may ask its model in one run.", "default", "5", "1 to 10", "5"),
    (
        "assistant.fallback_line",
        "Berta scratches her head and says nothing for a while, as if asked the one thing she does not know.",
        "What players see when no answer comes.",
        "character",
        "rubs their eyes.",
        "a line of up to 200 characters",
        "rubs their eyes.",
    ),
)


def settings(word: Word = same) -> list[SettingLine]:
    names = ("value", "meaning", "set_by", "default", "allowed", "example")
    return [
        SettingLine(
            name=name,
            **{key: text if key == "set_by" else word(text) for key, text in zip(names, texts, strict=True)},
        )
        for name, *texts in _SETTINGS
    ]


def approvals(word: Word = same) -> list[ApprovalView]:
    return [
        ApprovalView(
            assistant=word("assistant:12"),
            name=word("Berta"),
            number=number,
            tool=word("execute_command"),
            shown=word("Berta wants to run: dig tunnel;vault = north"),
            digest=f"{number:02}" + "ab" * 31,
            arguments=word('{\n  "command": "dig tunnel;vault = north",\n  "as": "Berta"\n}'),
            requester=word("Mira"),
            requester_id=word("account:4"),
            expires_in=222.0 - 100 * number,
            because=word("Mira asked for a tunnel to the vault."),
            needs=word("Builder"),
        )
        for number in (1, 2)
    ]


def character(word: Word = same) -> CharacterView:
    lore = tuple(
        LoreLine(number=number, title=word(title), keys=tuple(word(key) for key in keys), text=word(text), own=own)
        for number, (title, keys, text, own) in enumerate(
            (
                (
                    "The toll bridge",
                    ("bridge", "toll", "river", "ferry", "bells", "ten", "night"),
                    "The bridge closes when the bells ring ten. The toll is two copper, and nothing for children.",
                    False,
                ),
                ("The lamp", ("lamp",), "Nobody knows who took the lamp of the old tower. " * 6, True),
                ("Where she is", (), "Berta always stands at the west end of the bridge.", True),
            ),
            1,
        )
    )
    return CharacterView(
        assistant=word("assistant:12"),
        name=word("Berta"),
        character=word("berta"),
        lore=lore,
        persona=word("Keeps the toll bridge. Sixty, dry, kind to children, owes the ferryman a favour."),
        known_characters=tuple(word(name) for name in ("berta", "ferryman", "quill")),
    )


def stocked(word: Word = same) -> MemoryDesk:
    statuses = tuple(one_status(id=word(f"assistant:{12 + at}"), name=word(name)) for at, name in enumerate(NAMES))
    who = character(word)
    findings = [
        ("journal", "ok", "The journal can be written: 41 MB, checked at start."),
        ("model of Berta", "wrong", "qwen3:8b is not there. Fetch it: ollama pull qwen3:8b"),
        ("web search", "skipped", "No assistant may search."),
        ("clock", "unknown", "The time server did not answer, so it is not known whether the clock is right."),
    ]
    return MemoryDesk(
        overview_value=Overview(at=NOW, version="0.1.0", assistants=statuses),
        run_page=RunPage(runs=tuple(summary(number, word) for number in range(24)), next="run-976", is_partial=True),
        run_views={"run-999": one_run(word)},
        approval_values=approvals(word),
        usage_values={by: usage(by, word) for by in ("day", "assistant", "player", "model", "key")},
        finding_values=[Finding(check=word(a), state=FindingState(b), sentence=word(c)) for a, b, c in findings],
        setting_values={"": settings(word), "assistant:12": settings(word)},
        characters={"assistant:12": who},
        previews={
            "assistant:12": LorePreview(line=word("Who took the lamp?"), pieces=who.lore[1:2], text=word("Lamp."))
        },
        players={
            "account:4": PlayerView(
                id=word("account:4"), name=word("Mira"), runs=41, memories=7, muted_by=(word("Archivist Quill"),)
            )
        },
    )
