"""Makes the URL policy that the settings of the web describe."""

from __future__ import annotations

from assistant.config.web import WebConfig
from tools.web.fetch.url_policy import UrlOrigin, UrlPolicy


def policy_of(config: WebConfig) -> UrlPolicy:
    """Return the policy for the addresses that the settings allow."""
    return UrlPolicy(
        ports=frozenset(config.ports),
        allow_domains=frozenset(config.allow_domains),
        block_domains=frozenset(config.block_domains),
        url_origin=UrlOrigin(config.url_origin),
        allow_private=frozenset(own for own in config.allow_private if not isinstance(own, str)),
        private_names=frozenset(own for own in config.allow_private if isinstance(own, str)),
    )
