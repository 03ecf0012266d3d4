"""The page as a resource of twisted.web: each request is checked, handed to its route, and answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from twisted.web.http import Request
from twisted.web.resource import IResource
from twisted.web.server import NOT_DONE_YET
from zope.interface import implementer

from mud_assistant.assistant.http_server.addresses import Proxies
from mud_assistant.assistant.http_server.token_bucket import TokenBuckets
from mud_assistant.assistant.page.http.answer import set_safety_headers, write_reply
from mud_assistant.assistant.page.http.call import JSON, PageCall, PublicCall, PublicRoute, Reply, Route, StreamReply
from mud_assistant.assistant.page.http.errors import RenderError, error_reply, plain_error_page, too_many
from mud_assistant.assistant.page.http.guard import CSRF_FIELD, BearerTokens, Csrf, check_host, check_sender
from mud_assistant.assistant.page.http.incoming import (
    Incoming,
    parse_fields,
    parse_form,
    parse_json,
    read_body,
    read_incoming,
)
from mud_assistant.assistant.page.http.routing import Router, not_allowed_method, split_path
from mud_assistant.assistant.page.http.static import StaticTable
from mud_assistant.assistant.page.ports import (
    Door,
    InvalidInput,
    NotAllowed,
    PageError,
    Unauthenticated,
    Unavailable,
    Visitor,
)
from mud_assistant.resilience.background import Launcher

#: Requests a second of one session, and of one stranger's address, on average and at once.
_RATE = 10.0
_BURST = 20


@dataclass(slots=True)
class _Exchange:
    """A request and what is known of it so far."""

    request: Request
    incoming: Incoming
    body: bytes = b""
    is_api: bool = False
    call: PageCall | None = None
    is_gone: bool = False


@implementer(IResource)
class PageResource:
    """Serves routes to the visitors whom a door lets in.

    `secret` is at least 16 random bytes of this process, for the tokens of forms. `render_error` draws the page of an
    error. `scrub` takes keys out of the texts of errors, and out of what is answered to a change. `proxies` are
    believed who their client is. `secure_cookie` returns the Set-Cookie header for a visitor who came by HTTPS with a
    cookie of another's making, empty for none.
    """

    isLeaf = True

    def __init__(
        self,
        routes: Sequence[Route],
        door: Door,
        clock: IReactorTime,
        *,
        secret: bytes,
        prefix: str = "",
        static: StaticTable | None = None,
        public: Iterable[PublicRoute] = (),
        render_error: RenderError = plain_error_page,
        scrub: Callable[[str], str] = str,
        proxies: Proxies | None = None,
        secure_cookie: Callable[[Mapping[str, str]], str] = lambda _: "",
    ) -> None:
        self._router = Router(routes)
        self._door = door
        self._csrf = Csrf(secret)
        self._prefix = prefix
        self._static = static or StaticTable({})
        self._public: dict[str, dict[str, PublicRoute]] = {}
        for route in public:
            self._public.setdefault(route.path, {})[route.method] = route
        self._render_error = render_error
        self._scrub = scrub
        self._proxies = proxies or Proxies()
        self._secure_cookie = secure_cookie
        #: The tokens of programs. None is let in before their `use` was called.
        self.bearers = BearerTokens(clock)
        self._sessions = TokenBuckets(clock.seconds, _RATE, _BURST)
        self._strangers = TokenBuckets(clock.seconds, _RATE, _BURST)
        self._launcher = Launcher()

    # twisted.web's methods have no types that hold.
    def getChildWithDefault(self, name: bytes, request: Any) -> PageResource:
        """Return this resource: it answers every path below it."""
        return self

    def putChild(self, path: bytes, child: Any) -> None:  # noqa: N802  (Twisted's name)
        """Raise TypeError: the routes were given."""
        raise TypeError("the page takes no children")

    def render(self, request: Any) -> int:
        """Answer a request. A reader who leaves cancels their handler; a change runs to its end."""
        exchange = _Exchange(request, read_incoming(request, self._proxies))
        gone: Deferred[None] = request.notifyFinish()
        over = self._launcher.launch(self._serve(exchange), "answering a request of the page")
        over.addErrback(Failure.trap, CancelledError)

        def leave(_: Failure) -> None:
            exchange.is_gone = True
            if not exchange.incoming.is_change:
                over.cancel()

        gone.addErrback(leave)
        return int(NOT_DONE_YET)

    def close(self) -> Deferred[None]:
        """Cancel what is being answered. Fires when all of it is over; streams end by themselves."""
        return self._launcher.stop()

    def __len__(self) -> int:
        """Return how many requests are being answered."""
        return len(self._launcher)

    def refusal(self, error: PageError, path: str) -> Reply:
        """Return the answer to a request that was not read to its end."""
        is_api = path.removeprefix(self._prefix).startswith("/api/")
        return error_reply(error, None, is_api=is_api, render=self._render_error, scrub=self._scrub)

    async def _serve(self, exchange: _Exchange) -> None:
        request, incoming = exchange.request, exchange.incoming
        try:
            reply = await self._answer(exchange)
        except CancelledError:
            if not exchange.is_gone:
                write_reply(request, self._tell(exchange, Unavailable("The server stops.")))
            raise
        except Exception as error:  # noqa: BLE001  (each error is an answer; what is not foreseen is logged)
            reply = self._tell(exchange, error)
        if exchange.is_gone:
            return
        if isinstance(reply, StreamReply) and incoming.method != "HEAD":
            set_safety_headers(request)
            reply.begin(request)
            return
        if isinstance(reply, StreamReply):
            reply = Reply(content_type="text/event-stream")
        write_reply(request, reply)

    async def _answer(self, exchange: _Exchange) -> Reply | StreamReply:
        incoming = exchange.incoming
        exchange.is_api = incoming.path.removeprefix(self._prefix).startswith("/api/")
        check_host(self._door, incoming)
        exchange.body = read_body(exchange.request)
        parts = split_path(incoming.path, self._prefix)
        if (file := self._static.find(parts)) is not None:
            if incoming.is_change:
                raise not_allowed_method(["GET", "HEAD"])
            return file.reply(incoming.etag)
        if (methods := self._public.get("/" + "/".join(parts))) is not None:
            return await self._answer_public(exchange, methods)
        exchange.is_api = self._router.is_api(parts)
        route, named = self._router.find(incoming.method, parts)
        exchange.is_api = route.is_api
        bearer = incoming.bearer if route.is_api else ""
        visitor = await self._visitor(incoming, bearer)
        if visitor is None:
            self._take(self._strangers, incoming.address)
            return self._to_login(exchange)
        self._take(self._sessions, visitor.session)
        call = self._new_call(exchange, visitor, named)
        exchange.call = call
        if not visitor.role.may(route.needs):
            raise NotAllowed(f"This needs the role {route.needs}; yours is {visitor.role}.")
        if incoming.is_change:
            call = self._with_body(exchange, call, is_bearer=bool(bearer))
        reply = await route.handler(call)
        if isinstance(reply, StreamReply):
            return reply
        if incoming.is_change:  # a form that is shown again has in it what was typed
            reply = replace(reply, body=self._scrub(reply.body.decode("utf-8", "replace")).encode())
        cookie = self._secure_cookie(incoming.cookies) if incoming.is_https and not bearer else ""
        return replace(reply, headers=(*reply.headers, ("Set-Cookie", cookie))) if cookie else reply

    async def _visitor(self, incoming: Incoming, bearer: str) -> Visitor | None:
        # A bearer token counts alone: what comes with a cookie must show the token of a form too.
        try:
            if bearer:
                return self.bearers.visitor(bearer, incoming.address)
            return await self._door.visitor(incoming.cookies)
        except PageError:
            self._take(self._strangers, incoming.address)
            raise

    def _new_call(self, exchange: _Exchange, visitor: Visitor, named: Mapping[str, str]) -> PageCall:
        incoming = exchange.incoming
        return PageCall(
            method=incoming.method,
            path=incoming.path.removeprefix(self._prefix) or "/",
            visitor=visitor,
            prefix=self._prefix,
            csrf=self._csrf.token(visitor.session),
            parts=named,
            # What is asked for may be shown again, such as the words of a search.
            query={name: self._scrub(value) for name, value in parse_fields(incoming.query, "query").items()},
            accept=incoming.accept,
        )

    def _with_body(self, exchange: _Exchange, call: PageCall, *, is_bearer: bool) -> PageCall:
        """Return the call with what was sent, when a page of ours or the owner of a bearer token sent it."""
        incoming, session = exchange.incoming, call.visitor.session
        if not is_bearer:
            check_sender(self._door, incoming)
        form: dict[str, str] = {}
        data: Any = None
        if exchange.is_api:
            if not is_bearer:
                self._csrf.check(session, incoming.csrf)
            data = parse_json(incoming, exchange.body)
        else:
            form = parse_form(incoming, exchange.body)
            self._csrf.check(session, form.pop(CSRF_FIELD, ""))
        return replace(call, form=form, json=data)

    async def _answer_public(self, exchange: _Exchange, methods: dict[str, PublicRoute]) -> Reply:
        incoming = exchange.incoming
        if not incoming.is_change:  # a right token is let in, whoever tried wrong ones at the same address
            self._take(self._strangers, incoming.address)
        route = methods.get("GET" if incoming.method == "HEAD" else incoming.method)
        if route is None:
            raise not_allowed_method(["HEAD", *methods] if "GET" in methods else list(methods))
        is_json = incoming.content_type == JSON
        exchange.is_api = route.is_api or is_json
        fields = parse_fields(incoming.query, "query")
        if incoming.is_change:
            check_sender(self._door, incoming)
            fields = _text_fields(incoming, exchange.body) if is_json else parse_form(incoming, exchange.body)

        async def visitor() -> Visitor | None:
            try:
                return await self._visitor(incoming, incoming.bearer)
            except NotAllowed:
                return None

        call = PublicCall(
            incoming.address, incoming.cookies, visitor, fields, is_json, incoming.accept, incoming.is_https
        )
        try:
            return await route.handler(call)
        except PageError:
            if incoming.is_change:
                self._take(self._strangers, incoming.address)
            raise

    def _to_login(self, exchange: _Exchange) -> Reply:
        incoming, url = exchange.incoming, self._door.login_url
        if exchange.is_api or not url:
            raise Unauthenticated(
                "Send a bearer token, or log in at the page." if exchange.is_api else "Open the printed address again."
            )
        page = incoming.path + (f"?{incoming.query}" if incoming.query else "")
        to = f"{url}{'&' if '?' in url else '?'}next={quote(page, safe='')}"
        return Reply(status=303 if incoming.is_change else 302, headers=(("Location", to),))

    def _tell(self, exchange: _Exchange, error: Exception) -> Reply:
        return error_reply(error, exchange.call, is_api=exchange.is_api, render=self._render_error, scrub=self._scrub)

    def _take(self, buckets: TokenBuckets, key: str) -> None:
        if seconds := buckets.take(key):
            raise too_many(seconds)


def _text_fields(incoming: Incoming, body: bytes) -> dict[str, str]:
    """Return the texts of a JSON object that was sent. Raises InvalidInput."""
    data = parse_json(incoming, body)
    if not isinstance(data, dict):
        raise InvalidInput("The body must be a JSON object.")
    return {name: value for name, value in data.items() if isinstance(value, str)}
