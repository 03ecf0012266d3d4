"""The visitor's side of a trial: their commands in the embedded world, and what they hear and see there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, assert_never

from twisted.internet.defer import Deferred

from assistant.events.outcome import Failed, LimitReached, Outcome
from assistant.events.trace import StepTrace
from assistant.journal import JournalError
from assistant.runtime.character import Assistant
from assistant.service.rights_text import approvals_text, covered_text, forgotten_text, remembered_text
from assistant.service.showing import outcome_text, scene_text, spoken_lines, trace_json, trace_text, who_text
from assistant.service.status import status_text, trouble_text
from assistant.service.troubles import Trouble, Troubles
from assistant.surfaces.trial.commands import (
    HELP,
    Channel,
    Command,
    Decide,
    Emote,
    Go,
    Handle,
    Look,
    Note,
    Page,
    Say,
    Simple,
    Whisper,
    parse,
)
from assistant.worlds.embedded.world import CHANNELS, EmbeddedBody
from resilience import Pipeline
from tools import Denied, Principal, Scene, ToolFailed
from tools.text.clean import one_line

#: What a trouble of the journal means for the visitor, and what is shown when it is over.
MEANWHILE = "until that is over {name} may neither take in what is said nor answer it"
OVER = "the journal can be written again: what is said is taken in as before"


class Screen(Protocol):
    """The output of a trial."""

    def show(self, text: str) -> None:
        """Show a piece of the transcript."""
        ...

    def remark(self, text: str) -> None:
        """Show a remark about the program, which is not part of the story."""
        ...

    def thinking(self, name: str | None) -> None:
        """Show who is thinking now, None when nobody is."""
        ...


class VisitorEars:
    """The visitor's ears and eyes: shows each event on the screen."""

    def __init__(self, screen: Screen, me: Principal) -> None:
        self._screen = screen
        self._me = me

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        """Show that somebody spoke aloud."""
        to_me = " to you" if target is not None and target.id == self._me.id else ""
        self._screen.show(f'{speaker.name} says{to_me}, "{spoken_lines(text)}"')

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        """Show that somebody whispered to the visitor."""
        self._screen.show(f'{speaker.name} whispers to you, "{spoken_lines(text)}"')

    def heard_page(self, speaker: Principal, text: str) -> None:
        """Show that somebody paged the visitor."""
        self._screen.show(f'{speaker.name} pages you, "{spoken_lines(text)}"')

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        """Show that somebody spoke on a channel."""
        self._screen.show(f'[{channel}] {speaker.name}: "{spoken_lines(text)}"')

    def saw_emote(self, actor: Principal, text: str) -> None:
        """Show that somebody did something visible."""
        self._screen.show(f"{actor.name} {one_line(text)}")

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        """Show that somebody gave the visitor a thing."""
        self._screen.show(f"{giver.name} gives you the {one_line(thing)}.")

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        """Show that somebody came in."""
        self._screen.show(f"{who.name} arrives{f' from {from_direction}' if from_direction else ''}.")

    def saw_departure(self, who: Principal, direction: str) -> None:
        """Show that somebody went away."""
        self._screen.show(f"{who.name} leaves{f' {direction}' if direction else ''}.")


class TrialObserver:
    """An observer that shows the thinking sign, and each step when tracing is on.

    With `as_json` it always prints each step as one JSON object, tracing or not.
    """

    def __init__(
        self,
        screen: Screen,
        name: str,
        troubles: Troubles,
        *,
        as_json: bool,
        tracing: bool,
        scrub: Callable[[str], str] = str,
    ) -> None:
        self._screen = screen
        self._troubles = troubles
        self._name = name
        self._as_json = as_json
        self._scrub = scrub
        self.tracing = tracing

    def thinking(self, run_id: str, step: int) -> None:
        """Show the thinking sign: the model is about to be asked."""
        self._screen.thinking(self._name)

    def step(self, trace: StepTrace) -> None:
        """Show a finished step as JSON, or as text when tracing is on."""
        if self._as_json:
            print(trace_json(trace, self._scrub), flush=True)
        elif self.tracing:
            self._screen.remark(trace_text(trace))

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Clear the thinking sign, and show the outcome when tracing is on."""
        self._screen.thinking(None)
        if self.tracing and not self._as_json:
            self._screen.remark(outcome_text(run_id, outcome))

    def failed(self, failure: Failed | LimitReached) -> None:
        """Show in one sentence why the model could not be asked, unless it was already shown as a trouble."""
        self._screen.thinking(None)
        if failure.cause in [trouble.sentence for trouble in self._troubles]:
            return
        if isinstance(failure, LimitReached):
            self._screen.remark(f"({self._name} was not asked: {failure.cause}.)")
            return
        lasting = "mend it and type /reload; after a while it is asked again by itself, and the line is kept"
        advice = lasting if failure.lasting else "it is asked again by itself, and the line is kept"
        self._screen.remark(f"({self._name} could not think: {failure.cause}; {advice}.)")


@dataclass(slots=True)
class Session:
    """The visitor's side of the conversation."""

    body: EmbeddedBody
    assistant: Assistant
    assistant_name: str
    observer: TrialObserver
    screen: Screen
    pipeline: Pipeline
    troubles: Troubles
    #: Reads the keys again, and asks again the servers that refused one.
    reload: Callable[[], Awaitable[None]]
    #: Gives what went wrong lately with the web, in lines for the owner; empty when nothing did.
    web_status: Callable[[], str] = str

    def troubled(self, trouble: Trouble, over: bool) -> None:
        """Show that a trouble has begun or is `over`, and what that means for what the visitor says."""
        said = OVER if over else f"{trouble.sentence}; {MEANWHILE.format(name=self.assistant_name)}"
        self.screen.remark(f"({said}.)")

    async def obey(self, line: str) -> bool:
        """Do what one line says. Return False when the visitor wants to leave. The assistant answers on its own."""
        command, remark = parse(line)
        if remark:
            self.screen.remark(f"({remark})")
        if command == Simple("quit"):
            return False
        try:
            await self._do(command)
        except ToolFailed as failed:
            self.screen.show(str(failed))
        except JournalError as error:
            self.screen.remark(f"({error}.)")
        return True

    def in_sight(self) -> Scene | None:
        """Return what the visitor sees, None when looking does not finish at once."""
        seen: list[Scene] = []
        Deferred.fromCoroutine(self.body.look()).addCallback(seen.append)
        return seen[0] if seen else None

    async def _do(self, command: Command) -> None:
        match command:
            case Say() | Whisper() | Page() | Channel():
                await self._speak(command)
            case Emote(text):
                self.screen.show(f"{self.body.principal.name} {text}")
                await self.body.emote(text)
            case Look(target):
                shown = await self.body.inspect(target) if target else scene_text(await self.body.look())
                self.screen.show(shown)
            case Handle(verb, what):
                to_whom = f" to {self.assistant_name}" if verb == "give" and " to " not in what else ""
                self.screen.show(await self.body.execute(await self.body.resolve(f"{verb} {what}{to_whom}")))
            case Go(direction):
                self.screen.show(scene_text(await self.body.move(direction)))
            case Decide(number, allow):
                self.screen.remark(f"({self._decided(number, allow=allow)})")
            case Simple(name):
                await self._simple(name)
            case Note(text):
                self.screen.remark(f"({text})")
            case _:
                assert_never(command)

    async def _speak(self, command: Say | Whisper | Page | Channel) -> None:
        text = command.text
        match command:
            case Say():
                self.screen.show(f'You say, "{text}"')
                await self.body.say(text)
            case Whisper(target):
                target = target or self.assistant_name
                await self.body.whisper(target, text)
                self.screen.show(f'You whisper to {target}, "{text}"')
            case Page(target):
                target = target or self.assistant_name
                await self.body.page(target, text)
                self.screen.show(f'You page {target}, "{text}"')
            case Channel():
                self.screen.show(f'[{CHANNELS[0]}] You: "{text}"')
                await self.body.speak_on(CHANNELS[0], text)
            case _:
                assert_never(command)

    async def _simple(self, name: str) -> None:
        if name == "who":
            self.screen.show(who_text(await self.body.who()))
        elif name == "status":
            await self._status()
        elif name == "reload":
            await self.reload()
            self.screen.remark("(the keys are read again; whoever refused one, or had not the model, is asked anew)")
        elif name == "approvals":
            self.screen.remark(approvals_text(self.assistant.context.approvals.pending()))
        elif name in {"memory", "forget", "mute", "unmute"}:
            self.screen.remark(f"({await self._right(name)})")
        elif name == "trace":
            self.observer.tracing = not self.observer.tracing
            self.screen.remark(f"(tracing is {'on' if self.observer.tracing else 'off'})")
        else:
            self.screen.remark(HELP)

    async def _status(self) -> None:
        """Show the servers, the budgets, the current troubles, and the journal's parked events and unknown effects."""
        me, it, journal = self.body.principal, self.assistant.context.me, self.assistant.context.journal
        known = [trouble.sentence for trouble in self.troubles]
        lines = [status_text(self.pipeline.snapshot(), names={me.id: me.name, it.id: it.name})]
        lines.append(self.web_status())
        lines += [f"trouble with the {trouble.kind}: {trouble.sentence}" for trouble in self.troubles]
        try:
            lines.append(trouble_text(await journal.parked(), await journal.unknown_effects()))
        except JournalError as error:
            if str(error) not in known:
                lines.append(str(error))
        self.screen.remark("\n".join(filter(None, lines)))

    def _decided(self, number: int, *, allow: bool) -> str:
        """Allow or decline request `number` for the visitor; return a sentence about the result."""
        me = self.body.principal
        answer = self.assistant.approve(number, me) if allow else self.assistant.decline(number, me)
        if isinstance(answer, Denied):
            return answer.reason
        what = covered_text(answer.pending)
        return f"{self.assistant_name} may {'do that once' if allow else 'not do that'}: {what}"

    async def _right(self, name: str) -> str:
        """Use one of the visitor's rights; return a sentence about the result."""
        me, rights = self.body.principal, self.assistant.rights
        if name == "memory":
            return remembered_text(self.assistant_name, await rights.see(me))
        if name == "forget":
            return forgotten_text(self.assistant_name, await self.assistant.forget(me))
        if name == "mute":
            await rights.mute(me)
            return f"{self.assistant_name} neither hears nor remembers you from now on"
        await rights.unmute(me)
        return f"{self.assistant_name} hears you again"
