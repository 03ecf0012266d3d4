"""The three requests in docs/prompts.md: `python -m tests.shown_requests` writes them anew, from the real code.

Each is what a model server got over the wire from an assistant that lives in a room of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from twisted.internet import task

from mud_assistant.assistant.characters import Lorebook
from mud_assistant.assistant.characters.character import LoreEntry
from mud_assistant.assistant.memory.remembering import remembering
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.assistant.worlds.embedded.hamlet import INN, Place
from mud_assistant.llm.testing import Call, Reply
from mud_assistant.tools.game import Thing
from mud_assistant.tools.memories import Memory, MemoryKind, memory_id
from tests.assistant.living import ANN, SAGE, living, reactor

PAGE = Path(__file__).parents[1] / "docs/prompts.md"
#: What stands round the requests on the page.
START, END = "<!-- the requests: python -m tests.shown_requests -->\n", "<!-- end of the requests -->"
ROOM = replace(
    INN,
    name="The Ferry House",
    description="A low room with one long table. The river goes by under the window.",
    exits=(),
    things=(
        Thing("kettle", "Copper, and never cold."),
        Thing("brass bell", "It calls the ferry. Its clapper is gone."),
    ),
)
SETTINGS = {
    "persona": "You keep the Ferry House, you are sixty, and you count every coin twice. You want the bell mended.",
    "voice": {"Is the ferry late?": "The river is late. The ferry only waits for it."},
}
LORE = Lorebook(
    (
        LoreEntry("bell", "The bell lost its clapper in the flood nine years ago.", keys=("bell",)),
        LoreEntry("thief", "You sold the clapper yourself, for the price of a goat.", keys=("bell",), private=True),
    )
)
LOOK = "A tall woman in a grey cloak, wet to the knees"
TOLD = (
    "Sage, my sister Mei is ill, and I take the early ferry to her",
    "Sage, I am a weaver from Karth",
)
HELLO = Reply(calls=(Call("say", {"text": "Sit down, then."}),))


async def _first_greeting() -> dict[str, Any]:
    async with living([HELLO], SETTINGS, provider="openai", place=Place((ROOM,)), hour=lambda: 19.0) as life:
        life.ann.description = LOOK
        await life.say("Good evening. Is there a bed for the night?")
        return dict(life.fake.chats[0].body)


async def _an_acquaintance() -> dict[str, Any]:
    storage = in_memory(reactor.seconds, 500, remembering((SAGE.name,)))
    for days, text in zip((3, 12), TOLD, strict=True):
        heard = Memory(
            memory_id(MemoryKind.HEARD, ANN.id, text), text, MemoryKind.HEARD, reactor.seconds() - days * 86_400 - 60,
            ANN.id, ANN.name, "told you", importance=8, authority=1, sources=frozenset({ANN.id}),
        )  # fmt: skip
        await storage.memories.keep(heard)
    async with living(
        [HELLO], SETTINGS, provider="openai", place=Place((ROOM,)), hour=lambda: 8.0, storage=storage
    ) as life:
        life.ann.description = LOOK
        await life.say("Good morning, Sage. Do you remember me?")
        return dict(life.fake.chats[0].body)


async def _a_question_with_a_tool() -> dict[str, Any]:
    script = [Reply(calls=(Call("inspect", {"target": "brass bell"}),)), HELLO]
    async with living(script, SETTINGS, provider="openai", place=Place((ROOM,)), hour=lambda: 14.0, lore=LORE) as life:
        life.ann.description = LOOK
        await life.say("Why does nobody ring that bell?")
        return dict(life.fake.chats[1].body)


async def shown() -> str:
    """Return what stands between the marks on the page. Raises AssertionError when the requests begin differently."""
    bodies = {
        "A stranger greets": await _first_greeting(),
        "An old acquaintance comes back": await _an_acquaintance(),
        "A question that brings up lore, after one tool": await _a_question_with_a_tool(),
    }
    fronts = {json.dumps([body["messages"][0], body["tools"]]) for body in bodies.values()}
    assert len(fronts) == 1, "system text and tools are the same bytes in all requests of a character"
    parts: list[str] = []
    tools: list[str] = []
    for title, body in bodies.items():
        if parts:  # the same bytes as in the first
            body["messages"][0]["content"] = "(as above)"
        tools = [tool["function"]["name"] for tool in body.pop("tools")]
        parts.append(f"## {title}\n\n```json\n{json.dumps(body, indent=2, ensure_ascii=False)}\n```\n")
    listed = ", ".join(f"`{name}`" for name in tools)
    return "\n".join([*parts, f"`tools` of each, left out above, are the same {len(tools)}: {listed}.\n"])


def drawn() -> str:
    """Return what stands between the marks on the page now."""
    return PAGE.read_text(encoding="utf-8").partition(START)[2].partition(END)[0]


async def _write(_: object) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{START}{await shown()}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    task.react(_write)
