"""Turns the errors of Twisted and of TLS into those of this package. This is the only place that does."""

from __future__ import annotations

import sys

from twisted.internet.defer import CancelledError
from twisted.internet.error import ConnectError, ConnectingCancelledError, DNSLookupError

from mud_assistant.resilience.errors import ConnectFailed, ConnectionLost


def connect_error(error: BaseException | None, origin: str) -> Exception:
    """Return our error for the one that kept a connection from being made. CancelledError stays CancelledError."""
    if isinstance(error, CancelledError | ConnectingCancelledError):
        return CancelledError()
    if isinstance(error, DNSLookupError):
        return ConnectFailed(f"cannot find the host of {origin}", origin)
    if is_tls_error(error):
        said = f"the certificate of {origin} cannot be trusted: {_tls_reason(error)}"
        return ConnectFailed(said, origin, untrusted=_is_untrusted(error))
    if isinstance(error, ConnectError):
        return ConnectFailed(f"cannot connect to {origin}: {_reason(error)}", origin)
    return ConnectFailed(f"cannot reach {origin}: {type(error).__name__}", origin)


def lost_error(error: BaseException | None, origin: str) -> Exception:
    """Return our error for a connection that ended before anything of a response came.

    With TLS the handshake is a part of that: a certificate that cannot be trusted ends it.
    """
    if is_tls_error(error):
        return connect_error(error, origin)
    return ConnectionLost(f"{origin} closed the connection without an answer", origin)


def is_tls_error(error: BaseException | None) -> bool:
    """Tell whether TLS ended a connection. Its libraries are not loaded for that: only they raise its errors."""
    return _is_openssl(error) or _is_other_name(error)


def _is_openssl(error: BaseException | None) -> bool:
    module = sys.modules.get("OpenSSL.SSL")
    return module is not None and isinstance(error, module.Error)


def _is_other_name(error: BaseException | None) -> bool:
    module = sys.modules.get("service_identity")
    return module is not None and isinstance(error, module.VerificationError)


def _tls_reason(error: BaseException | None) -> str:
    """Return why a handshake failed: OpenSSL's words, or that the certificate is for another name."""
    if _is_other_name(error):
        return "it is for another name"
    said = error.args[0] if error is not None and error.args else ()
    words = [part for entry in said or () for part in entry if part]
    return words[-1] if words else "the connection ended within the handshake"


def _is_untrusted(error: BaseException | None) -> bool:
    """Tell whether the certificate failed, rather than the connection during the handshake."""
    return _is_other_name(error) or "certificate" in _tls_reason(error)


def _reason(error: ConnectError) -> str:
    """Return the operating system's words for a failed connection, or the kind of error."""
    return error.args[0] if error.args and isinstance(error.args[0], str) else (error.__doc__ or "").rstrip(".").lower()
