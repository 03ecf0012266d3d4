"""READ FIRST: puts the operator's page together, for a game's web server or for a listener of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version

from msgspec import Struct
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from assistant.addresses import Proxies
from assistant.errors import KeyReferenceError
from assistant.gateway.keys import key_store
from assistant.journal.place import JournalPlace
from assistant.keys.reference import resolve_key
from assistant.page import views
from assistant.page.api.openapi import api_routes
from assistant.page.http.call import PublicRoute, Route
from assistant.page.http.health import health_routes, metrics_route, open_metrics_route
from assistant.page.http.incoming import ReadRequest, client_address, host_header
from assistant.page.http.resource import PageResource
from assistant.page.http.static import StaticTable
from assistant.page.http.stream import MAX_SECONDS, live_route
from assistant.page.http.tokens import BearerTokens, TokenDoor, hash_token
from assistant.page.live import AskedRequests, LiveHub
from assistant.page.operations.circuits import CircuitLog
from assistant.page.operations.desk import Operations
from assistant.page.operations.lag import ReactorLag
from assistant.page.operations.records import JournalRecords
from assistant.page.operations.servers import servers_in_use
from assistant.page.operations.sources import Sources
from assistant.page.ports import Desk, Door, PageHost
from assistant.page.reading.reader import JournalReader
from assistant.page.values.common import VisitorRole
from assistant.page.views.assets import static_files
from assistant.page.views.door import error_page_for
from assistant.service.service import AssistantService

#: The bytes of the secret behind the tokens of forms.
_SECRET_BYTES = 32

_log = Logger()


class SiteOptions(Struct, frozen=True):
    """What a world may want otherwise.

    `routes` and `public` are paths of its own, such as those of its log-in. `host_of` and `address_of` read the host
    and the sender of a request, where a proxy of the game stands before it. A stream ends after `stream_seconds`.
    `journal` is what is shown, which the service need not write; None shows the service's own. `secure_cookie` is as
    PageResource has it.
    """

    routes: Sequence[Route] = ()
    public: Sequence[PublicRoute] = ()
    host_of: ReadRequest = host_header
    address_of: ReadRequest = client_address
    stream_seconds: float = MAX_SECONDS
    journal: JournalPlace | None = None
    secure_cookie: Callable[[Mapping[str, str]], str] = lambda _: ""


class OperatorPage(PageResource):
    """The page as one resource. Call `close` before the service ends."""

    #: Ends what runs for the page alone.
    on_close: Callable[[], None] = staticmethod(lambda: None)
    #: Ends the streams of a session that is over.
    end_session: Callable[[str], None] = staticmethod(lambda _: None)

    def close(self) -> Deferred[None]:
        """End the streams, and what is measured and kept for the page. Fires when every request is over."""
        self.on_close()
        return self.stop()


def make_site(
    service: AssistantService, host: PageHost, door: Door, prefix: str = "", options: SiteOptions | None = None
) -> OperatorPage:
    """Put the page together. The prefix is the path under which it stands, without an end slash."""
    wanted = options or SiteOptions()
    hub = LiveHub(service, service.clock, service.config.wall, service.scrub, partial(_name_of, host))
    asked, lag = AskedRequests(service.scrub), ReactorLag(service.clock)
    circuits = CircuitLog(service.clock, service.config.wall, partial(servers_in_use, service))
    own = service.parts.journal.place
    reader = JournalReader(wanted.journal or own, service.parts.reactor)
    is_live = wanted.journal in {None, own}
    records = JournalRecords(reader, service, host.names, is_live=is_live)
    sources = Sources(
        service, host, records, version("mud-assistant"), service.config.wall,
        asked=asked.find, watchers=lambda: hub.streams, lag=lag.worst, circuits=circuits.spans,
        keys=key_store(service.config.settings.gateway, service.config.folder) if is_live else None,
    )  # fmt: skip
    desk = Operations(sources)
    with_tokens = TokenDoor(door, service.clock)
    routes, public = _routes(desk, hub, service, wanted)
    page = OperatorPage(
        routes,
        with_tokens,
        service.clock,
        secret=secrets.token_bytes(_SECRET_BYTES),
        prefix=prefix,
        static=_static_table(),
        public=public,
        render_error=error_page_for(prefix),
        scrub=service.scrub,
        host_of=wanted.host_of,
        address_of=wanted.address_of,
        proxies=Proxies(service.config.settings.page.proxies),
        secure_cookie=wanted.secure_cookie,
    )
    service.watchers.keep_requests(asked)
    lag.start()
    circuits.start()

    def end() -> None:
        lag.stop()
        circuits.stop()
        hub.close()
        service.watchers.keep_no_requests(asked)
        sources.launcher.stop()
        reader.close()

    page.on_close, page.end_session = end, hub.end_session
    sources.launcher.launch(_read_tokens(service, with_tokens), "reading the tokens of the page")
    return page


def _routes(
    desk: Desk, hub: LiveHub, service: AssistantService, options: SiteOptions
) -> tuple[list[Route], list[PublicRoute]]:
    """Return the routes of visitors, and those of everybody."""
    public = [*health_routes(desk), *options.public]
    metrics: list[Route] = []

    def read(accept: str) -> tuple[str, bytes] | None:
        return service.read_metrics(accept)  # looked up each time: what keeps the metrics may begin later

    if service.config.settings.page.open_metrics:
        public.append(open_metrics_route(read))
    else:
        metrics.append(metrics_route(read))
    api = api_routes(desk, live_route(hub, options.stream_seconds), version("mud-assistant"))
    return [*views.routes(desk), *api, *metrics, *options.routes], public


def _name_of(host: PageHost, assistant: str) -> str:
    """Return the name an assistant has now; its id when it is not known."""
    return next((known.name for known in host.assistants() if known.id == assistant), assistant)


def _static_table() -> StaticTable:
    """Return the style sheet and the script by their plain names: their table hashes them as the pages do."""
    files = {}
    for name, (_, body) in static_files().items():
        stem, _, ending = name.rpartition(".")
        files[f"{stem.rpartition('-')[0]}.{ending}"] = body
    return StaticTable(files)


async def _read_tokens(service: AssistantService, door: TokenDoor) -> None:
    """Read the tokens of the settings. One that cannot be read lets nobody in, and the log says why."""
    found: list[tuple[str, VisitorRole, str]] = []
    for name, token in service.config.settings.page.tokens.items():
        try:
            found.append((hash_token(await resolve_key(token.key, service.parts.keys)), VisitorRole(token.role), name))
        except KeyReferenceError as error:
            _log.error("the token {name} of [page] cannot be used: {why}", name=name, why=str(error))
    door.use(BearerTokens(found))
