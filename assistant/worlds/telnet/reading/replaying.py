"""Replays a recorded conversation against a profile, and tells what the profile does not understand. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from msgspec import DecodeError, Struct, json
from twisted.internet.task import Clock

from mud_assistant.assistant.events.events import Event, Noticed, format_event
from mud_assistant.assistant.runtime.listener import MakeEvent
from mud_assistant.assistant.worlds.telnet.profiles.profile import Profile
from mud_assistant.assistant.worlds.telnet.reading.answer_window import AnswerEnding, AnswerWindow
from mud_assistant.assistant.worlds.telnet.reading.game_ears import Ears
from mud_assistant.assistant.worlds.telnet.reading.line_reader import LineReading
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons
from mud_assistant.assistant.worlds.telnet.reading.surroundings import SeenSurroundings, read_room
from mud_assistant.assistant.worlds.telnet.reading.wire_reading import hear_wire
from mud_assistant.assistant.worlds.telnet.session.game_session import SILENCE
from mud_assistant.assistant.worlds.telnet.wire.feed import Feed
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Closed, Prompt, Secret, WireEvent
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.trust import Kind, Principal

#: The longest recording that is read, in rows, and the most lines that are told of each sort.
MAX_ROWS, MAX_TOLD = 200_000, 60
#: Seconds that are waited at the end.
END = 15.0
_IAC = 255


class RecordingError(Exception):
    """A recording that cannot be read; the message names the row."""


class _Row(Struct, rename={"sender": "from"}):
    """One row of a recording. `bytes` holds a character for each byte."""

    t: float = 0.0
    sender: str = ""
    bytes: str = ""


@dataclass
class Replayed:
    """What a profile made of a recording. `unknown` counts the lines that fit nothing, `doubtful` holds imitations."""

    heard: list[tuple[float, Event]] = field(default_factory=list)
    rooms: list[str] = field(default_factory=list)
    prompts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    doubtful: Counter[str] = field(default_factory=Counter)

    def told(self) -> Iterator[str]:
        """Return the lines that tell an owner what was understood and what was not."""
        events = [(at, event) for at, event in self.heard if not isinstance(event, Noticed)]
        yield f"Understood: {len(events)} events, {len(self.rooms)} rooms, {self.kinds['echo']} echoes of own acts."
        for at, event in events[:MAX_TOLD]:
            yield f"  {at:8.2f}  {format_event(event)}"
        yield f"Rooms: {', '.join(dict.fromkeys(self.rooms)) or 'none: look at [room] title and exits'}"
        yield f"Prompts: {', '.join(repr(text) for text, _ in self.prompts.most_common(5)) or 'none'}"
        yield f"Looks like speech, and is nobody's for certain: {len(self.doubtful)}"
        yield from _counted(self.doubtful)
        yield f"Not understood: {len(self.unknown)}"
        yield from _counted(self.unknown)


def replay(recording: str, profile: Profile, me: str) -> Replayed:
    """Return what the profile makes of a recording in JSON lines, for the character called `me`.

    Raises RecordingError.
    """
    return _Replay(profile, me).run(_rows(recording))


class _Replay:
    """One replay: the wire, the ears and what came of them."""

    def __init__(self, profile: Profile, me: str) -> None:
        self._profile, self._clock, self._feed = profile, Clock(), Feed(profile.session.split)
        self._around = SeenSurroundings(self._clock.seconds)
        persons = Persons("recording", self._clock.seconds)
        self._replayed = Replayed()
        self._is_look = False
        self._ears = Ears(
            profile, persons, Principal("assistant:replay", me, Kind.ASSISTANT),
            around=self._around, clock=self._clock, hear=self._hear, heard=self._note,
        )  # fmt: skip

    def run(self, rows: Iterable[_Row]) -> Replayed:
        """Replay all rows, with their times, and silence after them."""
        for row in rows:
            self._pass(row.t - self._clock.seconds())
            data = row.bytes.encode("latin-1", "replace")
            if row.sender == "server":
                self._take(self._feed.feed(data))
            elif data and data[0] != _IAC:
                self._typed(data.decode("utf-8", "replace").strip())
        self._pass(END)
        return self._replayed

    def _pass(self, seconds: float) -> None:
        """Let time pass. What stands there after some silence is a prompt."""
        if seconds > SILENCE:
            self._clock.advance(SILENCE)
            self._take(self._feed.quiet())
            seconds -= SILENCE
        self._clock.advance(max(0.0, seconds))

    def _take(self, events: Iterable[WireEvent]) -> None:
        for event in events:
            if isinstance(event, Prompt):
                self._replayed.prompts[event.text] += 1
            if not isinstance(event, Closed | Secret):
                hear_wire(self._ears, event)

    def _typed(self, line: str) -> None:
        """Note a line that the player typed: unless it is speech, what follows is the answer to it."""
        self._feed.encode(line)
        verbs = self._profile.verbs
        speech = [verbs.say, verbs.emote, verbs.whisper, verbs.tell, *verbs.channels.values()]
        heads = {template.partition("{")[0].strip() for template in speech if template}
        self._is_look = line == verbs.look
        if line and not any(line.startswith(head) for head in heads if head):
            self._ears.window = AnswerWindow(self._clock, self._answered)
            self._ears.window.open()

    def _answered(self, window: AnswerWindow, ending: AnswerEnding) -> None:
        self._ears.window = None
        room = read_room(window.lines, self._profile, is_asked=self._is_look)
        if room is not None and (room.exits or self._is_look):
            self._around.enter(room)
            self._replayed.rooms.append(room.name)

    def _hear(self, make: MakeEvent) -> None:
        at = self._clock.seconds()
        self._replayed.heard.append((at, make(str(len(self._replayed.heard)), at)))

    def _note(self, reading: LineReading) -> None:
        self._replayed.kinds[reading.kind] += 1
        if reading.kind == "unknown":
            self._replayed.unknown[reading.text] += 1
        elif reading.kind == "imitation":
            self._replayed.doubtful[reading.text] += 1


def _rows(recording: str) -> Iterator[_Row]:
    """Yield the rows that hold bytes. Raises RecordingError."""
    for number, line in enumerate(recording.splitlines(), 1):
        if number > MAX_ROWS:
            raise RecordingError(f"row {number}: a recording has at most {MAX_ROWS} rows: cut it")
        if not line.strip():
            continue
        try:
            row = json.decode(line, type=_Row)
        except DecodeError as error:
            raise RecordingError(f"row {number}: this is no row of a recording: {error}") from error
        if row.bytes:
            yield row


def _counted(lines: Counter[str]) -> Iterator[str]:
    for text, count in lines.most_common(MAX_TOLD):
        yield f"  {count:4} x  {one_line(text, max_chars=110)}"
