"""The live events of all assistants of a process. It watches them only while somebody watches it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from mud_assistant.assistant.events.classify import Attention
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.page.live.deltas import Delta
from mud_assistant.assistant.page.live.describing import approval_data, heard_data, outcome_data, step_data
from mud_assistant.assistant.page.live.looking import Change, Sighting, changes, circuit_data, look, without_words
from mud_assistant.assistant.page.live.ring import EventRing, Published
from mud_assistant.assistant.page.ports import Visitor
from mud_assistant.assistant.page.values.live import LiveEvent, LiveKind
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.llm.response import StreamEvent

#: How long it goes on watching after the last stream ended, in seconds: a stream behind a proxy ends and comes back.
LINGERS = 70.0
#: How often it looks at what reports no change by itself, and how often words of a run are sent at most, in seconds.
LOOKS_EVERY, WORDS_EVERY = 1.0, 0.1
#: The most streams that are open for one session, and for all.
MAX_A_SESSION, MAX_STREAMS = 4, 50

_log = Logger()


class TooManyStreams(Exception):
    """No more streams may be opened: by this session when `is_own`, else by anybody."""

    def __init__(self, *, is_own: bool) -> None:
        super().__init__("too many streams are open")
        self.is_own = is_own


class Subscriber(Protocol):
    """A stream that sends events to a visitor. A new stream of the same session and `tab` takes its place."""

    visitor: Visitor
    tab: str

    def send(self, events: Sequence[Published]) -> None:
        """Send what it wants of these events. Must not wait."""
        ...

    def end(self) -> None:
        """End the stream. It unsubscribes."""
        ...


class LiveHub:
    """Watches the assistants of a service while a stream is open, and for `LINGERS` seconds after.

    `wall` gives seconds since 1970, `scrub` returns a text without keys, `names` the name of an assistant that does
    not run by its id.
    """

    def __init__(
        self,
        service: AssistantService,
        clock: IReactorTime,
        wall: Callable[[], float],
        scrub: Callable[[str], str],
        names: Callable[[str], str] = str,
        *,
        max_streams: int = MAX_STREAMS,
    ) -> None:
        self.clock = clock
        self._service = service
        self._wall = wall
        self._scrub = scrub
        self._names = names
        self._max_streams = max_streams
        self._ring = EventRing(f"{int(wall() * 1000):x}")
        self._streams: list[Subscriber] = []
        self._leaving: IDelayedCall | None = None
        self._looking: LoopingCall | None = None
        self._seen = Sighting({}, {}, {}, {})
        #: What each assistant does now: its run and a few words.
        self._doing: dict[str, tuple[str, str]] = {}
        self._words: dict[tuple[str, str], Delta] = {}
        self._word_timer: IDelayedCall | None = None

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    @property
    def is_watching(self) -> bool:
        """Whether it watches the assistants now."""
        return self._looking is not None

    def check(self, visitor: Visitor, tab: str = "") -> None:
        """Raise TooManyStreams when this visitor may not open one more stream now."""
        others = [one for one in self._streams if not (tab and _is_of(one, visitor, tab))]
        if sum(one.visitor.session == visitor.session for one in others) >= MAX_A_SESSION:
            raise TooManyStreams(is_own=True)
        if len(others) >= self._max_streams:
            raise TooManyStreams(is_own=False)

    def subscribe(self, stream: Subscriber, last_id: str = "") -> Sequence[Published]:
        """Send each event to this stream from now on. Return what it must be sent first.

        That is what came after the event `last_id`; when that is not known any more, one `state` event with everything
        as it is now. Raises TooManyStreams.
        """
        self.check(stream.visitor, stream.tab)
        if stream.tab:
            for one in [one for one in self._streams if _is_of(one, stream.visitor, stream.tab)]:
                one.end()
        self._watch()
        missed = self._ring.after(last_id) if last_id else None
        self._streams.append(stream)
        return [self._everything()] if missed is None else missed

    def unsubscribe(self, stream: Subscriber) -> None:
        """Send this stream nothing more. No effect when it was not subscribed."""
        if stream in self._streams:
            self._streams.remove(stream)
            if not self._streams and self.is_watching and self._leaving is None:
                self._leaving = self.clock.callLater(LINGERS, self._stop_watching)

    def end_session(self, session: str) -> None:
        """End the streams of a session that was closed, or whose visitor has another role now."""
        self.end_streams(lambda visitor: visitor.session != session)

    def end_streams(self, may_stay: Callable[[Visitor], bool]) -> None:
        """End the streams of all visitors who may not stay."""
        for stream in [one for one in self._streams if not may_stay(one.visitor)]:
            stream.end()

    def close(self) -> None:
        """End all streams, stop watching at once, and drop all events."""
        self.end_streams(lambda _: False)
        if self.is_watching:
            self._stop_watching()
        self._service.watchers.remove_keeper(self)

    def forget(self, me: str) -> None:
        """Drop the words that came by way of this assistant: a player is forgotten."""
        self._ring.forget(me)
        self._seen = without_words(self._seen, me)
        self._words = {run: words for run, words in self._words.items() if run[0] != me}

    def heard(self, me: str, event: Event, attention: Attention) -> None:
        """Publish an event that was taken in."""
        runner = self._service.runners.get(me)
        where = runner.embodiment.where() if runner is not None else ""
        self._publish([(LiveKind.HEARD, me, heard_data(event, attention, where, self._scrub))])

    def thinking(self, me: str, run_id: str, step: int) -> None:
        """Publish that the model is about to be asked."""
        self._doing[me] = (run_id, f"thinks (step {step})")
        self._publish([(LiveKind.THINKING, me, {"step": step})], run_id)

    def begins(self, me: str, run_id: str, step: int) -> None:
        """Note that an answer begins."""
        words = self._words.get((me, run_id))
        if words is None or words.step != step:
            words = self._words[me, run_id] = Delta(step)
        words.begins()

    def delta(self, me: str, run_id: str, step: int, piece: StreamEvent) -> None:
        """Keep a piece of the answer, to be sent with others soon."""
        words = self._words.get((me, run_id))
        if words is None:
            words = self._words[me, run_id] = Delta(step)
        if words.add(piece) and self._word_timer is None:
            self._word_timer = self.clock.callLater(WORDS_EVERY, self._send_words)

    def step(self, me: str, trace: StepTrace) -> None:
        """Publish a step. It has all words of its answer, so those that wait are not sent."""
        self._words.pop((me, trace.run_id), None)
        self._publish([(LiveKind.STEP, me, step_data(trace, self._scrub))], trace.run_id)

    def run_ended(self, me: str, run_id: str, outcome: Outcome) -> None:
        """Publish how a run ended."""
        self._words.pop((me, run_id), None)
        self._doing.pop(me, None)
        self._publish([(LiveKind.OUTCOME, me, outcome_data(outcome, self._scrub))], run_id)

    def _send_words(self) -> None:
        """Publish the words that came since the last time."""
        self._word_timer = None
        ready = [(run, data) for run, words in self._words.items() if (data := words.take(self._scrub)) is not None]
        published = [self._keep(LiveKind.DELTA, me, run_id, data) for (me, run_id), data in ready]
        self._send(published)

    def _look(self) -> None:
        """Publish what has changed since the last look."""
        before, self._seen = self._seen, look(self._service)
        self._publish(list(changes(before, self._seen, self.clock.seconds(), self._scrub)))

    def _publish(self, happened: Sequence[Change], run_id: str = "") -> None:
        self._send([self._keep(kind, me, run_id, data) for kind, me, data in happened])

    def _keep(self, kind: LiveKind, me: str, run_id: str, data: dict[str, Any]) -> Published:
        return self._ring.add(self._event(self._ring.next_id(), kind, me, run_id, data))

    def _send(self, published: Sequence[Published]) -> None:
        for stream in tuple(self._streams) if published else ():
            stream.send(published)

    def _event(self, id_: str, kind: LiveKind, me: str, run_id: str, data: dict[str, Any]) -> LiveEvent:
        return LiveEvent(id=id_, kind=kind, at=self._wall(), assistant=me, name=self._name(me), run=run_id, data=data)

    def _name(self, me: str) -> str:
        runner = self._service.runners.get(me)
        return runner.embodiment.me.name if runner is not None else self._names(me) if me else ""

    def _everything(self) -> Published:
        """Return one event with everything as it is now. Its id is that of the last event."""
        now, seconds = look(self._service), self.clock.seconds()
        assistants = [
            {"id": me, "name": self._name(me), "state": state, "trouble": self._scrub(trouble), **self._activity(me)}
            for me, (state, trouble) in now.states.items()
        ]
        data: dict[str, Any] = {
            "snapshot": True,
            "assistants": assistants,
            "circuits": [circuit_data(server) for server in now.circuits.values()],
            "approvals": [
                {"assistant": me, **approval_data("waits", one, seconds, self._scrub)}
                for (me, _), one in now.approvals.items()
            ],
            "spent": [{"assistant": me, **amount.plain()} for me, amount in now.spent.items()],
        }
        return Published(self._ring.number, self._event(self._ring.last_id, LiveKind.STATE, "", "", data))

    def _activity(self, me: str) -> dict[str, str]:
        """Say what an assistant does now. The run it began before anybody watched has no name yet."""
        runner = self._service.runners.get(me)
        is_busy = runner is not None and runner.assistant is not None and runner.assistant.tick.busy
        run, doing = self._doing.get(me, ("", "thinks" if is_busy else ""))
        return {"run": run, "doing": doing}

    def _watch(self) -> None:
        """Begin to watch, or go on."""
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        if self._looking is not None and self._looking.running:
            return
        self._service.watchers.tell_keeper(self)
        self._seen = look(self._service)
        self._looking = LoopingCall(self._look)
        self._looking.clock = self.clock
        self._looking.start(LOOKS_EVERY, now=False).addErrback(
            lambda failure: _log.failure("the look at the assistants failed", failure)
        )
        self._service.watchers.add(self)

    def _stop_watching(self) -> None:
        """Stop watching, and drop all events: nobody knows what happens from now on."""
        self._service.watchers.remove(self)
        for timer in (self._leaving, self._word_timer):
            if timer is not None and timer.active():
                timer.cancel()
        self._leaving = self._word_timer = None
        if self._looking is not None and self._looking.running:
            self._looking.stop()
        self._looking = None
        self._words.clear()
        self._doing.clear()
        self._seen = Sighting({}, {}, {}, {})
        self._ring.clear()


def _is_of(stream: Subscriber, visitor: Visitor, tab: str) -> bool:
    return stream.visitor.session == visitor.session and stream.tab == tab
