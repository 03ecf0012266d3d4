"""Leaves a secret out of a stream of bytes, however its pieces were cut."""

from __future__ import annotations

_MARK = b"[key]"


class StreamRedactor:
    """A filter of one stream. Only the end of a piece that may begin the secret is held, until the next one."""

    def __init__(self, secret: bytes) -> None:
        """Take the secret, empty for none."""
        self._secret = secret
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Return what of the stream can be handed on by now."""
        secret = self._secret
        if not secret:
            return piece
        data = self._held + piece if self._held else piece
        if secret in data:
            data = data.replace(secret, _MARK)
        at = data.find(secret[:1], max(0, len(data) - len(secret) + 1))
        while at >= 0 and not secret.startswith(data[at:]):
            at = data.find(secret[:1], at + 1)
        if at < 0:
            self._held = b""
            return data
        self._held = data[at:]
        return data[:at]

    def rest(self) -> bytes:
        """Return what is held, at the end of a stream that is whole."""
        held, self._held = self._held, b""
        return held
