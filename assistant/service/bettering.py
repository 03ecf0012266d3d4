"""Makes the talk better behind the talk: fetches sentence vectors and the better embedded model, and changes over.

an assistant with an embedded model is awake
  -> sentence vectors: fetch -> memories are found by their meaning
  -> the better model: fetch -> start -> read the prompts' beginning ahead -> each assistant goes on with it between two
     answers -> the usual model is stopped

The usual model answers until then. A fetch that fails is tried again, and goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from mud_assistant.assistant.language.words import listed
from mud_assistant.assistant.models.chosen import LOCAL_SECONDS, ChosenModel, call_options
from mud_assistant.assistant.models.clients import client_of
from mud_assistant.assistant.models.offer import BETTER, VARIABLE, fetches, hint, in_the_way, is_there, uses_vectors
from mud_assistant.assistant.runtime.warming import beginnings_of
from mud_assistant.assistant.service.embedded import ModelLease, gentle_fetch
from mud_assistant.assistant.service.parts import SharedParts
from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.llm import LLMError, get_provider
from mud_assistant.llm.chain import Link, ModelChain
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.fetching.convert import MINILM, MINILM_NAME
from mud_assistant.llm.embedded.fetching.models import QWEN_CODER_BETTER, ModelFile, pinned_path
from mud_assistant.llm.embedded.progress import Endpoint, FetchProgress, Phase
from mud_assistant.resilience import Launcher, origin_of
from mud_assistant.resilience.background import in_daemon_thread

#: Seconds before a fetch that failed is tried again; the last pause repeats.
PAUSES_SECONDS = (30.0, 120.0, 600.0, 1800.0)
#: Percent between two lines about a fetch.
_STEP = 25
#: How often it is asked whether the usual model has no call left, and how often at most, in seconds and times.
_DRAIN_SECONDS, _DRAIN_TIMES = 1.0, 60

#: How long the disk may take to say what is there.
_DISK_SECONDS = 60.0

_log = Logger()
T = TypeVar("T")


class Bettering:
    """What one process fetches behind the talk. `awake` is called with each assistant that has a model now."""

    def __init__(self, parts: SharedParts, launcher: Launcher) -> None:
        self._parts = parts
        self._launcher = launcher
        self._make_fetch = parts.hooks.make_fetch or gentle_fetch(parts.reactor, parts.config.environment)
        #: What was told last; empty when nothing was.
        self.latest = ""
        #: The assistants that think with the usual model.
        self._usual: list[AssistantRunner] = []
        self._is_begun = False
        #: Whether the better model runs, for those who come later.
        self._has_better = False

    def awake(self, runner: AssistantRunner) -> None:
        """Take in an assistant that has a model now, and begin when it is the first with an embedded one."""
        if all(model.embedded is None for model in runner.models):
            return
        if any(_is_usual(model) for model in runner.models):
            self._usual.append(runner)
        if self._has_better:
            self._launcher.launch(self._change([runner]), "changing over to the better model")
        elif not self._is_begun:
            self._is_begun = True
            self._launcher.launch(self._work(), "making the talk better")

    async def _work(self) -> None:
        parts = self._parts
        model, environment = parts.config.settings.model, parts.config.environment
        may_fetch = fetches(model, environment)
        if uses_vectors(model, environment):
            tried: Deferred[None] = Deferred()
            self._launcher.launch(self._use_vectors(tried, may_fetch=may_fetch), "using sentence vectors")
            await tried
        if self._usual and await self._had(QWEN_CODER_BETTER, BETTER, may_fetch=may_fetch):
            await self._use_better()

    async def _use_vectors(self, tried: Deferred[None], *, may_fetch: bool) -> None:
        """Use sentence vectors once they are here. `tried` fires when they are, or could not be fetched at once."""
        try:
            is_here = await self._had(MINILM, MINILM_NAME, may_fetch=may_fetch, tried=tried)
            if is_here and self._parts.embedder.use_embedded():
                await self._parts.give_meaning()
        finally:
            _fire(tried)

    async def _had(self, model: ModelFile, name: str, *, may_fetch: bool, tried: Deferred[None] | None = None) -> bool:
        """Return whether a file is here, and fetch it first where that may be. What is in the way is told."""
        if await self._in_thread(partial(is_there, model)):
            return True
        if not may_fetch:
            declined = self._parts.config.settings.model.fetch_better is False
            if name == BETTER and not declined and VARIABLE in self._parts.config.environment:
                self._tell(hint())
            return False
        if why := await self._in_thread(partial(in_the_way, model)):
            self._tell(f"{model.name} is not fetched: {why}. {_by_hand(name)}")
            return False
        remedy = " --small declines it." if name == BETTER else ""
        self._tell(f"{model.name} is being fetched behind the talk: {model.cost}.{remedy}")
        await self._fetch(model, name, tried)
        return True

    async def _fetch(self, model: ModelFile, name: str, tried: Deferred[None] | None) -> None:
        """Fetch a file, however often that takes. `tried` fires when it could not be fetched at once."""
        show = _Steps(model, self._tell).show
        told = False
        pauses = iter(PAUSES_SECONDS)
        while True:
            fetching = self._make_fetch(name, show)
            try:
                await fetching.fetch()
            except EmbeddedUnavailable as error:
                if not told:
                    why = error.cause.rstrip(".")
                    self._tell(f"{model.name} could not be fetched yet, and is tried again: {why}. {_by_hand(name)}")
                    told = True
                _fire(tried)
            else:
                return
            finally:
                await fetching.stop()
            await deferLater(self._parts.clock, next(pauses, PAUSES_SECONDS[-1]))

    async def _use_better(self) -> None:
        """Start the better model beside the usual one, let it read ahead, and change over."""
        pool, path = self._parts.pool, pinned_path(BETTER)
        if why := await self._in_thread(partial(in_the_way, QWEN_CODER_BETTER)):
            self._tell(f"{QWEN_CODER_BETTER.name} is here and is not used now: {why}.")
            return
        keeper, usual = pool.lease(path, _ignore), pool.lease(None, _ignore)
        try:
            await self._settled()  # loading takes all processors for some seconds, and so does reading
            self._parts.keys.secrets.add((endpoint := await keeper.start()).key)
            before = await usual.start()
            for runner in tuple(self._usual):
                await self._settled()
                await self._read_ahead(runner, endpoint)
            self._has_better = True
            await self._change(tuple(self._usual))
            await self._drained(before)
        except EmbeddedUnavailable as error:
            self._tell(f"{QWEN_CODER_BETTER.name} is here and does not run: {error.cause.rstrip('.')}.")
        finally:
            await usual.stop()
            await keeper.stop()

    async def _settled(self) -> None:
        """Wait until each assistant has answered what it had heard by then."""
        for runner in tuple(self._usual):
            if runner.state is RunnerState.AWAKE and runner.assistant is not None:
                await runner.assistant.settled()

    async def _read_ahead(self, runner: AssistantRunner, endpoint: Endpoint) -> None:
        """Let the new server read the beginning of an assistant's prompts. A failure costs only speed."""
        if runner.assistant is None or runner.state is not RunnerState.AWAKE:
            return
        chosen = next(model for model in runner.models if _is_usual(model))
        provider = get_provider(chosen.provider.name, f"{endpoint.url}/v1", endpoint.model)
        provider.rebind(f"{endpoint.url}/v1", endpoint.key)
        new = replace(chosen, provider=provider)
        if not new.may_be_warmed:
            return
        chain = ModelChain([Link(client_of(new, self._parts.process), call_options(new.config))], self._parts.clock)
        try:
            for beginning, tools in await beginnings_of(runner.assistant.context):
                await chain.warm(beginning, tools, name=runner.embodiment.me.id, seconds=LOCAL_SECONDS)
        except LLMError as error:
            _log.info("the better model did not read ahead: {why}", why=self._parts.scrub(str(error)))

    async def _change(self, runners: Sequence[AssistantRunner]) -> None:
        """Let each of these assistants go on with the better model, once it has answered what it heard."""
        names: list[str] = []
        for runner in runners:
            while runner.state is RunnerState.AWAKE and runner.assistant is not None:
                await runner.assistant.settled()
                if not runner.assistant.tick.busy:
                    names.append(runner.embodiment.me.name)
                    self._launcher.launch(_go_on(runner), "ending the use of the usual model")
                    break
            self._usual.remove(runner)
        if names:
            have = "has" if len(names) == 1 else "have"
            self._tell(f"{listed(names)} {have} a better model now: {QWEN_CODER_BETTER.name}.")

    async def _drained(self, before: Endpoint) -> None:
        """Wait until the usual server has no call left, a minute at most."""
        origin = origin_of(before.url)
        for _ in range(_DRAIN_TIMES):
            if not any(one.in_flight for one in self._parts.pipeline.servers() if one.origin == origin):
                return
            await deferLater(self._parts.clock, _DRAIN_SECONDS)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await in_daemon_thread(self._parts.reactor, _DISK_SECONDS, work)

    def _tell(self, sentence: str) -> None:
        self.latest = self._parts.scrub(sentence)
        self._parts.hooks.better(self.latest)


class _Steps:
    """Tells how far a fetch is, now and then."""

    def __init__(self, model: ModelFile, tell: Callable[[str], None]) -> None:
        self._model = model
        self._tell = tell
        self._told = 0

    def show(self, step: FetchProgress) -> None:
        """Tell each quarter of the download once."""
        percent = int(100 * step.fraction) // _STEP * _STEP
        if step.phase is Phase.DOWNLOAD and self._told < percent < 100:  # noqa: PLR2004  (the whole is told otherwise)
            self._told = percent
            self._tell(f"{percent} % of {self._model.name} is here.")


def _is_usual(model: ChosenModel) -> bool:
    return isinstance(model.embedded, ModelLease) and model.embedded.path is None


async def _go_on(runner: AssistantRunner) -> None:
    """Let an assistant go on with the better model at once, and wait until the usual one needs no more time."""
    path, leaving = pinned_path(BETTER), []
    models = list(runner.models)
    for number, model in enumerate(models):
        if isinstance(model.embedded, ModelLease) and _is_usual(model):
            leaving.append(model.embedded.change(path))
            why = f"the embedded model {model.provider.model} (the better one, fetched behind the talk)"
            models[number] = replace(model, why=why)
    runner.models = tuple(models)
    for gone in leaving:
        await gone


def _fire(waiter: Deferred[None] | None) -> None:
    if waiter is not None and not waiter.called:
        waiter.callback(None)


def _by_hand(name: str) -> str:
    return f"By hand: python -m mud_assistant.llm.embedded.fetch --model-name {name}"


def _ignore(_: Endpoint) -> None:
    """Do nothing: the caller asks for the address once."""
