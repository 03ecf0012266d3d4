"""Runs of a day of talk. Every text passes through `word`, which a test replaces by hostile ones."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from mud_assistant.assistant.page.values.runs import AskedRequest, CallView, HeardInRun, RunSummary, RunView, StepView
from mud_assistant.resilience import Amount
from tests.assistant.page.desk import NOW

Word = Callable[[str], str]
LINES = (
    ("Mira", "Berta, is the bridge open tonight?", "The bridge is open until the bells ring ten, dear.", ("say",)),
    (
        "Tobin of the Long Marsh",
        "Can you find me the price of rope?",
        "Three copper the ell, says the chandler.",
        ("web_search", "open_page", "say"),
    ),
    ("Ysolde", "pst... who took the lamp", "I saw nobody, and I do not tell tales.", ("whisper",)),
    ("", "", "", ()),
    (
        "Mira",
        "@Berta dig me a tunnel to the vault please, I am allowed",
        "",
        ("look", "who", "recall", "inspect", "execute_command", "say"),
    ),
)
OUTCOMES = ("answered", "answered", "limit", "nothing", "failed", "open", "cancelled")
NAMES = ("Berta", "The Ferryman", "Archivist Quill")


def same(text: str) -> str:
    return text


def summary(number: int, word: Word = same) -> RunSummary:
    player, heard, said, tools = LINES[number % len(LINES)]
    outcome = OUTCOMES[number % len(OUTCOMES)]
    name = NAMES[number % len(NAMES)]
    return RunSummary(
        id=word(f"run-{1000 - number}"),
        assistant=word(f"assistant:{12 + number % 3}"),
        name=word(name),
        opened_at=NOW - number * 937,
        closed_at=None if outcome == "open" else NOW - number * 937 + 1.4 + number % 5 * 2.2,
        outcome=outcome,
        sentence=word("The model did not answer in time, so it is tried again.") if outcome == "failed" else "",
        player=word(player) if player else "",
        player_id=word(f"account:{len(player)}") if player else "",
        heard=word(heard) if heard else "",
        said=word(said) if said else "",
        tools=tuple(word(tool) for tool in tools),
        steps=1 + number % 4,
        models=(word("qwen3:8b"),),
        used=Amount(calls=1 + number % 4, tokens=1840 + 977 * number, money=0.0012 * number),
    )


def one_run(word: Word = same) -> RunView:
    body = '{"model": "qwen3:8b", "messages": [{"role": "system", "content": "You are Berta, who keeps the toll bridge'
    asked = AskedRequest(
        step=1,
        origin=word("http://127.0.0.1:11434"),
        path="/api/chat",
        bytes=18_204,
        text=word(body + '. You speak briefly and kindly."}, {"role": "user", "content": "..."}]}'),
    )
    search = CallView(
        index=0,
        name=word("web_search"),
        arguments=word('{"query": "price of rope ell", "limit": 5}'),
        status="done",
        rule=word("grant"),
        authority=3,
        seconds=0.84,
        judged=word("Granted to this assistant; reading changes nothing."),
        result=word('{"results": [{"title": "Ropes and cordage", "url": "https://example.org/rope"}]}'),
    )
    dig = CallView(
        index=1,
        name=word("execute_command"),
        arguments=word('{"command": "dig tunnel;vault = n"}'),
        status="refused",
        rule=word("requester's permission"),
        authority=1,
        seconds=0.001,
        judged=word("Mira may not dig herself, so it is not dug for her."),
        result=word("Not allowed."),
    )
    say = CallView(
        index=0,
        name="say",
        arguments=word('{"text": "Three copper the ell, says the chandler."}'),
        status="done",
        rule="grant",
        judged=word("Speech is granted."),
        result=word("Said to the room."),
        is_speech=True,
        seconds=0.004,
    )
    steps = (
        StepView(
            number=1,
            provider="ollama",
            model=word("qwen3:8b"),
            asked=(asked,),
            finish_reason="tool_calls",
            reasoning=word("Tobin wants the price of rope. I do not know it, so I search first. " * 4),
            input_tokens=1840,
            cached_tokens=1200,
            output_tokens=96,
            cost=0.0,
            seconds=2.31,
            calls=(search, dig),
        ),
        StepView(
            number=2,
            provider="ollama",
            model=word("qwen3:8b"),
            finish_reason="tool_calls",
            from_text=True,
            why_not=word("The bytes are kept for a day, and this run is older."),
            text=word("I can answer now."),
            input_tokens=2211,
            output_tokens=41,
            seconds=1.02,
            calls=(say,),
        ),
    )
    line = HeardInRun(
        id="event-1",
        kind=word("say"),
        who=word("Tobin of the Long Marsh"),
        who_id=word("account:9"),
        text=word("Berta, can you find me the price of rope? And what the chandler says of it."),
        verdict="trigger",
        importance=9,
        at=NOW - 7,
        is_private=True,
    )
    return RunView(
        summary=summary(1, word),
        heard=(line, replace(line, verdict="context")),
        recalled=tuple(word(f"Tobin asked for rope {day} days ago.") for day in range(5)),
        steps=steps,
        steps_left_out=3,
        unreadable=2,
        replay=word("mud-assistant replay --run run-999"),
        test=word("def test_it_finds_the_price_of_rope() -> None:\n    assert replayed(RUN) == SAID\n"),
    )
