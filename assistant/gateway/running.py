"""Opens the gateway beside the assistants of a process, and closes it again."""

from __future__ import annotations

import secrets

from twisted.internet.error import CannotListenError
from twisted.logger import Logger

from mud_assistant.assistant.config.gateway import GatewayConfig
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.gateway.embeddings import GatewayEmbeddings
from mud_assistant.assistant.gateway.http.bodies import BodyReader
from mud_assistant.assistant.gateway.http.guards import HeadGuard
from mud_assistant.assistant.gateway.http.listener import GatewayListener
from mud_assistant.assistant.gateway.keys import key_store, ring_of
from mud_assistant.assistant.gateway.models import GatewayModels
from mud_assistant.assistant.gateway.site import Gateway, GatewayParts
from mud_assistant.assistant.http_server.addresses import Proxies
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.resilience.admission.breaker import CircuitState

_TAKEN = (
    "the gateway cannot be opened at port {port} of {interface}: {why}. Another program has it, maybe a gateway that "
    "still runs: set another in [gateway] port, or 0 for any that is free"
)
_NO_KEYS = (
    "[gateway] {opened_by} lets other machines use your models, through a proxy too, and there is no key they would "
    "have to show. Make one first: mud-assistant gateway keys add NAME. Or leave the setting out: then only this "
    "machine can ask, and needs no key"
)
_OPEN = "the gateway is open to other machines at {address}: only who shows a key is answered"

_READY = """Other programs can use your models now. Give them one of these addresses:
  {address}/v1    OpenAI's clients (chat, responses)
  {address}       Anthropic's clients, Ollama's clients
Models: {models}.
{keys}"""
_WITH_KEYS = "They must show a key: mud-assistant gateway keys list."
_WITHOUT_KEYS = "Every program on this machine may ask; mud-assistant gateway keys add NAME changes that."

_log = Logger()


class GatewayNotOpened(AssistantError):
    """The gateway cannot be opened; the message says why, and what to do."""


class RunningGateway:
    """The gateway of a process. `open` it once; the service closes it when it ends."""

    def __init__(self, service: AssistantService, config: GatewayConfig) -> None:
        parts, host = service.parts, service.config
        self._config = config
        self._service = service
        self._keys = ring_of(service, key_store(config, host.folder), is_open=bool(config.opened_by))
        self.models = GatewayModels(parts, config, host.settings, int(host.wall()))
        self._bodies = BodyReader(parts.reactor)
        self._embedder = parts.embedder
        vectors = GatewayEmbeddings(parts.embedder, lambda: parts.admit(host.settings, ""), int(host.wall()))
        made = GatewayParts(
            self.models, vectors, self._keys, parts.exchange, self._bodies, config, host.settings.budget,
            parts.reactor, host.wall, service.scrub, self._is_ready,
        )  # fmt: skip
        self.site = Gateway(made)
        self._listener = GatewayListener(
            self.site,
            HeadGuard(config.hosts, config.origins),
            self._bodies,
            parts.reactor,
            clock=parts.clock,
            proxies=Proxies(config.proxies),
            new_id=lambda: f"req_{secrets.token_hex(12)}",
        )

    async def open(self) -> str:
        """Listen, and return the address. Raises GatewayNotOpened."""
        config = self._config
        await self._keys.refresh()
        if config.opened_by and not self._keys.has_keys:
            raise GatewayNotOpened(_NO_KEYS.format(opened_by=config.opened_by))
        try:
            place = self._listener.start(config.port, config.interface)
        except CannotListenError as error:
            why = getattr(error.socketError, "strerror", None) or str(error.socketError)
            raise GatewayNotOpened(_TAKEN.format(port=config.port, interface=config.interface, why=why)) from error
        host = f"[{place.host}]" if ":" in place.host else place.host
        address = f"http://{host}:{place.port}"
        self._keys.start()
        self._service.on_close.insert(0, self.close)
        if config.opened_by:
            _log.warn(_OPEN, log_event="gateway", address=address)
        else:
            _log.info("the gateway listens at {address}", log_event="gateway", address=address)
        self.models.warm_up()
        return address

    def _is_ready(self) -> bool:
        """Tell whether the journal can be written, and not every server that was asked is given up for now."""
        if self._service.parts.journal.sharing_counts().is_away:
            return False
        servers = self._service.pipeline.servers()
        return not servers or any(one.state is not CircuitState.OPEN for one in servers)

    @property
    def has_keys(self) -> bool:
        """Whether a key must be shown."""
        return self._keys.has_keys

    @property
    def answering(self) -> int:
        """How many requests are being answered."""
        return len(self._listener)

    @property
    def held_bytes(self) -> int:
        """The bytes of the bodies that are held."""
        return self._listener.held_bytes

    async def close(self) -> None:
        """End what is open, and let go of the models. Safe to repeat."""
        if self.close in self._service.on_close:
            self._service.on_close.remove(self.close)
        await self._listener.close()
        await self._keys.stop()
        await self.models.close()
        await self._embedder.stop()
        self._bodies.close()


def ready(gateway: RunningGateway, address: str) -> str:
    """Say how other programs reach the gateway."""
    models = ", ".join(model.name for model in gateway.models.offered(lambda _: True))
    keys = _WITH_KEYS if gateway.has_keys else _WITHOUT_KEYS
    return _READY.format(address=address, models=models, keys=keys)
