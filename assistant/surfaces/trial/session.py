"""The visitor's side of a trial: obeys their commands in the embedded world."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from twisted.internet.defer import Deferred

from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations import listed_promises, players, quiet
from mud_assistant.assistant.service.operations.approving import ShownRequests
from mud_assistant.assistant.service.operations.operators import OperationRefused, Operator, Unavailable, VisitorRole
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.service.troubles import Trouble, TroubleKind
from mud_assistant.assistant.service.wording.showing import scene_text, who_text
from mud_assistant.assistant.service.wording.status import status_text, trouble_text
from mud_assistant.assistant.surfaces.trial.commands import (
    HELP,
    Channel,
    Command,
    Decide,
    DropPromise,
    Emote,
    ForgetOne,
    Go,
    Handle,
    KeepPeace,
    Look,
    Note,
    Page,
    Say,
    Simple,
    Whisper,
    parse,
)
from mud_assistant.assistant.surfaces.trial.piped import Screen
from mud_assistant.assistant.surfaces.trial.watching import TrialObserver
from mud_assistant.assistant.worlds.embedded.world import CHANNELS, EmbeddedBody
from mud_assistant.tools import Principal, Scene, ToolFailed

#: What a trouble of the journal means for the visitor, and what is shown when it is over.
MEANWHILE = "until that is over {name} may neither take in what is said nor answer it"
OVER = "the journal can be written again: what is said is taken in as before"


@dataclass(slots=True)
class Session:
    """The visitor's side of the conversation. `me` is the assistant."""

    body: EmbeddedBody
    me: Principal
    observer: TrialObserver
    screen: Screen
    service: AssistantService
    shown: ShownRequests = field(default_factory=ShownRequests)

    @property
    def assistant(self) -> Assistant:
        """The assistant. Raises Unavailable while it is stopped, as by the page beside the trial."""
        runner = self.service.runners.get(self.me.id)
        if runner is None or runner.assistant is None:
            raise Unavailable(f"{self.me.name} does not run now")
        return runner.assistant

    @property
    def assistant_name(self) -> str:
        """The assistant's name."""
        return self.me.name

    def troubled(self, trouble: Trouble, over: bool) -> None:
        """Show that a trouble of the journal has begun or is `over`, and what it means for what the visitor says.

        Of other troubles the visitor is told by what the assistant does, and by `TrialObserver.failed`.
        """
        if trouble.kind is not TroubleKind.JOURNAL:
            return
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
        except OperationRefused as refused:
            self.screen.remark(f"({refused})")
        except AssistantError as error:
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
                me = Operator(self.body.principal, VisitorRole.OWNER)
                self.screen.remark(f"({self.shown.decide(self.assistant, me, number, allow=allow)})")
            case ForgetOne() | DropPromise() | KeepPeace():
                self.screen.remark(f"({await self._wish(command)})")
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
            await self.service.reload_keys()
            self.screen.remark("(the keys are read again; whoever refused one, or had not the model, is asked anew)")
        elif name == "approvals":
            self.screen.remark(self.shown.show(self.assistant))
        elif name in {"memory", "forget", "mute", "unmute", "promises"}:
            self.screen.remark(f"({await self._right(name)})")
        elif name == "trace":
            self.observer.tracing = not self.observer.tracing
            self.screen.remark(f"(tracing is {'on' if self.observer.tracing else 'off'})")
        else:
            self.screen.remark(HELP)

    async def _status(self) -> None:
        """Show the servers, the budgets, the current troubles, and the journal's parked events and unknown effects."""
        me, it, journal = self.body.principal, self.assistant.context.body.me, self.assistant.context.memory.journal
        troubles = self.service.troubles.of_kind(TroubleKind.JOURNAL)
        known = [trouble.sentence for trouble in troubles]
        lines = [status_text(self.service.pipeline.snapshot(), names={me.id: me.name, it.id: it.name})]
        lines += [self.service.web.status(), self.service.background]
        lines += [f"trouble with the {trouble.kind}: {trouble.sentence}" for trouble in troubles]
        try:
            lines.append(trouble_text(await journal.parked(), await journal.unknown_effects()))
        except AssistantError as error:
            if str(error) not in known:
                lines.append(str(error))
        self.screen.remark("\n".join(filter(None, lines)))

    async def _right(self, name: str) -> str:
        """Use one of the visitor's rights; return a sentence about the result."""
        me = [self.body.principal]
        if name == "memory":
            return await players.remembered(self.assistant, me, "/forget")
        if name == "forget":
            return await players.forget(self.assistant, me)
        if name == "promises":
            mine = await listed_promises.own_promises([self.assistant], me)
            return listed_promises.own_text(mine, self.service.clock.seconds(), "/promises NUMBER")
        return await (players.mute if name == "mute" else players.unmute)(self.assistant, me)

    async def _wish(self, wish: ForgetOne | DropPromise | KeepPeace) -> str:
        """Let the assistant forget or leave undone what the visitor wants; return a sentence about the result."""
        it, me = [self.assistant], [self.body.principal]
        if isinstance(wish, ForgetOne):
            return await players.forget_one(self.assistant, me, wish.number, "/memory")
        if isinstance(wish, DropPromise):
            return await listed_promises.drop_own(it, me, wish.number, "/promises")
        return await quiet.want_peace(it, me, peace=wish.on, again="/quiet off")
