"""READ FIRST: puts the operator's page together, for a game's web server or for a listener of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version

from msgspec import Struct
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.gateway.keys import key_store
from mud_assistant.assistant.http_server.addresses import Proxies
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.keys.reference import resolve_key
from mud_assistant.assistant.page import views
from mud_assistant.assistant.page.api.openapi import api_routes
from mud_assistant.assistant.page.http.call import PublicRoute, Route
from mud_assistant.assistant.page.http.guard import hash_token
from mud_assistant.assistant.page.http.health import health_routes, metrics_route, open_metrics_route
from mud_assistant.assistant.page.http.resource import PageResource
from mud_assistant.assistant.page.http.stream import MAX_SECONDS, live_route
from mud_assistant.assistant.page.live import AskedRequests, LiveHub
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.operations.lag import ReactorLag
from mud_assistant.assistant.page.operations.records import JournalRecords
from mud_assistant.assistant.page.operations.servers import CircuitLog, servers_in_use
from mud_assistant.assistant.page.operations.sources import Sources
from mud_assistant.assistant.page.ports import Door, PageHost
from mud_assistant.assistant.page.reading.reader import JournalReader
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.door import error_page_for
from mud_assistant.assistant.page.views.layout import static_files
from mud_assistant.assistant.service.service import AssistantService

#: The bytes of the secret behind the tokens of forms.
_SECRET_BYTES = 32

_log = Logger()


class SiteOptions(Struct, frozen=True):
    """What a world may want otherwise.

    `routes` and `public` are paths of its own, such as those of its log-in. A stream ends after `stream_seconds`.
    `journal` is what is shown, which the service need not write; None shows the service's own. `secure_cookie` is as
    PageResource has it.
    """

    routes: Sequence[Route] = ()
    public: Sequence[PublicRoute] = ()
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
        return super().close()


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
    desk = Desk(sources)
    routes, public = _routes(desk, hub, service, wanted)
    page = OperatorPage(
        routes,
        door,
        service.clock,
        secret=secrets.token_bytes(_SECRET_BYTES),
        prefix=prefix,
        static=static_files(),
        public=public,
        render_error=error_page_for(prefix),
        scrub=service.scrub,
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
    sources.launcher.launch(_read_tokens(service, page), "reading the tokens of the page")
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


async def _read_tokens(service: AssistantService, page: OperatorPage) -> None:
    """Read the tokens of the settings. One that cannot be read lets nobody in, and the log says why."""
    found: list[tuple[str, VisitorRole, str]] = []
    for name, token in service.config.settings.page.tokens.items():
        try:
            found.append((hash_token(await resolve_key(token.key, service.parts.keys)), VisitorRole(token.role), name))
        except KeyReferenceError as error:
            _log.error("the token {name} of [page] cannot be used: {why}", name=name, why=str(error))
    page.bearers.use(found)
