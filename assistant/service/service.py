"""All assistants of one process, with what they share: the journal, the daily budget, network, web and models."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from assistant.checks.asking import asked
from assistant.checks.doctor import DoctorRequest, examine
from assistant.checks.finding import Finding
from assistant.config.schema import Config, ModelConfig
from assistant.config.web import WebConfig
from assistant.events.floor import Floor
from assistant.events.scheduler import Scheduler
from assistant.journal import JournalError, JournalRefused, OpeningRefused, Sound
from assistant.keys.reference import anchor, key_sources, resolve_key
from assistant.loop.billing import MinuteCounts
from assistant.models.bound_keys import BoundKeys, bindings_of_model
from assistant.models.choose import Chooser, NoModelError
from assistant.models.chosen import ChosenModel
from assistant.runtime.build import Dependencies
from assistant.runtime.storage import JournalFile, Storage
from assistant.runtime.warming import Warmer
from assistant.service.alarms import Lookout
from assistant.service.closing import tell_who_waits, within
from assistant.service.embedded import EmbeddedPool, MakeServed, told_to_the_log
from assistant.service.embodiment import Embodiment
from assistant.service.live_web import SharedWeb
from assistant.service.observers import Observers
from assistant.service.runner import AssistantRunner
from assistant.service.service_config import ServiceConfig
from assistant.service.troubles import Troubles
from assistant.service.usage_store import UsageRow, UsageStore, usage_rows
from assistant.service.wiring import bindings_of
from llm import Capabilities, LLMError
from resilience import HttpExchange, Launcher, Ledger, Pipeline
from tools import Approvals, Registry
from tools.verbs import ALL_WORLD_TOOLS

#: How long closing may take, in seconds: for the members to record what they heard, and for everything else.
MEMBERS_SECONDS, REST_SECONDS = 0.25, 0.2
#: How the owner of a game gives a key again.
IN_THE_GAME = "name it again with the command that sets keys: {reference}"
#: What it means when a model answers in words although it was asked to call a tool.
NO_TOOL_CALL = (
    "it did not call the tool it was asked to call: it may talk, and yet not walk, look or use commands, or say aloud "
    "what it should do; when it does so in the game, choose a model that is made for tools"
)

_log = Logger()


class AssistantService:
    """The assistants of a process by their ids. Call `open` once; `close` ends everything."""

    # Any: the reactor as clock and as maker of connections, threads and processes.
    def __init__(self, reactor: Any, home: ServiceConfig, random: Random, make: MakeServed | None = None) -> None:
        """Take `make`, which makes the server of an embedded model; without it, a real server is made."""
        self.home = home
        self.runners: dict[str, AssistantRunner] = {}
        self.troubles = Troubles()
        #: Why no assistant can run, in one sentence; empty when all is well.
        self.trouble = ""
        self._reactor = reactor
        self._random = random
        self._exchange = HttpExchange(reactor)
        self._capabilities = Capabilities()
        self._journal = JournalFile(home.journal, reactor, home.wall, home.config.journal, self.troubles.of_journal)
        self._ledger = Ledger(reactor.seconds, home.wall, home.config.budget.utc_offset_hours * 3600)
        self._spending = UsageStore(self._ledger, self._journal.usage)
        self.pipeline = Pipeline(reactor, random, self._ledger, self._spending.keep)
        self.lookout = Lookout(self.troubles, self.scrub, self.pipeline)
        self.scheduler = Scheduler(reactor)
        self._minutes = MinuteCounts(reactor.seconds)
        self._warmer = Warmer()
        self._floor = Floor(reactor)
        self._keys = key_sources(reactor, home.environment, home.folder, home.secrets)
        self._bound = BoundKeys((), home.folder, IN_THE_GAME)
        self._pool = EmbeddedPool(make or told_to_the_log(reactor, home.environment))
        web = home.web or home.config.web
        self.web = SharedWeb(web, self._keys, self._exchange, reactor=reactor, random=random, wall=home.wall)
        #: The calls for which each member has asked approval. They go on waiting when the member is restarted.
        self._approvals: dict[str, Approvals] = {}
        self._launcher = Launcher()
        self._is_open = False
        self._waiting: list[Deferred[None]] = []

    @property
    def clock(self) -> IReactorTime:
        """The clock."""
        clock: IReactorTime = self._reactor
        return clock

    def open(self) -> None:
        """Begin to open the journal, and return at once. Members may be started from now on."""
        self._launcher.launch(self._open(), "opening the journal")

    def start(self, place: Embodiment, config: Config, entered: str = "") -> AssistantRunner:
        """Start an assistant, or restart it with these settings if it runs already.

        `entered` is the reference of a key that the owner gave just now: that key may go to a new server.
        """
        previous = self.runners.get(place.me.id)
        if previous is not None or entered:
            self.settings_changed()
        runner = AssistantRunner(self, place, config, entered=entered, previous=previous)
        self.runners[place.me.id] = runner
        runner.start()
        return runner

    def settings_changed(self) -> None:
        """Ask servers again that refused a key or lacked a model, and read the web's keys: settings or keys are new."""
        self.pipeline.configuration_changed()
        for runner in self.runners.values():
            if runner.assistant is not None:
                runner.assistant.tick.resume()
        self._launcher.launch(self.web.settings_changed(), "reading the keys of the web again")

    async def stop(self, member_id: str) -> None:
        """Stop an assistant and wait until it has stopped. Return at once when it was not running."""
        runner = self.runners.pop(member_id, None)
        self.troubles.forget(member_id)
        if runner is not None:
            await runner.stop()
            self._journal.release(member_id)

    async def erase(self, member_id: str) -> None:
        """Stop this assistant, and delete all that the journal has of it. Raises JournalError."""
        await self.stop(member_id)
        await self._ready()
        await self._journal.erase(member_id)

    async def close(self) -> None:
        """Stop all members and all they share within half a second. What does not end by then is abandoned."""
        runners = list(self.runners.values())
        tell_who_waits(runners, self._approvals)
        await within(self.clock, MEMBERS_SECONDS, [runner.stop() for runner in runners], "stopping the assistants")
        rest = [self.pipeline.write_ledger(), self._launcher.stop(), self._exchange.close(), self.web.stop()]
        await within(self.clock, REST_SECONDS / 2, rest, "ending connections")
        await within(self.clock, REST_SECONDS / 2, [self._journal.close()], "closing the journal")

    async def try_model(self, config: ModelConfig, entered: str = "") -> str:
        """Return a sentence that says which model answered a short question, and how fast.

        `entered` is the reference of a key given just now. Neither the settings nor the key are remembered. Raises
        NoModelError with cause and remedy.
        """
        await self._ready()
        self.settings_changed()
        bound = BoundKeys(self._bound.remembered, self.home.folder, IN_THE_GAME)
        bound.admit(bindings_of_model(config, self.home.folder), self._anchored(entered))
        began = self.clock.seconds()
        chosen = await self._chooser(bound).choose(config)
        try:
            answer = await asked(chosen.provider, chosen.config, self._exchange, self.clock)
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
        await self._ready()
        self.settings_changed()
        await self._admit(config, entered)

    async def change_web(self, web: WebConfig, entered: str = "") -> None:
        """Use other settings of the web from now on. Assistants get them when they are restarted.

        `entered` is the reference of a key given just now. Raises SettingsError, KeyReferenceError and JournalError,
        and then changes nothing.
        """
        await self._ready()
        config = Config(web=web)
        bound = BoundKeys(self._bound.remembered, self.home.folder, IN_THE_GAME)
        bound.admit(bindings_of(config, self.home.folder), self._anchored(entered))
        await resolve_key(entered, self._keys)
        await self.web.change(web, bound)
        await self._admit(config, entered)

    async def usage(self, days: int) -> list[UsageRow]:
        """Return what each account spent on the last `days` days, newest first. Raises JournalError."""
        await self._ready()
        return await usage_rows(self._journal.usage, self._ledger.day - days + 1)

    async def doctor(self, runner: AssistantRunner, show: Callable[[Finding], None]) -> bool:
        """Check this member's settings, showing each finding as it comes. Return True when nothing is wrong."""
        journal = runner.config.journal.model_copy(update={"file": str(self.home.journal)})
        visit = DoctorRequest(
            runner.config.model_copy(update={"journal": journal}),
            self.home.folder,
            self.home.environment,
            self.home.wall,
            show,
            lambda _: None,
            self.home.secrets,
            web=bool(runner.config.web.search_provider),
        )
        return await examine(self._reactor, visit) == 0

    def scrub(self, text: str) -> str:
        """Return the text without keys."""
        return self.home.secrets.scrub(text)

    async def storage_of(self, runner: str, inbox_limit: int, name: str) -> Storage:
        """Return the storage of this member. Raises JournalError."""
        await self._ready()
        if self.trouble:
            raise JournalRefused(self.trouble)
        return await self._journal.storage_of(runner, inbox_limit, name)

    async def choose(self, config: Config, entered: str) -> list[ChosenModel]:
        """Return the models a member thinks with. Raises NoModelError, KeyReferenceError and JournalError."""
        await self._admit(config, entered)

        def left_out(why: str) -> None:
            _log.warn("a model is left out: {why}", why=self.scrub(why))

        return await self._chooser(self._bound).choose_all(config.model, config.fallback, left_out)

    async def dependencies(self, place: Embodiment, config: Config, storage: Storage, watch: Observers) -> Dependencies:
        """Return what a member is built from. Raises SettingsError and KeyReferenceError."""
        found = await self.web.tools(place.me.id, self._bound)
        return Dependencies(
            me=place.me,
            world=place.world,
            storage=storage,
            registry=Registry([*ALL_WORLD_TOOLS, *place.tools, *found]),
            exchange=self._exchange,
            capabilities=self._capabilities,
            pipeline=self.pipeline,
            clock=self.clock,
            observer=watch,
            budget=config.budget,
            scrub=self.scrub,
            pieces=self.home.secrets.pieces(),
            wall=self.home.wall,
            scheduler=self.scheduler,
            approvals=self._approvals.setdefault(place.me.id, Approvals(self.clock.seconds)),
            notify=lambda who, sentence: place.notify(who, self.scrub(sentence)),
            minutes=self._minutes,
            warmer=self._warmer,
            floor=self._floor,
            where=place.where,
        )

    async def _open(self) -> None:
        """Open the journal, and read what was spent and which key goes to which server."""
        opened = await self._journal.open()
        if not isinstance(opened, Sound) or opened.new:
            _log.warn("{sentence}", sentence=opened.sentence)
        if isinstance(opened, OpeningRefused):
            self.trouble = opened.sentence
        else:
            await self._spending.restore()
            try:
                remembered = await self._journal.bindings.load()
            except JournalError as error:
                _log.error("which key goes to which server cannot be read: {why}", why=str(error))
            else:
                self._bound = BoundKeys(remembered, self.home.folder, IN_THE_GAME)
        self._is_open = True
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.callback(None)

    async def _ready(self) -> None:
        """Wait until the journal was opened, or could not be."""
        if not self._is_open:
            waiter: Deferred[None] = Deferred(self._waiting.remove)
            self._waiting.append(waiter)
            await waiter

    async def _admit(self, config: Config, entered: str) -> None:
        """Allow new keys to go where the settings say, and remember it. The keys of all members are considered."""
        folder = self.home.folder
        game = self.home.config.model_copy(update={"web": self.web.config})
        configs = [config, game, *(runner.config for runner in self.runners.values())]
        wanted = dict.fromkeys(binding for each in configs for binding in bindings_of(each, folder))
        self._bound.admit(list(wanted), self._anchored(entered))
        await self._journal.bindings.remember(self._bound.remembered)

    def _anchored(self, entered: str) -> set[str]:
        return {anchor(entered, self.home.folder)} if entered else set()

    def _chooser(self, bound: BoundKeys) -> Chooser:
        return Chooser(self._exchange, self._reactor, self._keys, self._pool.lease, bound, self.pipeline.credential)
