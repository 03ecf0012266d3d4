"""The command `mud-assistant setup`, run once it is known that no module of ours is hidden."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from pydantic import ValidationError
from twisted.internet.defer import CancelledError

from mud_assistant.assistant.checks.doctor import DoctorRequest, examine
from mud_assistant.assistant.checks.web import PAGE
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.settings import SettingsError, read_settings, read_tables
from mud_assistant.assistant.config.toml_edit import CannotEdit, edited, written
from mud_assistant.assistant.errors import NotSetUp, complaint
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import KEY_SECONDS, SERVICE, key_sources
from mud_assistant.assistant.surfaces.doctor import DoctorScreen
from mud_assistant.assistant.surfaces.setup.dialogue import Dialogue, StandardInput
from mud_assistant.assistant.surfaces.setup.keys import rebind
from mud_assistant.assistant.surfaces.setup.searching import WebQuestions
from mud_assistant.assistant.surfaces.setup.thinking import ModelQuestions
from mud_assistant.assistant.surfaces.setup.visiting import GameQuestions
from mud_assistant.assistant.surfaces.setup.writing import CannotWrite, NewKey, SettingsDraft, put_key, put_settings
from mud_assistant.assistant.worlds.telnet.game_checks import game_checks
from mud_assistant.llm.embedded.fetching.convert import MINILM
from mud_assistant.resilience import DeadlineExceeded, HttpExchange
from mud_assistant.resilience.background import in_daemon_thread

#: Exit status when nothing was written.
NOTHING_WRITTEN = 2
_NEW = "# Settings of mud-assistant. All there are: docs/settings.md\n"
_NO_JOURNAL = "none"
_MORE, _GAME = "more", "game"
#: What sentence vectors gain, as measured (docs/memory.md).
_GAIN = """Memories are found by their words. Vectors find some that were told in other words: of 100 that fit,
in a game world 73 and not 68, in long talks 53 and not 47, in long messages 58 and not 56."""


class Installation(Struct, frozen=True):
    """The settings file to write, and its surroundings. `wall` returns seconds since 1970."""

    path: Path
    environment: Mapping[str, str]
    wall: Callable[[], float]
    secrets: Secrets = field(default_factory=Secrets)
    #: The page on which the page readers are tested.
    page: str = PAGE


# Any: the reactor has no one interface for time, network and threads.
async def install(reactor: Any, installation: Installation) -> int:
    """Run the setup and return the exit status: the doctor's once the settings are written, else 2.

    Cancelling before that writes nothing.
    """
    exchange = HttpExchange(reactor)
    try:
        entered, is_web = await _Setup(reactor, installation, exchange).run()
    except (NotSetUp, CannotWrite) as error:
        _complain(f"{installation.secrets.scrub(str(error))}; the settings were not written")
        return NOTHING_WRITTEN
    except CancelledError:
        _complain("left; the settings were not written")
        raise
    finally:
        await exchange.close()
    config = read_settings(installation.path, {})
    await rebind(reactor, installation.wall, installation.path.parent, config, entered)
    return await _tested(reactor, installation, config, is_web=is_web)


async def _tested(reactor: Any, installation: Installation, config: Config, *, is_web: bool) -> int:
    """Run the doctor on the new settings and return its exit status."""
    screen, folder = DoctorScreen(), installation.path.parent
    keys = key_sources(reactor, installation.environment, folder, installation.secrets)
    _say("\n")
    return await examine(
        reactor,
        DoctorRequest(
            config,
            folder,
            installation.environment,
            installation.wall,
            screen.show,
            screen.waiting,
            installation.secrets,
            web=is_web,
            page=installation.page,
            world=tuple(game_checks(reactor, config, folder, keys, tries_login=False)),
        ),
    )


class _Setup:
    """One run of the questions, up to the written settings."""

    def __init__(self, reactor: Any, installation: Installation, exchange: HttpExchange) -> None:
        self._reactor = reactor
        self._path = installation.path
        self._secrets = installation.secrets
        self._environment = installation.environment
        self._exchange = exchange
        self._dialogue = Dialogue(StandardInput(reactor), _say)

    async def run(self) -> tuple[Collection[str], bool]:
        """Ask, write, and return the references of keys entered anew and whether the web is used.

        Raises NotSetUp, CannotWrite.
        """
        text = self._text()
        draft = SettingsDraft(self._path.parent, self._before(text), self._environment)
        if text and not await self._dialogue.yes(f"{self._path} is there already; change it?", proposed=True):
            raise NotSetUp("it stays as it is")
        keys = key_sources(self._reactor, self._environment, draft.folder, self._secrets)
        model = ModelQuestions(self._dialogue, draft, self._exchange, self._reactor, keys)
        await model.ask()
        is_web = await WebQuestions(self._dialogue, draft, self._secrets).ask()
        await self._journal(draft)
        question = (
            f"Write this to {self._path}? ({_MORE}: further options of this provider; {_GAME}: live in somebody else's "
            "game over telnet)"
        )
        while True:
            new = self._new(text, draft)
            self._show(draft)
            if isinstance(answer := await self._dialogue.yes_or(question, (_MORE, _GAME), proposed=True), bool):
                break
            await (model.more() if answer == _MORE else self._game(draft))
        if not answer:
            raise NotSetUp("as you wish")
        await self._write(text, new, draft)
        return draft.entered, is_web

    async def _game(self, draft: SettingsDraft) -> None:
        """Ask for the game that the character lives in as a guest."""
        await GameQuestions(self._dialogue, draft, self._secrets, self._reactor).ask()

    def _text(self) -> str:
        """Return the text of the settings file, empty when there is no file. Raises NotSetUp."""
        try:
            return self._path.read_bytes().decode()
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError:
            raise NotSetUp(f"{self._path} is not UTF-8 text") from None
        except OSError as error:
            raise NotSetUp(f"{self._path} cannot be read: {error.strerror}") from error

    def _before(self, text: str) -> Config:
        """Return the present settings. Raises NotSetUp for a file with a mistake, as its meaning is not known."""
        try:
            return read_settings(self._path, {}) if text else Config()
        except SettingsError as error:
            raise NotSetUp(f"mend this first, or move the file away: {error}") from error

    async def _journal(self, draft: SettingsDraft) -> None:
        old = draft.before.journal.file
        self._dialogue.tell(f"Where is it kept what was heard and done? ({_NO_JOURNAL}: nowhere, it is then forgotten)")
        file = await self._dialogue.text("Journal, from the folder of the settings", old or "assistant.journal")
        draft.set("journal", "file", value="" if file == _NO_JOURNAL else file)
        if file != _NO_JOURNAL:
            await self._vectors(draft)

    async def _vectors(self, draft: SettingsDraft) -> None:
        """Ask whether memories are found by their meaning as well. A server that was set stays."""
        old = draft.before.memory.vectors
        load, kept = MINILM.parts[0].wheel_bytes // 1_000_000, MINILM.size_bytes // 1_000_000
        question = "Shall memories be found in other words too?"
        if old in {"off", "embedded"}:
            self._dialogue.tell(_GAIN)
            question = f"{question[:-1]}, in English (downloads {load} MB, keeps {kept} MB)?"
        wanted = await self._dialogue.yes(question, proposed=old != "off")
        if wanted != (old != "off"):
            draft.set("memory", "vectors", value="embedded" if wanted else "off")

    def _new(self, text: str, draft: SettingsDraft) -> str:
        """Return the new text of the file, checked to be valid. Raises NotSetUp."""
        try:
            new = edited(text or _NEW, draft.changes)
            Config.model_validate(read_tables(new))
        except CannotEdit as error:
            raise NotSetUp(
                f"the way {self._path} writes '{error}' cannot be changed here: change it by hand"
            ) from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise NotSetUp(f"{place} would not be valid: {first['msg']}") from None
        return new

    def _show(self, draft: SettingsDraft) -> None:
        """Show what will be set and where keys will be kept, without the keys themselves."""
        self._dialogue.tell("")
        for path, value in draft.changes.items():
            if value is not None:
                self._dialogue.tell(f"  {'.'.join(path)} = {written(value)}")
        for key in draft.keys.values():
            where = key.path or f"the keyring's entry {key.entry}"
            self._dialogue.tell(f"  and the key into {where}")

    async def _write(self, text: str, new: str, draft: SettingsDraft) -> None:
        """Write the keys first, so that settings never lead to a missing key. Raises NotSetUp, CannotWrite."""
        for key in draft.keys.values():
            if key.path is None:
                await self._into_keyring(key)
        if self._text() != text:
            raise NotSetUp(f"{self._path} was changed by somebody else meanwhile")
        for key in draft.keys.values():
            if key.path is not None:
                put_key(key.path, key.value)
        put_settings(self._path, new)
        self._dialogue.tell(f"{self._path} is written.")

    async def _into_keyring(self, key: NewKey) -> None:
        """Put a key into the desktop's keyring. Raises NotSetUp."""

        def work() -> str:
            try:
                import_module("keyring").set_password(SERVICE, key.entry, key.value)
            except Exception as error:  # noqa: BLE001  (each keyring has its own errors, which may hold the key)
                return type(error).__name__
            return ""

        try:
            failed = await in_daemon_thread(self._reactor, KEY_SECONDS, work)
        except DeadlineExceeded as error:
            raise NotSetUp("the keyring did not answer: see whether it waits to be unlocked") from error
        if failed:
            raise NotSetUp(f"the keyring did not take the key ({failed}): keep it in a file or in the environment")


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _complain(text: str) -> None:
    sys.stderr.write(f"\n{complaint(text)}\n")
    sys.stderr.flush()
