"""A live game whose model server repeats the key in every way there is: it is found nowhere in what the game keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import deferLater

from mud_assistant.llm.testing import Call, FakeChat, RecordedRequest, Reply, Step, serve
from tests.evennia.live.game import INSTALL_LINE, OWNER, PASSWORD, Game, running
from tests.evennia.live.hunting import Admin, found_in
from tests.evennia.live.living import reactor
from tests.evennia.live.telnet import PATIENCE, Telnet
from tests.live.test_keys_in_logs import ECHOES, KEY, PLANTED

#: A whole game is started, and asks a server of its own for each of twenty ways to repeat a key.
pytestmark = pytest.mark.slow

#: Every form but the digits alone, which the game's own web pages hold as well.
WANTED = tuple(form for form in PLANTED if form != "0123456789")
#: What somebody types where only a reference belongs, a key for another server, and what the hunt must find.
TYPED, OTHER, MARKER = "sk-typed-0a1b2c3d4e5f6a7b8c9d", "sk-other-9f8e7d6c5b4a39281706", "marker-5e1f0c7d9b3a"
_ATTRIBUTES = (
    "[(a.key, a.value) for o in [self.search('Sage')] for a in o.attributes.all() + "
    "[a for s in o.scripts.all() for a in s.attributes.all()]]"
)
#: Characters of this game break when they are to speak: their tracebacks hold the key in words and locals.
_BREAKING = """

class Character(Character):
    def at_pre_say(self, message, **kwargs):
        import os
        key = os.environ["THE_KEY"]
        if "break" in message:
            raise RuntimeError(f"the game broke with {key} and {key!r}")
        return message
"""


async def asked(fakes: list[FakeChat], before: int) -> None:
    """Returns when a server was asked once more."""
    deadline = reactor.seconds() + PATIENCE
    while sum(len(fake.chats) for fake in fakes) <= before:
        assert reactor.seconds() < deadline
        await deferLater(reactor, 0.05)


async def through(owner: Telnet, name: str, reference: str, echo: Step, line: str) -> int:
    """How often a server that answers with this was asked: for a trial of it, and for what was said then."""

    def brain(request: RecordedRequest) -> Step:
        return echo

    fake = FakeChat(reactor, brain, KEY)
    async with serve(fake, reactor) as url:
        told = f"assistant/provider {name} = local sage {url}/v1 {reference}"
        seen = await owner.saw(".", await sent(owner, told, "Asking the model"))
        await until(owner, ("Kept: ", "old setting stays", "did not work"), seen)
        await owner.asks(f"{told} force", "Kept without being tried")
        before = len(fake.chats)
        owner.type(f"say {name}, {line}")
        await asked([fake], before)
        await deferLater(reactor, 0.5)  # the answer, or the failure, goes its way
        assert any(KEY in chat.authorization for chat in fake.chats)
        return len(fake.chats)


async def sent(owner: Telnet, line: str, words: str) -> int:
    mark = owner.type(line)
    await owner.saw(words, mark)
    return mark


async def until(owner: Telnet, any_of: tuple[str, ...], seen: str) -> None:
    """Returns when one of these was seen after the trial began."""
    deadline = reactor.seconds() + PATIENCE
    start = owner.text.rindex("Asking the model")
    while not any(words in owner.text[start:] for words in any_of):
        assert reactor.seconds() < deadline, (seen, owner.text[start:])
        await deferLater(reactor, 0.05)


async def mistakes(owner: Telnet) -> None:
    """A key typed where a reference belongs, addresses that are wrong, a key the server does not take."""
    await owner.asks(f"assistant/key Sage = {TYPED}", "A key is never typed out here")
    await owner.asks(f"assistant/provider Sage = local sage http://127.0.0.1:1/v1 {TYPED}", "never typed out")
    await owner.asks(f"assistant/provider Sage = local sage http://u:{KEY}@127.0.0.1:1/v1 env:THE_KEY force", "")
    await owner.asks("assistant/provider Sage = local sage http://127.0.0.1:1/v1 env:THE_KEY", "old setting stays")
    fake = FakeChat(reactor, [Reply("Hello.")] * 20, KEY)
    async with serve(fake, reactor) as url:
        await owner.asks(f"assistant/provider Sage = local sage {url}/v1 env:OTHER_KEY", "old setting stays")


async def looked_through(game: Game, owner: Telnet) -> list[str]:
    """All that builders and staff can look at, as text."""
    mark = owner.mark
    for line in (
        "examine Sage", "examine *Owner", "scripts Sage", "assistant/status Sage", "assistant/show Sage",
        "assistant/history Sage 50", "assistant/list", "assistant/usage Sage", "assistant/key Sage",
        f"py {_ATTRIBUTES}",
    ):  # fmt: skip
        owner.type(line)
        await deferLater(reactor, 0.5)
    await owner.asks("assistant/doctor Sage", "journal")
    await game.py(owner, "1 + 1")
    return [owner.text[mark:], *await admin_pages(game, owner)]


async def admin_pages(game: Game, owner: Telnet) -> list[str]:
    """The pages of the web admin on the character, its script, and every table that could hold a setting."""
    numbers = await game.py(owner, "(self.search('Sage').pk, self.search('Sage').scripts.all()[0].pk)")
    character, script = (int(number) for number in numbers.strip("()").split(","))
    admin = Admin(reactor, game.ports["web"])
    await admin.log_in(OWNER, PASSWORD)
    pages = [
        await admin.page(f"/admin/{path}")
        for path in (
            f"objects/objectdb/{character}/change/", f"scripts/scriptdb/{script}/change/", "objects/objectdb/",
            "scripts/scriptdb/", "server/serverconfig/", "accounts/accountdb/", "comms/msg/",
        )
    ]  # fmt: skip
    assert "Sage" in pages[0], pages[0][:500]
    assert "overrides" in pages[1], pages[1][:500]
    return pages


def planted_in(text: str) -> list[str]:
    return [form for form in (*PLANTED, OTHER) if form in text]


async def test_no_key_is_found_after_a_session_full_of_errors(template: Path, tmp_path: Path) -> None:
    key_file = tmp_path / "sage.key"
    key_file.write_text(f"{KEY}\n")
    key_file.chmod(0o600)
    references = {"Sage": "env:THE_KEY", "Mira": f"file:{key_file}"}
    lines = f"{INSTALL_LINE}\nBASE_CHARACTER_TYPECLASS = 'typeclasses.breaking.Character'"
    folder = tmp_path / "game"
    with_breaking(template)
    async with running(template, folder, lines, {"THE_KEY": KEY, "OTHER_KEY": OTHER}) as game:
        owner = await game.owner()
        for name in references:
            await owner.asks(f"assistant/create {name}", f"{name} is here")
        for number, (name, echo) in enumerate(ECHOES.items()):
            for who in references if number < 2 else [list(references)[number % 2]]:
                assert await through(owner, who, references[who], echo, f"what of {number}?"), name
        breaking = Reply(calls=(Call("say", {"text": "I break."}),))
        await through(owner, "Sage", "env:THE_KEY", breaking, "speak!")
        await mistakes(owner)
        seen = await looked_through(game, owner)
        await game.py(owner, f"self.search('Sage').attributes.add('marked', {MARKER!r})")
        telnet = owner.raw.decode("utf-8", "replace")
        await game.stop()
    assert "Traceback" in game.log()  # the breaking character was heard of
    assert [planted_in(text) for text in seen] == [[] for _ in seen]
    assert planted_in(telnet) == []
    assert found_in(folder, (*WANTED, OTHER, TYPED)) == []
    assert any(
        "typeclasses_attribute" in place for place in found_in(folder, (MARKER,))
    )  # the hunt finds what is there


def with_breaking(template: Path) -> None:
    stock: Any = (template / "typeclasses/characters.py").read_text()
    (template / "typeclasses/breaking.py").write_text(stock + _BREAKING)
