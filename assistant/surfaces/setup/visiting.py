"""Asks for somebody else's game over telnet: where it is, how it words things, who the character is there."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.config.world_config import NAME, GameAddress, WorldConfig, parse_address
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.http_server.addresses import is_loopback
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.setup.dialogue import Dialogue
from mud_assistant.assistant.surfaces.setup.keys import reference
from mud_assistant.assistant.surfaces.setup.writing import SettingsDraft
from mud_assistant.assistant.worlds.telnet.game_access import profile_of
from mud_assistant.assistant.worlds.telnet.probing import FirstShown, Unreachable, look_at
from mud_assistant.assistant.worlds.telnet.profiles.profile import shipped_profiles
from mud_assistant.assistant.worlds.telnet.wire.secured import game_endpoint
from mud_assistant.resilience.background import in_daemon_thread
from mud_assistant.tools.text.clean import one_line

#: Seconds that reading a profile may take.
_READ_SECONDS = 30.0
_LIKE = {
    "diku": "DikuMUD, CircleMUD, tbaMUD, ROM, SMAUG", "evennia": "Evennia, from outside",
    "irc": "a channel of IRC",
    "lp": "LPMud, FluffOS, LDMud", "moo": "LambdaMOO, ToastStunt", "mudpy": "mudpy", "pennmush": "PennMUSH",
    "ranvier": "Ranvier",
}  # fmt: skip


class GameQuestions(Struct, frozen=True):
    """Asks what `[world]` needs, with what the game shows as a proposal."""

    dialogue: Dialogue
    draft: SettingsDraft
    secrets: Secrets
    # Any: the reactor as clock, for connections and for threads.
    reactor: Any

    async def ask(self) -> None:
        """Ask, and put the answers into the draft."""
        old = self.draft.before.world
        address = await self.dialogue.checked(
            "The game, as HOST:PORT, or telnets://HOST:PORT for TLS", _address, old.telnet or "localhost:4000"
        )
        self._set(telnet=address)
        game = parse_address(address)
        fingerprint = ""
        if game.is_tls:
            question = "The SHA-256 of its certificate, where the game signed it itself (empty: checked as usual)"
            fingerprint = await self.dialogue.checked(question, _fingerprint, old.fingerprint)
        self._set(fingerprint=fingerprint)
        shown = await self._look(game, fingerprint)
        name = await self.dialogue.text("The character's name in the game", self.draft.before.assistant.name)
        self.draft.set("assistant", "name", value=name)
        self._set(profile=await self._profile(name, shown, old.profile or "irc" * bool(game.channel)))
        account = await self.dialogue.text(
            "Its account, where the game has such (empty: none)", old.account, empty=True
        )
        self._set(account=account)
        held = old.password.replace(NAME, name.casefold())
        self._set(password=await reference(self.dialogue, self.draft, self.secrets, name.casefold(), held))
        if not is_loopback(game.host):
            question = "Who of the game allowed a character there? Without leave none is connected"
            self._set(permission=await self.dialogue.text(question, old.permission))

    def _set(self, **values: str) -> None:
        for name, value in values.items():
            self.draft.set("world", name, value=value)

    async def _look(self, address: GameAddress, fingerprint: str) -> FirstShown:
        """Look at the game without logging in, and say what it shows."""
        endpoint = game_endpoint(self.reactor, address.host, address.port, tls=address.is_tls, fingerprint=fingerprint)
        try:
            shown = await look_at(self.reactor, endpoint)
        except Unreachable as error:
            self.dialogue.tell(f"  It cannot be reached now: {error}")
            return FirstShown()
        runs = f"It runs {one_line(shown.codebase)}. " if shown.codebase else ""
        self.dialogue.tell(f"  It is there. {runs}It shows: {one_line(shown.last, max_chars=100)!r}")
        return shown

    async def _profile(self, name: str, shown: FirstShown, old: str) -> str:
        """Ask for a profile until one can be used; say when it has no answer to what the game shows."""
        self.dialogue.tell("How does the game word things? A file of your own, or one of these (docs/telnet.md):")
        for shipped in shipped_profiles():
            self.dialogue.tell(f"  {shipped:<8}  {_LIKE.get(shipped, '')}")
        while True:
            written = await self.dialogue.text("Profile", old or shown.guess() or "diku")
            try:
                read = partial(profile_of, written, name, self.draft.folder)
                profile = await in_daemon_thread(self.reactor, _READ_SECONDS, read)
            except AssistantError as error:
                self.dialogue.tell(f"  {error}")
                continue
            if (shown.lines or shown.prompt) and not shown.fits(profile):
                self.dialogue.tell("  It has no answer to what the game shows first: see [login] of the profile.")
            return written


def _address(answer: str) -> str:
    parse_address(answer)
    return answer


def _fingerprint(answer: str) -> str:
    WorldConfig(telnet="telnets://host:1", profile="diku", fingerprint=answer)
    return answer
