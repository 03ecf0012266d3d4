"""The password of the journal's database. It may be changed while processes run, so each connection reads it anew.

Imported only where the journal is in PostgreSQL.
"""

from __future__ import annotations

from twisted.logger import Logger

from assistant.errors import KeyReferenceError
from assistant.keys.reference import KeySources, read_key, resolve_key

_log = Logger()


class Password:
    """The password behind a reference. Call `unlock` first, then the instance itself, on any thread."""

    def __init__(self, reference: str, keys: KeySources) -> None:
        self._reference = reference
        self._keys = keys
        #: The last one that could be read.
        self._last: str | None = None

    async def unlock(self) -> None:
        """Read it for the first time. Raises KeyReferenceError."""
        self._last = await resolve_key(self._reference, self._keys) or None

    def __call__(self) -> str | None:
        """Return the password as it is now, None for none. Blocks.

        A keyring is not asked again, since a person may have to unlock it. One that cannot be read now, as in the
        middle of a change, is the last one that could.
        """
        if self._reference.startswith(("env:", "file:")):
            try:
                self._last = read_key(self._reference, self._keys)
            except KeyReferenceError as error:
                _log.warn("the password of the journal cannot be read again: {why}", why=str(error))
        return self._last
