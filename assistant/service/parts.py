"""What all assistants of a process share: the journal, the daily budget, keys, network, web and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import Any, TypeVar

from msgspec.structs import replace
from twisted.internet.defer import DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.characters import Character, CharacterError, read_character, read_days
from mud_assistant.assistant.characters.day_entries import Days
from mud_assistant.assistant.config.playing import with_character
from mud_assistant.assistant.config.schema import AssistantConfig, Config
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.events.conversation import Floor
from mud_assistant.assistant.journal import JournalError, JournalRefused, Opened, OpeningRefused, ReadOnly, is_news
from mud_assistant.assistant.keys.reference import anchor, key_sources
from mud_assistant.assistant.loop.run_parts import CharacterBody, Toolbox, new_process
from mud_assistant.assistant.memory.meaning import Meaning
from mud_assistant.assistant.memory.remembering import remembering
from mud_assistant.assistant.memory.topics.knowledge import CharacterIndex, everyday_finder, index_character
from mud_assistant.assistant.models.bound_keys import BoundKeys, bindings_of
from mud_assistant.assistant.models.choose import Chooser
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.models.embedding import EmbedderParts, SharedEmbedder, vector_server
from mud_assistant.assistant.runtime.build import Dependencies
from mud_assistant.assistant.runtime.opening import kept_journal
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.runtime.warming import Warmer
from mud_assistant.assistant.service.embedded import EmbeddedPool, report_to_the_log
from mud_assistant.assistant.service.host import Embodiment, Observers, ServiceConfig, ServiceHooks
from mud_assistant.assistant.service.opening import JournalOpening
from mud_assistant.assistant.service.quieting import Quieting
from mud_assistant.assistant.service.troubles import Lookout, Troubles
from mud_assistant.assistant.service.usage_store import UsageStore
from mud_assistant.assistant.web.shared import SharedWeb
from mud_assistant.resilience import DeadlineExceeded, HttpExchange, Launcher, Ledger, Pipeline
from mud_assistant.resilience.background import in_daemon_thread
from mud_assistant.tools import Approvals, Principal, Registry
from mud_assistant.tools.context import Following
from mud_assistant.tools.verbs import ALL_WORLD_TOOLS, DELEGATE

T = TypeVar("T")

#: The longest time that reading or writing the files of a character may take, in seconds.
CHARACTER_SECONDS = 20.0
_log = Logger()


class SharedParts:
    """The shared parts of a process, made once. Call `open` before anything else."""

    # Any: the reactor as clock and as maker of connections, threads and processes.
    def __init__(
        self,
        reactor: Any,
        config: ServiceConfig,
        random: Random,
        hooks: ServiceHooks,
        configs: Callable[[], Iterable[Config]],
    ) -> None:
        """Take `configs`, which returns the settings of the assistants that run."""
        self.config = config
        self.troubles = Troubles()
        self.reactor = reactor
        self.clock: IReactorTime = reactor
        self.exchange = HttpExchange(reactor)
        #: `trouble` says why no assistant can run, in one sentence; empty when all is well.
        self.journal, self.trouble = kept_journal(config.place, reactor, config.wall, self.troubles.of_journal)
        self.ledger = Ledger(reactor.seconds, config.wall, config.settings.budget.utc_offset_hours * 3600)
        self._spending = UsageStore(self.ledger, self.journal.usage)
        keep = self._spending.keep if config.journal_place else None
        self.pipeline = Pipeline(reactor, random, self.ledger, keep, self.journal.shared_ledger)
        self.lookout = Lookout(self.troubles, self.scrub, self.pipeline)
        self.quiet = Quieting(self.journal.quiet, reactor, self.journal.notices)
        self.keys = key_sources(reactor, config.environment, config.folder, config.secrets)
        web = config.web or config.settings.web
        self.web = SharedWeb(web, self.keys, self.exchange, reactor=reactor, random=random, wall=config.wall)
        #: The calls for which each assistant has asked approval. They go on waiting when it is restarted.
        self.approvals: dict[str, Approvals] = {}
        self.hooks = hooks
        self._configs = configs
        self._bound = BoundKeys((), config.folder, hooks.key_again)
        #: The embedded models that run.
        self.pool = EmbeddedPool(hooks.make_served or report_to_the_log(reactor, config.environment))
        #: Has servers read the beginning of prompts ahead.
        self.warmer = Warmer()
        #: What the assistants are given of all this.
        process = new_process(self.exchange, reactor, self.pipeline, config.wall)
        self.process = replace(process, floor=Floor(reactor))
        self.embedder = SharedEmbedder(config.settings.memory, self._embedder_parts)
        self._opening = JournalOpening(self.journal, self.clock)
        self._has_meaning = False
        self._nobody: CharacterIndex | None = None
        #: Held while it is made: it takes 2 MB, and all assistants may begin at once.
        self._indexing = DeferredLock()
        self._opened: Opened | None = None
        #: Why it is not known which key goes to which server; None when it is.
        self._unread: JournalError | None = None

    def scrub(self, text: str) -> str:
        """Return the text without keys."""
        return self.config.secrets.scrub(text)

    def open(self, launcher: Launcher) -> None:
        """Begin to open the journal, and return at once."""
        launcher.launch(self._open(launcher), "opening the journal").addCallback(lambda _: self._opening.end())

    async def ready(self) -> None:
        """Wait until the journal was opened, or could not be. Raises JournalUnreadable while its database is away."""
        await self._opening.ready()

    async def opened(self, on_away: Callable[[str], None] = lambda _: None) -> Opened | None:
        """Wait until the journal is open, and return how it was found; None without one.

        A database that is away is waited for; `on_away` is told of it once, in a sentence. Raises JournalError when it
        cannot be read which key goes to which server.
        """
        await self._opening.until_over(on_away)
        if self._unread is not None and not isinstance(self._opened, ReadOnly):
            raise self._unread
        return self._opened

    async def storage_of(self, me: Principal, config: Config) -> Storage:
        """Return the storage of this assistant, which remembers as its settings say. Raises JournalError."""
        await self.ready()
        if self.trouble:
            raise JournalRefused(self.trouble)
        settings, offset = config.assistant, config.budget.utc_offset
        remember = remembering((settings.name, *settings.aliases), settings.world_text_permission, offset)
        return await self.journal.storage_of(me.id, settings.inbox_limit, me.name, remember)

    async def admit(self, config: Config, entered: str) -> None:
        """Allow new keys to go where the settings say, and remember it. Raises JournalError.

        The keys of all assistants are considered. `entered` is the reference of a key given just now.
        """
        await self.ready()
        folder = self.config.folder
        game = self.config.settings.model_copy(update={"web": self.web.config})
        wanted = dict.fromkeys(
            binding for each in (config, game, *self._configs()) for binding in bindings_of(each, folder)
        )
        self._bound.admit(list(wanted), self._anchored(entered))
        await self.journal.bindings.remember(self._bound.remembered)

    async def bound_with(self, config: Config, entered: str) -> BoundKeys:
        """Return which key may go where when these settings are used, without remembering it."""
        await self.ready()
        bound = BoundKeys(self._bound.remembered, self.config.folder, self.hooks.key_again)
        bound.admit(bindings_of(config, self.config.folder), self._anchored(entered))
        return bound

    async def give_meaning(self) -> None:
        """Let memories be found by their meaning as well, where the settings say so. Once; keys must be admitted.

        Without it words find them: what stands in the way is logged.
        """
        recall = self.journal.recall
        if not self.embedder.is_on or self._has_meaning:
            return
        self._has_meaning = True
        try:
            embedder = await self.embedder.get()
        except KeyReferenceError as error:
            _log.error("sentence vectors cannot be made, so words find memories: {why}", why=str(error))
            return
        if embedder is not None:
            recall.meaning = meaning = Meaning(embedder, self.clock)
            recall.later(meaning.warm(), "starting what makes sentence vectors")

    def _embedder_parts(self) -> EmbedderParts:
        make_server = vector_server(self.reactor, self.config.environment)
        return EmbedderParts(self.exchange, self.pipeline, self.keys, make_server, self._bound)

    async def choose(self, config: Config) -> list[ChosenModel]:
        """Return the models an assistant thinks with. Raises NoModelError."""

        def left_out(why: str) -> None:
            self.hooks.left_out(self.scrub(why))

        return await self.chooser().choose_all(config.model, config.fallback, left_out)

    def chooser(self, bound: BoundKeys | None = None) -> Chooser:
        """Return a chooser of models that sends keys as `bound` allows, else as was admitted."""
        admitted, credential = bound or self._bound, self.pipeline.credential
        return Chooser(self.exchange, self.clock, self.keys, self.pool.lease, admitted, credential)

    async def dependencies(
        self, embodiment: Embodiment, config: Config, storage: Storage, watch: Observers
    ) -> Dependencies:
        """Return what an assistant is built from. Raises SettingsError and KeyReferenceError."""
        found, own = await self.web.tools(embodiment.me.id, self._bound), self.config.own_tools
        me, now = embodiment.me, self.clock.seconds
        reads = (DELEGATE,) if config.assistant.delegates else ()
        every = [*ALL_WORLD_TOOLS, *embodiment.tools, *reads, *found, *own.tools]
        body = CharacterBody(
            me,
            embodiment.world,
            watch,
            where=embodiment.where,
            notify=lambda who, sentence: embodiment.notify(who, self.scrub(sentence)),
            scrub=self.scrub,
            pieces=self.config.secrets.pieces(),
        )
        tools = Toolbox(
            Registry(every, lacks=bool(own.problems)),
            self.approvals.setdefault(me.id, Approvals(now)),
            Following(now),
            http_client=partial(self.web.http_client, me.id),
        )
        return Dependencies(body, self.process, storage, tools, config.budget, config.memory, quiet=self.quiet.state)

    async def playing(self, settings: AssistantConfig) -> tuple[AssistantConfig, CharacterIndex]:
        """Return the settings with what the character they name adds, its lore and its topics. Raises CharacterError.

        The files are read in a thread, each time anew.
        """
        recall = self.journal.recall
        async with self._indexing:
            if self._nobody is None:
                everyday = await self.with_files(partial(everyday_finder, recall))
                self._nobody = index_character(Character(""), recall, everyday)
            nobody = self._nobody
        if not settings.character:
            return settings, nobody
        character = await self.with_files(partial(read_character, self.config.character_folder, settings.character))
        index = await self.with_files(partial(index_character, character, recall, nobody.everyday))
        index.topics.prepare()
        return with_character(settings, character), index

    async def days_of(self, settings: AssistantConfig) -> Days:
        """Return the day of the character that the settings name, as its file says now. Raises CharacterError."""
        return await self.with_files(partial(read_days, self.config.character_folder, settings.character))

    async def with_files(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, which reads or writes the files of characters. Raises its error, CharacterError.

        It runs in a thread; cancelling does not stop it.
        """
        try:
            return await in_daemon_thread(self.reactor, CHARACTER_SECONDS, work)
        except DeadlineExceeded as error:
            raise CharacterError(
                f"the disk did not answer within {CHARACTER_SECONDS:.0f} seconds: try again"
            ) from error

    async def _open(self, launcher: Launcher) -> None:
        """Open the journal, and read what was spent, who is quiet, and which key goes to which server."""
        if self.trouble:
            return
        try:
            await self.journal.unlock(self.keys)
        except KeyReferenceError as error:
            self.trouble = f"the password of the journal cannot be read: {error}"
            return
        self._opened = opened = await self._opening.open()
        if opened is not None and is_news(opened):
            _log.warn("{sentence}", sentence=opened.sentence)
        if isinstance(opened, OpeningRefused):
            self.trouble = opened.sentence
            return
        if self.journal.shared_ledger is None:
            await self._spending.restore()
        else:
            await self.pipeline.read_ledger()
        try:
            remembered = await self._opening.read(self.journal.bindings.load)
            await self._opening.read(self.quiet.load)
        except JournalError as error:
            self._unread = error
            _log.error("which key goes to which server cannot be read: {why}", why=str(error))
        else:
            self._bound = BoundKeys(remembered, self.config.folder, self.hooks.key_again)
        self.quiet.follow(launcher)

    def _anchored(self, entered: str) -> set[str]:
        return {anchor(entered, self.config.folder)} if entered else set()
