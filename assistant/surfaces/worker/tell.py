"""Runs `mud-assistant tell`: says something to an assistant, wherever it lives, and prints what it answers. Blocks."""

from __future__ import annotations

import re
import secrets as random_secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mud_assistant.assistant.config.settings import DEFAULT_FILE, read_settings
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.events.events import MAX_HEARD, Paged
from mud_assistant.assistant.journal import BrokenRecord, InboxFullError, NewerRecord
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.place import PostgresPlace
from mud_assistant.assistant.journal.postgres.sharing.messages import FOR, FROM_AFAR, LeftMessage
from mud_assistant.assistant.journal.records import EVENT, EXECUTED
from mud_assistant.assistant.journal.tables.lease import NAME_OF
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.page.reading.wording import shown
from mud_assistant.assistant.surfaces.game.processes import Patience
from mud_assistant.assistant.surfaces.journal.places import PlaceFinder
from mud_assistant.tools import Executed, Principal, Status

if TYPE_CHECKING:
    from mud_assistant.assistant.journal.postgres.sharing.telling import Fate, KnownLife, Messenger

#: The exit status when there was no answer.
NO_ANSWER = 1
#: How often the journal is looked at for an answer, in seconds.
LOOK_SECONDS = 0.25
#: The tools by which somebody who is far away is spoken to.
_SPEAKING = frozenset({"page", "whisper"})
_NAME = re.compile(r"\w[\w' -]{0,39}")
_NO_URL = (
    "words are left in the journal that the workers share, and the settings name none: set url under [journal] as it "
    "is where `mud-assistant worker` runs, or name those settings with --config"
)


class CannotTell(AssistantError):
    """The words cannot be left. The message is a sentence for the person."""


class TellOptions(Struct, frozen=True):
    """The options of the command line. `timeout` is in seconds."""

    name: str
    words: str
    speaker: str = "Visitor"
    timeout: float = 120.0
    config: Path | None = None


class TellScreen(Struct, frozen=True):
    """Shows answers by `tell`, and by `note` what else there is to say."""

    tell: Callable[[str], None]
    note: Callable[[str], None]


def run_tell(
    options: TellOptions, environment: Mapping[str, str], secrets: Secrets, patience: Patience, screen: TellScreen
) -> int:
    """Say the words, show the answers, and return the exit status. Raises AssistantError. Blocks."""
    if not _NAME.fullmatch(options.speaker):
        raise CannotTell("who speaks has a name of letters, digits, spaces, hyphens and apostrophes, at most 40")
    if not options.words.strip() or len(options.words) > MAX_HEARD:
        raise CannotTell(f"say something, of at most {MAX_HEARD} characters")
    config = read_settings(options.config, {})
    folder = (options.config or DEFAULT_FILE).absolute().parent
    place = PlaceFinder(config.journal, folder, environment, secrets).of_settings()
    if not isinstance(place, PostgresPlace):
        raise CannotTell(_NO_URL)
    try:
        from mud_assistant.assistant.journal.postgres.sharing.telling import messenger  # noqa: PLC0415  (needs psycopg)
    except ImportError as error:
        from mud_assistant.assistant.journal.postgres.refusals import NO_DRIVER  # noqa: PLC0415  (only where it is used)

        raise CannotRead(NO_DRIVER) from error
    with messenger(place) as connected:
        return _tell(connected, options, patience, screen)


def _tell(messenger: Messenger, options: TellOptions, patience: Patience, screen: TellScreen) -> int:
    life = _find(messenger.known(NAME_OF), options.name)
    speaker = Principal(f"afar:{options.speaker.casefold()}", options.speaker)
    id_ = f"{FROM_AFAR}{random_secrets.token_hex(12)}"
    event = Paged(id=id_, at=0.0, who=speaker, text=options.words)
    message = LeftMessage(life.assistant, id_, EVENT.encode(event))
    try:
        messenger.leave(message, FOR + life.assistant)
    except InboxFullError as error:
        raise CannotTell(f"{life.name} has too much to hear: {error}") from error
    where = f"{life.name} lives on {life.process}" if life.process else f"no process runs {life.name} now"
    screen.note(f"{where}; waiting for an answer ...")
    following = _Following(life, options.speaker, screen)
    patience.until(lambda: following.is_over(messenger.fate(message)), options.timeout, LOOK_SECONDS)
    if not following.has_ended:
        screen.note(_too_late(life, options.timeout, was_taken_back=messenger.take_back(message)))
        return NO_ANSWER
    return 0 if following.has_answer else NO_ANSWER


@dataclass
class _Following:
    """Shows what becomes of words, each answer once."""

    life: KnownLife
    speaker: str
    screen: TellScreen
    has_ended: bool = False
    has_answer: bool = False
    _shown: set[tuple[int, int, int]] = field(default_factory=set)
    _progress: str = ""

    def is_over(self, fate: Fate) -> bool:
        """Show what is new, and return whether nothing more is to come."""
        name = self.life.name
        for at, record in fate.results:
            if at not in self._shown:
                self._shown.add(at)
                self._show(record)
        if fate.state == "pending":
            self._tell_progress(f"{name} has heard it ...")
        elif fate.state or not fate.waits:
            self.has_ended = True
            if fate.state == "parked":
                self.screen.note(f"{name} cannot deal with it: {shown(fate.reason)}")
            elif not fate.state:
                self.screen.note(f"{name} does not listen to {self.speaker}.")
            elif not self.has_answer:
                self.screen.note(f"{name} did not answer.")
        return self.has_ended

    def _show(self, record: bytes) -> None:
        """Print what was said to the speaker."""
        try:
            done = EXECUTED.decode(record)
        except (BrokenRecord, NewerRecord, ValueError):
            return
        if (said := _words_to(self.speaker, done)) is not None:
            self.has_answer = True
            self.screen.tell(f"{self.life.name}: {shown(said)}")

    def _tell_progress(self, progress: str) -> None:
        if progress != self._progress:
            self._progress = progress
            self.screen.note(progress)


def _words_to(speaker: str, done: Executed) -> str | None:
    """Return the words that a call said to this speaker, None for any other call."""
    said, arguments = done.call, done.call.arguments
    if said.name not in _SPEAKING or done.status is not Status.DONE:
        return None
    target, text = arguments.get("target"), arguments.get("text")
    is_for_them = isinstance(target, str) and target.strip().casefold() == speaker.casefold()
    return text if is_for_them and isinstance(text, str) else None


def _find(known: list[KnownLife], wanted: str) -> KnownLife:
    """Return the assistant of this name. Raises CannotTell."""
    name = wanted.casefold()
    found = [one for one in known if name in {one.assistant, one.name.casefold(), one.assistant.partition(":")[2]}]
    if len(found) == 1:
        return found[0]._replace(name=found[0].name or wanted)
    there = ", ".join(one.name or one.assistant for one in known) or "none yet: start `mud-assistant worker` first"
    if found:
        raise CannotTell(
            f"several are called {wanted}: name one by its id, {', '.join(one.assistant for one in found)}"
        )
    raise CannotTell(f"the journal knows no assistant {wanted}; those it knows: {there}")


def _too_late(life: KnownLife, seconds: float, *, was_taken_back: bool) -> str:
    if not was_taken_back:
        return f"{life.name} has heard it and did not answer within {seconds:.0f} s; it may still, in its own time."
    where = "no worker runs it" if not life.process else f"{life.process}, where it lives, took nothing in"
    return f"{life.name} did not hear it within {seconds:.0f} s: {where}. The words were taken back."
