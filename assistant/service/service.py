"""All assistants of one process. The composition root of games and of trials.

Closing ends work within a time limit: what does not end by then is abandoned, and the log or the player is told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.checks.day_places import DayKeeper
from mud_assistant.assistant.checks.doctor import DoctorRequest, examine
from mud_assistant.assistant.checks.finding import Finding
from mud_assistant.assistant.checks.probes import ask_to_greet
from mud_assistant.assistant.config.schema import Config, ModelConfig
from mud_assistant.assistant.config.sections import WebConfig
from mud_assistant.assistant.errors import NoModelError
from mud_assistant.assistant.keys.reference import resolve_key
from mud_assistant.assistant.service.bettering import Bettering
from mud_assistant.assistant.service.closing import tell_who_waits, within
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig, ServiceHooks
from mud_assistant.assistant.service.parts import SharedParts
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.sharing import SharedStandstills
from mud_assistant.assistant.service.usage_store import UsageRow, usage_rows
from mud_assistant.llm import LLMError
from mud_assistant.resilience import Launcher
from mud_assistant.tools import Principal

#: How long closing may take, in seconds: for the assistants to record what they heard, and for everything else.
ASSISTANTS_SECONDS, REST_SECONDS = 0.25, 0.2
#: What it means when a model answers in words although it was asked to call a tool.
NO_TOOL_CALL = (
    "it did not call the tool it was asked to call: it may talk, and yet not walk, look or use commands, or say aloud "
    "what it should do; when it does so in the game, choose a model that is made for tools"
)

_log = Logger()


class AssistantService:
    """The assistants of a process by their ids. Call `open` once; `close` or `finish` ends everything."""

    # Any: the reactor as clock and as maker of connections, threads and processes.
    def __init__(self, reactor: Any, config: ServiceConfig, random: Random, hooks: ServiceHooks | None = None) -> None:
        self.config = config
        self.runners: dict[str, AssistantRunner] = {}
        self.parts = SharedParts(
            reactor,
            config,
            random,
            hooks or ServiceHooks(),
            lambda: [runner.config for runner in self.runners.values()],
        )
        self.parts.journal.on_lost = self._taken_over
        self.parts.quiet.on_change = self._look_again
        if (notices := self.parts.journal.notices) is not None:
            SharedStandstills(self.parts.pipeline, notices)
        self.troubles = self.parts.troubles
        self.watchers = self.parts.process.watchers
        self.pipeline = self.parts.pipeline
        self.web = self.parts.web
        self.scrub = self.parts.scrub
        self._launcher = Launcher()
        self._bettering = Bettering(self.parts, self._launcher)
        #: Those that were stopped or halted and have not ended yet, because the journal or a model is slow.
        self._ending: dict[str, AssistantRunner] = {}
        #: Called with each assistant before it is started, for those who watch it.
        self.on_start: list[Callable[[AssistantRunner], None]] = []
        #: Begun when the service is closed, once the assistants are stopped.
        self.on_close: list[Callable[[], Awaitable[None]]] = []
        #: Returns the type and the text of the metrics for an Accept header, None where none are kept.
        self.read_metrics: Callable[[str], tuple[str, bytes] | None] = lambda _: None

    @property
    def clock(self) -> IReactorTime:
        """The clock."""
        return self.parts.clock

    @property
    def trouble(self) -> str:
        """Why no assistant can run, in one sentence; empty when all is well."""
        return self.parts.trouble

    @property
    def background(self) -> str:
        """What is fetched behind the talk or became better, in one sentence; empty when nothing was."""
        return self._bettering.latest

    def open(self) -> None:
        """Begin to open the journal, and return at once. Assistants may be started from now on."""
        self.parts.open(self._launcher)

    def launch(self, work: Coroutine[Deferred[Any], Any, None], what: str) -> None:
        """Begin something that ends with the service. A failure is logged as `what`."""
        self._launcher.launch(work, what)

    def start(self, embodiment: Embodiment, config: Config, entered: str = "") -> AssistantRunner:
        """Start an assistant, or restart it with these settings if it runs already.

        `entered` is the reference of a key that the owner gave just now: that key may go to a new server.
        """
        previous = self.runners.get(embodiment.me.id) or self._ending.pop(embodiment.me.id, None)
        if previous is not None or entered:
            self.settings_changed()
        return self._begin(AssistantRunner(self.parts, embodiment, config, entered=entered, previous=previous))

    def begin_again(self, previous: AssistantRunner) -> AssistantRunner:
        """Start an assistant anew with the settings it has: it waits while another process runs it."""
        return self._begin(AssistantRunner(self.parts, previous.embodiment, previous.config, previous=previous))

    def _begin(self, runner: AssistantRunner) -> AssistantRunner:
        self.runners[runner.embodiment.me.id] = runner
        runner.on_awake = self._bettering.awake
        for begins in self.on_start:
            begins(runner)
        runner.start()
        return runner

    def _look_again(self) -> None:
        """Let those who were quiet look what is to be done."""
        for runner in self.runners.values():
            if runner.assistant is not None:
                runner.assistant.tick.wake()

    def settings_changed(self) -> None:
        """Ask servers again that refused a key or lacked a model, and read the web's keys: settings or keys are new."""
        self.pipeline.configuration_changed()
        for runner in self.runners.values():
            if runner.assistant is not None:
                runner.assistant.tick.resume()
        self._launcher.launch(self.web.settings_changed(), "reading the keys of the web again")

    async def reload_keys(self) -> None:
        """Read the keys again, and ask again the servers that refused a key or did not have the model."""
        self.pipeline.configuration_changed()
        awake = [runner.assistant for runner in self.runners.values() if runner.assistant is not None]
        for assistant in awake:
            for link in assistant.context.model.client.links:
                await link.client.has_new_key()
        await self.web.settings_changed()
        for assistant in awake:
            assistant.tick.resume()

    async def stop(self, assistant_id: str) -> None:
        """Stop an assistant and wait until it has stopped. Return at once when it was not running."""
        runner = self.runners.pop(assistant_id, None) or self._ending.get(assistant_id)
        self.troubles.forget(assistant_id)
        if runner is not None:
            self._ending[assistant_id] = runner
            await self._end(assistant_id, runner, ())

    def halt(self, assistant_id: str = "") -> list[str]:
        """Stop an assistant at once, or all of them, and return in sentences what was going on. Waits for nothing.

        When this returns, they do nothing more in the game and ask no model, even when the journal cannot be written.
        What they heard is recorded when it can. Safe to repeat; they may be started again at any time.
        """
        chosen = [assistant_id] if assistant_id else list(self.runners)
        return [self._halt(one) for one in chosen if one in self.runners]

    def _halt(self, assistant_id: str) -> str:
        runner = self.runners.pop(assistant_id)
        was = self.scrub(runner.activity.describe())
        self._ending[assistant_id] = runner
        if (approvals := self.parts.approvals.get(assistant_id)) is not None:
            approvals.revoke_all()
        ending = runner.halt()
        self.troubles.forget(assistant_id)
        _log.warn("{name} was stopped at once: {was}", log_event="halted", name=runner.embodiment.me.name, was=was)
        self._launcher.launch(self._end(assistant_id, runner, ending), f"ending {runner.embodiment.me.name}")
        return was

    def _taken_over(self, assistant_id: str) -> None:
        """Let an assistant that another process runs by now do nothing more here, and wait until it is free again."""
        if (runner := self.runners.get(assistant_id)) is not None:
            runner.embodiment.withdraw()
            self.begin_again(runner)

    async def _end(self, assistant_id: str, runner: AssistantRunner, ending: Sequence[Deferred[None]]) -> None:
        """Wait until an assistant has ended that was stopped or halted, and forget it."""
        await DeferredList(ending, consumeErrors=True)
        await runner.stop()
        if self._ending.get(assistant_id) is runner:
            del self._ending[assistant_id]
            self.parts.journal.release(assistant_id)

    async def erase(self, assistant_id: str) -> None:
        """Stop this assistant, and delete all that the journal has of it. Raises JournalError."""
        await self.stop(assistant_id)
        await self.parts.ready()
        await self.parts.journal.erase(assistant_id)
        self.watchers.forget(assistant_id)

    async def forget_words(self, gone: Principal) -> None:
        """Let the others of this process forget what an assistant that is deleted said to them. Raises JournalError."""
        others = [runner.assistant for one, runner in self.runners.items() if one != gone.id]
        for other in others:
            if other is not None and await other.rights.knows(gone):
                await other.forget(gone)

    def forget_words_soon(self, gone: Principal) -> None:
        """Do the same without waiting for it. A failure is logged."""
        self._launcher.launch(self.forget_words(gone), f"forgetting what {gone.name} said")

    async def close(self) -> None:
        """Stop all assistants and what they share within half a second, as a game that restarts has to.

        What does not end by then is abandoned.
        """
        runners, parts = [*self.runners.values(), *self._ending.values()], self.parts
        tell_who_waits(runners, parts.approvals)
        await within(self.clock, ASSISTANTS_SECONDS, [runner.stop() for runner in runners], "stopping the assistants")
        rest = [close() for close in self.on_close]  # first: what ends here is still booked
        rest += [self.pipeline.write_ledger(), self._launcher.stop(), parts.exchange.close(), self.web.stop()]
        await within(self.clock, REST_SECONDS / 2, rest, "ending connections")
        await within(self.clock, REST_SECONDS / 2, [parts.journal.close()], "closing the journal")

    async def finish(self) -> None:
        """Stop everything and wait for all of it, however long it takes, as a program that ends for good may do."""
        for runner in [*self.runners.values(), *self._ending.values()]:
            await runner.stop()
            self.parts.journal.release(runner.embodiment.me.id)
        for close in tuple(self.on_close):
            await close()
        await self.pipeline.write_ledger()
        await self.web.stop()
        await self._launcher.stop()
        await self.parts.journal.close()
        await self.parts.exchange.close()

    async def try_model(self, config: ModelConfig, entered: str = "") -> str:
        """Return a sentence that says which model answered a short question, and how fast.

        `entered` is the reference of a key given just now. Neither the settings nor the key are remembered. Raises
        NoModelError with cause and remedy.
        """
        await self.parts.ready()
        self.settings_changed()
        bound = await self.parts.bound_with(Config(model=config), entered)
        began = self.clock.seconds()
        chosen = await self.parts.chooser(bound).choose(config)
        try:
            answer = await ask_to_greet(chosen.provider, chosen.config, self.parts.exchange, self.clock)
        finally:
            if chosen.embedded is not None:
                await chosen.embedded.stop()
        if isinstance(answer, LLMError):
            raise NoModelError(self.scrub(f"{chosen.why} does not answer: {answer}")) from answer
        tools = "" if answer.has_tool_calls else f", but {NO_TOOL_CALL}"
        return self.scrub(f"{chosen.why}: it answered in {self.clock.seconds() - began:.1f} s{tools}")

    async def give_key(self, config: Config, entered: str) -> None:
        """Allow the key of this reference, given just now, to go where these settings say.

        The assistant need not run. Raises JournalError.
        """
        await self.parts.ready()
        self.settings_changed()
        await self.parts.admit(config, entered)

    async def change_web(self, web: WebConfig, entered: str = "") -> None:
        """Use other settings of the web from now on. Assistants get them when they are restarted.

        `entered` is the reference of a key given just now. Raises SettingsError, KeyReferenceError and JournalError,
        and then changes nothing.
        """
        config = Config(web=web)
        bound = await self.parts.bound_with(config, entered)
        await resolve_key(entered, self.parts.keys)
        await self.web.change(web, bound)
        await self.parts.admit(config, entered)

    async def usage(self, days: int) -> list[UsageRow]:
        """Return what each account spent on the last `days` days, newest first. Raises JournalError."""
        await self.parts.ready()
        return await usage_rows(self.parts.journal.usage, self.parts.ledger.day - days + 1)

    async def doctor(self, runner: AssistantRunner, show: Callable[[Finding], None]) -> bool:
        """Check this assistant's settings, showing each finding as it comes. Return True when nothing is wrong."""
        ours, mine, there = self.config.settings.journal, runner.config.assistant, runner.embodiment
        journal = ours if ours.url else ours.model_copy(update={"file": str(self.config.journal or "")})
        request = DoctorRequest(
            runner.config.model_copy(update={"journal": journal}),
            self.config.folder,
            self.config.environment,
            self.config.wall,
            show,
            lambda _: None,
            self.config.secrets,
            web=bool(runner.config.web.search_provider),
            keeper=DayKeeper(there.me.name, partial(self.parts.days_of, mine), there.world, mine.tools),
        )
        return await examine(self.parts.reactor, request) == 0
