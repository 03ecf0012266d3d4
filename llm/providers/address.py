"""Where a provider's server is, and the key that goes there and nowhere else."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from hashlib import blake2b

from twisted.web.http_headers import Headers

from mud_assistant.llm.wire.redacting import StreamRedactor
from mud_assistant.resilience import origin_of

#: Makes the derived names of keys useless outside this process.
_SALT = secrets.token_bytes(16)


class KeyedAddress(ABC):
    """A base URL, `api_url`, with a key of its own."""

    @abstractmethod
    def get_api_url(self) -> str:
        """Return the URL of the chat endpoint."""

    def rebind(self, api_url: str, key: str) -> None:
        """Use another address with a key of its own. A key is sent only to the origin it was given with."""
        self.api_url = api_url.rstrip("/")
        self._secret = key
        #: The headers of a call, and the address, the key with its origin, and the options they were made for.
        self._made_headers: tuple[tuple[str, str, str, str], Headers] | None = None
        self._bound_to = origin_of(self.api_url)
        #: A name for the key that reveals nothing of it. It differs for each key and process; empty without a key.
        self.credential = blake2b(key.encode(), key=_SALT, digest_size=6).hexdigest() if key else ""

    def give_key(self, key: str) -> bool:
        """Use this key from now on, for the same address as the old one. Return True when the key has changed."""
        if not key or key == self._secret or origin_of(self.get_api_url()) != self._bound_to:
            return False
        self.rebind(self.api_url, key)
        return True

    @property
    def _key(self) -> str:
        """The key for the address in use, empty when it was given for another origin."""
        return self._secret if origin_of(self.get_api_url()) == self._bound_to else ""

    def redact(self, text: str) -> str:
        """Return the text without the key, which some servers repeat in their errors."""
        if not self._secret:
            return text
        return self.redact_body(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def redact_body(self, body: bytes) -> bytes:
        """Return a body without the key. Do this before an error takes a part of it: half a key could not be found."""
        return self.redactor().whole(body)

    def redactor(self) -> StreamRedactor:
        """Return what leaves the key out of one stream that is handed on as it comes."""
        return StreamRedactor(self._secret.encode())
