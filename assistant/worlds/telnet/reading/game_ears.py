"""Makes events of what the game prints: READ FIRST for who is believed to have said what.

A line becomes speech of somebody only when `line_reader.py` is sure of it and nothing round it speaks against it:

- In the answer to a look, an inspection or any other line of ours, other people's texts are printed: descriptions,
  notes, titles. Nothing there is anybody's speech.
- Where the game breaks long lines, a line after one that reaches the margin may be its second half. Whoever chose the
  words of the first half chose where the second begins, so it is not speech either.
- Where the game tells of a channel in a message of its own (GMCP), lines of text no longer count for channels.

What is not speech is context: the character notices it, and nobody has said it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from mud_assistant.assistant.events.events import Noticed
from mud_assistant.assistant.http_server.token_bucket import TokenBucket
from mud_assistant.assistant.runtime.listener import BodyListener, MakeEvent
from mud_assistant.assistant.worlds.telnet.profiles.line_forms import SPEECH
from mud_assistant.assistant.worlds.telnet.profiles.profile import Profile
from mud_assistant.assistant.worlds.telnet.reading.answer_window import AnswerWindow
from mud_assistant.assistant.worlds.telnet.reading.line_breaks import LineBreaks, Whole
from mud_assistant.assistant.worlds.telnet.reading.line_reader import LineReader, LineReading
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons, phrase_in
from mud_assistant.assistant.worlds.telnet.reading.player_names import bare_name, loosely
from mud_assistant.assistant.worlds.telnet.reading.surroundings import Line, SeenSurroundings, read_room
from mud_assistant.assistant.worlds.telnet.reading.told_phrases import Elsewhere, ToldPhrases, at_once
from mud_assistant.tools.trust import Kind, Principal

#: Seconds of silence after which lines belong together no more, and after which fighting is told of.
BURST, FIGHT = 0.3, 10.0
#: The most lines that are noticed of one burst, and the seconds within which the same words are told twice over.
MAX_NOTICED, _TWICE = 5, 2.0
#: How many people who spoke are kept in mind.
MOST_SPEAKERS = 60
#: What everybody may ask for in private.
RIGHTS = frozenset({"mute", "unmute", "forget me", "quiet", "quiet off"})
#: How many lines that are nobody's words are noticed a second on average, and at once.
NOTICED_RATE, NOTICED_AT_ONCE = 0.5, 30
#: What else than speech counts for much, and is nobody's deed when it is doubtful.
_WEIGHTY = frozenset({"channel", "gave", "new_holder", "emote", "arrival", "departure"})


class Ears:
    """Hears one connection for one character.

    `hear` takes the events; `heard` every reading, for who replays. `asked_for` gets who tells the character in private
    one of `RIGHTS`, which is no event then. `elsewhere` does the work that takes long.
    """

    def __init__(
        self,
        profile: Profile,
        persons: Persons,
        me: Principal,
        *,
        around: SeenSurroundings,
        clock: IReactorTime,
        hear: Callable[[MakeEvent], None],
        heard: Callable[[LineReading], None] = lambda _: None,
        asked_for: Callable[[Principal, str], None] | None = None,
        elsewhere: Elsewhere = at_once,
    ) -> None:
        self._profile, self._persons, self._around, self._clock, self._me = profile, persons, around, clock, me
        self.lines = LineReader(profile, persons, around, me.name)
        self._breaks = LineBreaks(self.lines, profile.speech.wraps, by_players=profile.speech.breaks)
        self._hear, self._report, self._asked_for = hear, heard, asked_for
        self._phrases = ToldPhrases(persons, elsewhere, self._notice)
        self._listener = BodyListener(me, hear, self._is_alone_with, self._others)
        self.window: AnswerWindow | None = None
        #: The names, by their ids, of players who spoke where the character heard it, the last of them last. Nobody
        #: else is spoken to in private.
        self.spoke: dict[str, str] = {}
        #: Whether channels come as messages of the game's own, so that no line of text counts as one.
        self.has_channel_messages = False
        self._unknown: list[Line] = []
        self._is_in_room = self._is_greeted = False
        self._line_at = -BURST
        self._fights = self._unnoticed = 0
        self._noticing = TokenBucket(clock.seconds, NOTICED_RATE, NOTICED_AT_ONCE)
        self._timers: dict[str, IDelayedCall] = {}
        self._told: deque[tuple[str, str, str, float]] = deque(maxlen=20)

    def line(self, text: str, colour: str = "") -> None:
        """Hear a line of text, without control sequences; `colour` is that of its first character."""
        self._later("burst", BURST, self._end_burst, restart=True)
        if colour:
            self.lines.shows_colours = True
        is_first, self._line_at = self._clock.seconds() - self._line_at >= BURST, self._clock.seconds()
        window = self.window
        is_speech = window is not None and window.collects and self.lines.is_speech(text)
        if window is not None and window.take(text, colour, self._profile.errors, is_speech=is_speech):
            self._report(LineReading("imitation" if is_speech else "answer", text.strip()))
            if is_speech:
                self._notice(text)
        elif not text.strip():
            self._complete(self._breaks.give_up())
        elif self._is_greeted:
            self._unknown.append((text, colour))
            self._report(LineReading("answer", text.strip()))
        elif self._is_in_room or self._begins_room(text, colour):
            if not self._is_in_room:
                self._end_burst()
            self._is_in_room = True
            self._unknown.append((text, colour))
            self._report(LineReading("room", text.strip()))
        else:
            self._complete(self._breaks.take(text, is_first=is_first), colour)

    def greet(self) -> None:
        """Take what comes now, until a prompt or silence, as the answer to the log-in: nobody speaks in it."""
        self._is_greeted = True
        self._later("burst", BURST, self._end_burst, restart=True)

    def prompt(self, text: str = "") -> None:
        """Hear that the game waits for the next line."""
        if self.window is not None:
            self.window.prompt()
        self._end_burst()

    def pause(self) -> None:
        """Hear that what comes now does not belong to what came: no room goes on, and no line that was broken."""
        self._end_burst()

    def channel_message(self, channel: str, talker: str, text: str) -> None:
        """Hear words on a channel that the game told of in a message of its own."""
        self.has_channel_messages = True
        who, words = self.lines.person(talker), self.lines.words_in(text, talker)
        if who is None or self._came_just_now(who, words, "message"):
            return
        kind = "tell" if channel.casefold().split(" ", 1)[0] in {"tell", "tells", "page"} else "channel"
        self._act(LineReading(kind, text, who, talker, words, channel))

    def room_message(self, number: str, name: str = "", exits: Sequence[str] = ()) -> None:
        """Hear of the room that the character is in, which the game told in a message of its own."""
        self._around.told(number, name, exits)
        self._later("burst", BURST, self._end_burst, restart=True)

    def stop(self) -> None:
        """Stop all timers and forget what is half heard: the connection is gone."""
        for timer in self._timers.values():
            if timer.active():
                timer.cancel()
        if self.window is not None:
            self.window.close()
        self.window, self._unknown, self._is_in_room, self._is_greeted = None, [], False, False
        self._breaks.give_up()

    def _complete(self, wholes: list[Whole], colour: str = "") -> None:
        """Read the lines that are complete."""
        for whole in wholes:
            reading = self.lines.read(whole.text, colour)
            if whole.is_doubtful and (reading.kind in SPEECH or reading.kind in _WEIGHTY):
                reading = LineReading("imitation", reading.text)
            if reading.kind == "channel" and reading.who is not None and self.has_channel_messages:
                came = self._came_just_now(reading.who, reading.words, "line")
                reading = LineReading("echo" if came else "imitation", reading.text)
            self._report(reading)
            self._take(reading, colour)

    def _take(self, reading: LineReading, colour: str) -> None:
        """Do what a reading means."""
        if reading.kind == "fighting":
            self._fights += 1
            self._later("fight", FIGHT, self._tell_of_fight)
        elif reading.kind == "new_holder":
            self._persons.new_holder(reading.name)
        elif reading.who is not None:
            is_told = reading.kind in {"tell", "channel"}
            if not is_told or not self._came_just_now(reading.who, reading.words, "line"):
                self._act(reading)
        elif reading.kind in {"unknown", "imitation"}:
            self._unknown.append((reading.text, colour))

    def _act(self, reading: LineReading) -> None:
        """Make an event of what somebody did."""
        who, words = reading.who, reading.words
        assert who is not None
        if reading.kind in {*SPEECH, "emote", "arrival", "gave"} - {"tell"}:
            self._around.acted(reading.name)
        if reading.words:
            self._note_speaker(who)
        is_private = reading.kind in {"tell", "whisper"}
        if is_private and (phrase := phrase_in(words)):
            self._phrases.take(reading.name, phrase)
        elif is_private and words.strip(" .!").casefold() in RIGHTS and self._asked_for is not None:
            self._asked_for(who, words.strip(" .!").casefold())
        else:
            self._tell(reading, who, words)

    def _note_speaker(self, who: Principal) -> None:
        """Note that somebody spoke; of too many the one who spoke longest ago is forgotten."""
        if who.kind is Kind.PLAYER:
            self.spoke.pop(who.id, None)
            self.spoke[who.id] = who.name
            if len(self.spoke) > MOST_SPEAKERS:
                del self.spoke[next(iter(self.spoke))]

    def _tell(self, reading: LineReading, who: Principal, words: str) -> None:
        """Tell the listener of what somebody did."""
        listener = self._listener
        match reading.kind:
            case "say":
                listener.heard_say(who, words, None)
            case "say_to_other":
                listener.heard_say(who, words, self._persons.creature(reading.detail))
            case "say_to_me":
                listener.heard_say(who, words, self._me)
            case "whisper":
                listener.heard_whisper(who, words)
            case "tell":
                listener.heard_page(who, words)
            case "channel":
                listener.heard_channel(who, reading.channel, words)
            case "emote":
                listener.saw_emote(who, words)
            case "gave":
                listener.was_given(who, reading.detail, 0)
            case "arrival":
                listener.saw_arrival(who, reading.detail)
            case _:
                self._around.left(reading.name)
                listener.saw_departure(who, reading.detail)

    def _begins_room(self, text: str, colour: str) -> bool:
        title = self._profile.room_table.title
        if not title or not colour.endswith(title) or not self._profile.room["exits"]:
            return False
        return self.lines.read(text, colour).kind == "unknown"

    def _end_burst(self) -> None:
        """Take what was not understood as a room, or as lines that are noticed."""
        self._stop("burst")
        self._complete(self._breaks.give_up())
        lines, self._unknown = self._unknown, []
        self._is_in_room = self._is_greeted = False
        self._take_unknown(lines)
        if self.window is None or not self.window.collects:
            self._around.settle()

    def _take_unknown(self, lines: list[Line]) -> None:
        """Take lines that nothing is known of as a room, or notice them."""
        if not lines:
            return
        room = read_room(lines, self._profile)
        if room is not None and room.exits:
            self._around.enter(room)
        else:
            self._notice_all([text for text, _ in lines])

    def _notice_all(self, texts: list[str]) -> None:
        """Notice the first lines of a burst, and how many there were else, as long as there are not too many bursts."""
        shown = [text for text in texts[:MAX_NOTICED] if not self._noticing.take()]
        for text in shown:
            self._notice(text)
        self._unnoticed += len(texts) - len(shown)
        if self._unnoticed and shown:
            self._notice(f"({self._unnoticed} more line{'s' if self._unnoticed > 1 else ''})")
            self._unnoticed = 0

    def _notice(self, text: str) -> None:
        world = self._persons.world
        self._hear(lambda id_, at: Noticed(id=id_, at=at, who=world, text=text))

    def _tell_of_fight(self) -> None:
        count, self._fights = self._fights, 0
        self._notice(f"({count} line{'s' if count > 1 else ''} of fighting)")

    def _came_just_now(self, who: Principal, words: str, source: str) -> bool:
        """Tell whether the other source told the same words a moment ago; note that this one did."""
        now, loose = self._clock.seconds(), loosely(words)
        twice = any(
            (id_, said) == (who.id, loose) and by != source and now - at < _TWICE for id_, said, by, at in self._told
        )
        self._told.append((who.id, loose, source, now))
        return twice

    def _is_alone_with(self, who: Principal) -> bool:
        return [bare_name(name) for name in self._around.names()] == [bare_name(who.name)]

    def _others(self, who: Principal) -> list[str]:
        return [name for name in self._around.names() if bare_name(name) != bare_name(who.name)]

    def _later(self, name: str, seconds: float, then: Callable[[], None], *, restart: bool = False) -> None:
        timer = self._timers.get(name)
        if timer is None or not timer.active():
            self._timers[name] = self._clock.callLater(seconds, then)
        elif restart:
            timer.reset(seconds)

    def _stop(self, name: str) -> None:
        if (timer := self._timers.get(name)) is not None and timer.active():
            timer.cancel()
