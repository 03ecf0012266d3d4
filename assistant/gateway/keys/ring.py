"""Decides whether a request is admitted: by its key, the model it names, what the key used, how fast it asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from mud_assistant.assistant.gateway.keys.admission import Admission
from mud_assistant.assistant.gateway.keys.answers import AnswerOwners
from mud_assistant.assistant.gateway.keys.pace import KeyUse, WrongTries
from mud_assistant.assistant.gateway.keys.spending import KeySpending, Spent
from mud_assistant.assistant.gateway.keys.store import KeyStore, StoredKeys
from mud_assistant.assistant.gateway.keys.virtual_key import (
    ANYONE,
    DIGEST_BYTES,
    SALT_BYTES,
    GatewayKeyError,
    KeyLimits,
    VirtualKey,
    id_in,
)
from mud_assistant.assistant.http_server.addresses import is_loopback_address
from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.llm.dialects.failures import Failure, FailureKind, RequestRefused
from mud_assistant.resilience import DeadlineExceeded, Launcher
from mud_assistant.resilience.background import in_daemon_thread

#: The seconds between two looks at the file, and how long one look may take.
LOOK_SECONDS, _LOAD_SECONDS = 1.0, 5.0
#: Seconds after which it may be known what is not known yet.
_SOON = 1.0
#: Whoever asks while no key exists; its digest is that of no secret.
_ANYONE = VirtualKey(ANYONE, "", bytes(SALT_BYTES), bytes(DIGEST_BYTES), KeyLimits(), 0.0)
_HOW = "send it as `Authorization: Bearer KEY` or as `x-api-key: KEY`"

_log = Logger()
#: Returns the keys of the file when it is in another state than the one given, None when it is not. Must not block.
ReadKeys = Callable[[StoredKeys | None], Awaitable[StoredKeys | None]]


class KeyRing:
    """The keys of a running gateway. Await `refresh` once and call `start` before the first request; `stop` at the end.

    Keys that are made or revoked elsewhere are known after a second. While the file is broken or gone, the keys that
    were read last go on.
    """

    def __init__(
        self, read_keys: ReadKeys, spending: KeySpending, clock: IReactorTime, wall: Callable[[], float],
        *, is_open: bool = False,
    ) -> None:  # fmt: skip
        """Take what the keys need. With `is_open` a key must be shown even while there is none."""
        self._read_keys = read_keys
        self._spending = spending
        self._clock = clock
        self._wall = wall
        self._is_open = is_open
        self._stored: StoredKeys | None = None
        self._by_id: dict[str, VirtualKey] = {}
        self._uses: dict[str, KeyUse] = {}
        self._tries = WrongTries(clock.seconds)
        self._answers = AnswerOwners()
        #: What the log was told last, so that it is told once.
        self._troubles: dict[str, str] = {}
        self._launcher = Launcher()
        self._loop = LoopingCall(lambda: self._launcher.launch(self.refresh(), "reading the gateway's keys"))
        self._loop.clock = clock

    @property
    def has_keys(self) -> bool:
        """Whether a key must be shown: one exists, or did, or it is not known whether any does."""
        return self._stored is None or bool(self._stored.keys)

    def start(self) -> None:
        """Look at the file every second from now on."""
        if not self._loop.running:
            self._loop.start(LOOK_SECONDS, now=False)

    def stop(self) -> Deferred[None]:
        """Look no more. Fires when a look under way is over."""
        if self._loop.running:
            self._loop.stop()
        return self._launcher.stop()

    async def refresh(self) -> None:
        """Read the keys again if the file changed, and what they spent if a day began. What fails is logged."""
        await self._note("the keys of the gateway cannot be read: {why}", self._read())
        await self._note("what keys of the gateway spent this month cannot be read: {why}", self._spending.refresh())

    def admit(self, credential: str, model: str, address: str) -> Admission:
        """Admit a request with this secret, empty for none, for a model, empty for none, from an IP address.

        Raises RequestRefused. Release what is returned when the request is over.
        """
        key = self._key(credential, address)
        use = self._use_of(key)
        if wait := use.bucket.take():
            said = f"the key {key.name} may send {key.limits.per_second} messages a second"
            raise RequestRefused(Failure(FailureKind.TOO_MANY, said, retry_after=wait))
        if model and not key.may_use(model):
            said = f"the key {key.name} may not use the model {model[:200]}; it may use: {', '.join(key.limits.models)}"
            raise RequestRefused(Failure(FailureKind.FORBIDDEN, said, "model", should_retry=False))
        if not self._spending.is_known(key):
            said = "it is not known yet what this key used this month"
            raise RequestRefused(Failure(FailureKind.OVERLOADED, said, retry_after=_SOON))
        if (spent := self._spending.spent(key)) is not None:
            raise _used_up(key, spent)
        if use.in_flight >= key.limits.in_flight:
            said = f"the key {key.name} may have {key.limits.in_flight} requests at the same time"
            raise RequestRefused(Failure(FailureKind.TOO_MANY, said, retry_after=_SOON))
        return Admission(key, (self._spending.account(key),), use, self._spending, self._wall, answers=self._answers)

    def _use_of(self, key: VirtualKey) -> KeyUse:
        use = self._uses.get(key.id)
        if use is None:
            use = self._uses[key.id] = KeyUse(self._clock.seconds, key.limits.per_second)
        use.adjust(key.limits.per_second)
        return use

    def _key(self, credential: str, address: str) -> VirtualKey:
        """Return the key with this secret. A hash is made and compared whether there is such a key or not."""
        if self._stored is None:
            said = "the gateway's keys cannot be read now"
            raise RequestRefused(Failure(FailureKind.OVERLOADED, said, retry_after=_SOON))
        if not self._stored.keys and not self._is_open and is_loopback_address(address):
            return _ANYONE
        found = self._by_id.get(id_in(credential), _ANYONE)
        if found.is_of(credential):
            if trouble := found.trouble(self._wall()):
                raise RequestRefused(Failure(FailureKind.NO_KEY, trouble, should_retry=False))
            return found
        if wait := self._tries.count(address):
            said = "too many wrong keys came from this address"
            raise RequestRefused(Failure(FailureKind.TOO_MANY, said, retry_after=wait, should_retry=False))
        said = "this is no key of this gateway" if credential else f"this gateway asks for a key: {_HOW}"
        raise RequestRefused(Failure(FailureKind.NO_KEY, said, should_retry=False))

    async def _read(self) -> None:
        found = await self._read_keys(self._stored)
        if found is None:
            return
        if found.state is None and self._stored is not None and self._stored.keys:
            raise GatewayKeyError("the file is gone; the keys that were in it go on until the next start")
        self._stored = found
        self._by_id = {key.id: key for key in found.keys}
        kept = {*self._by_id, _ANYONE.id}
        self._uses = {id_: use for id_, use in self._uses.items() if id_ in kept or use.in_flight}

    async def _note(self, said: str, work: Awaitable[None]) -> None:
        """Do the work. Log what is wrong once, until it is something else or all is well."""
        try:
            await work
        except (GatewayKeyError, JournalError, DeadlineExceeded) as error:
            why = str(error) or type(error).__name__
            if self._troubles.get(said) != why:
                _log.error(said, log_event="gateway", why=why)
            self._troubles[said] = why
        else:
            self._troubles.pop(said, None)


def ring_of(service: AssistantService, store: KeyStore, *, is_open: bool = False) -> KeyRing:
    """Return the ring of the keys in `store`, paid from the ledger of `service`. With `is_open` it demands a key."""
    reactor: Any = service.parts.reactor

    async def read_keys(known: StoredKeys | None) -> StoredKeys | None:
        return await in_daemon_thread(reactor, _LOAD_SECONDS, lambda: changed_keys(store, known))

    spending = KeySpending(service.parts.ledger, service.config.wall, service.usage)
    return KeyRing(read_keys, spending, service.clock, service.config.wall, is_open=is_open)


def changed_keys(store: KeyStore, known: StoredKeys | None) -> StoredKeys | None:
    """Return the keys of the file when it changed since `known`, else None. Blocks. Raises GatewayKeyError."""
    return store.load() if known is None or store.state() != known.state else None


def _used_up(key: VirtualKey, spent: Spent) -> RequestRefused:
    said = f"the budget of the key {key.name} is used up for this {spent.span} ({spent.what})"
    return RequestRefused(Failure(FailureKind.BUDGET, said, retry_after=spent.seconds, should_retry=False))
