"""Judges where a URL leads: its name is resolved once, and every answer is checked against the table of addresses."""

from __future__ import annotations

import re

from twisted.logger import Logger

from tools.text.clean import one_line
from tools.web.errors import ErrorKind, WebError
from tools.web.fetch.addresses import Address, Rule, judge, parse_address
from tools.web.fetch.resolve import Resolver
from tools.web.fetch.seen import SeenUrls
from tools.web.fetch.url import MAX_URL_CHARS, SafeUrl, UrlOrigin, UrlPolicy, UrlRefused, parse

_log = Logger()
_AUTHORITY_END = re.compile(r"[/?#\\]")


class UrlJudge:
    """Decides what may be asked for under a policy, in the same way for our own fetcher and for remote readers."""

    def __init__(self, policy: UrlPolicy, resolver: Resolver) -> None:
        self.policy = policy
        self._resolver = resolver

    def admit(self, url: str, seen: SeenUrls | None = None) -> SafeUrl:
        """Return the parsed URL that the model gave, if its text may be asked for. Raises UrlRefused.

        `seen` are the URLs that were shown; without them the policy `url_origin: seen` admits none.
        """
        try:
            safe = parse(url, self.policy)
            self._require_shown(safe, seen)
        except UrlRefused as refused:
            log_refusal(refused.rule, _loggable(url))
            raise
        return safe

    def _require_shown(self, url: SafeUrl, seen: SeenUrls | None) -> None:
        if self.policy.url_origin is UrlOrigin.SEEN and (seen is None or url not in seen):
            raise UrlRefused("not in a search result or a player's message")

    async def addresses(self, url: SafeUrl) -> tuple[Address, ...]:
        """Return the addresses `url` may be connected to: all that its name resolves to.

        Raises WebError if any one of them is refused.
        """
        literal = url.address
        answers = await self._resolver.resolve(url.host) if literal is None else [str(literal)]
        allowed = self.policy.allow_private if literal is not None else self.policy.allowed_for(url.host)
        judged: list[Address] = []
        for answer in answers:
            rule = judge(answer, nat64=self.policy.nat64, allowed=allowed)
            address = parse_address(answer)
            if rule is not None or address is None:
                refused = rule or Rule("no address")
                log_refusal(refused.name, url.origin, answer, str(refused.network or ""))
                raise UrlRefused(refused.name)
            judged.append(address)
        if not judged:
            raise WebError(ErrorKind.NETWORK, f"the name {url.host} was not found")
        return tuple(judged)


async def judge_for_reader(url: str, policy: UrlPolicy, seen: SeenUrls | None, resolver: Resolver) -> SafeUrl:
    """Judge a URL for a remote reader as our own fetcher would, and return it. Raises WebError.

    A remote reader cannot reach our network, but it must not learn of it, nor be sent what the model composed.
    """
    judge_of_urls = UrlJudge(policy, resolver)
    safe = judge_of_urls.admit(url, seen)
    await judge_of_urls.addresses(safe)
    return safe


def log_refusal(rule: str, origin: str = "", address: str = "", network: str = "") -> None:
    """Log for the operator what the model is not told."""
    _log.warn(
        "a page was refused: {rule} {origin} {address} {network}",
        log_event="web_refused",
        rule=rule,
        origin=origin,
        address=address,
        network=network,
    )


def _loggable(url: str) -> str:
    """Return the part of an unreadable URL that may be logged: scheme and host, without user name, path or query."""
    scheme, separator, rest = url[:MAX_URL_CHARS].partition("://")
    if not separator:
        return ""
    return one_line(f"{scheme}://{_AUTHORITY_END.split(rest, maxsplit=1)[0].rpartition('@')[2]}", max_chars=100)
