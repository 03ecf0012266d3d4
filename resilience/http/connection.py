"""One connection to a server: it sends a request, reads the response, and may then be used again."""

from __future__ import annotations

from collections.abc import Callable
from socket import MSG_PEEK
from typing import Any

from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IDelayedCall, IPushProducer, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.tcp import Client
from twisted.python.failure import Failure
from zope.interface import implementer

from mud_assistant.resilience.errors import BodyTooLarge, ConnectionLost
from mud_assistant.resilience.http.failures import lost_error
from mud_assistant.resilience.http.response import MAX_HEAD_BYTES, HeadTooLong, MalformedResponse, ResponseReader
from mud_assistant.resilience.http.transfer import Transfer

#: A longer body is sent in pieces of this many bytes, as fast as the server reads it.
PIECE_BYTES = 96 * 1024
#: Seconds a server has to take its leave before the connection is reset.
CLOSE_SECONDS = 1.0


class HttpConnection(Protocol):
    """A connection with one exchange at a time.

    `on_free` is called when it may be used again, `on_lost` when it is gone.
    """

    transport: Any

    def __init__(
        self,
        origin: str,
        clock: IReactorTime,
        on_free: Callable[[HttpConnection], None],
        on_lost: Callable[[HttpConnection], None],
    ) -> None:
        self._origin = origin
        self._clock = clock
        self._on_free = on_free
        self._on_lost = on_lost
        self._reader = ResponseReader()
        self._transfer: Transfer | None = None
        self._writer: _BodyWriter | None = None
        self._closing: IDelayedCall | None = None
        #: Whether nothing stands between us and the socket, and all that was written has left.
        self._sends_at_once = False
        #: Whether any byte came since the last request.
        self.has_heard = False
        #: Whether a request may be sent: it was not closed by either side.
        self.is_open = True

    def connectionMade(self) -> None:
        """Send small writes at once: each of them is a whole request."""
        self.transport.setTcpNoDelay(True)
        self._sends_at_once = isinstance(self.transport, Client) and self._origin.startswith("http:")

    def is_quiet(self) -> bool:
        """Tell whether nothing came since the last response: no byte, and no end of the connection.

        What came after it answers no request of ours, and would be read as the answer to the next one. It may still lie
        in the socket, where a busy process has not looked yet, or in the TLS layer, which hands on a record at a time.
        """
        secured = None if isinstance(self.transport, Client) else self.transport
        tcp = self.transport if secured is None else getattr(secured, "transport", None)
        if not isinstance(tcp, Client):
            return True  # a transport in memory: it holds nothing back
        try:
            tcp.socket.recv(1, MSG_PEEK)
        except BlockingIOError:
            return secured is None or _has_no_record(secured.getHandle())
        except OSError:
            return False
        return False

    def send(self, head: bytes, body: bytes, transfer: Transfer, *, expects_body: bool = True) -> None:
        """Send a request, and feed its response to `transfer`."""
        self._reader.begin(expects_body=expects_body)
        self.has_heard = False
        self._transfer = transfer
        transfer.abort = self.abort
        transfer.read = self._read
        if len(body) <= PIECE_BYTES:
            self._writer = None
            self._write(head + body)
        else:
            self._sends_at_once = False
            self._writer = _BodyWriter(self.transport, head, body)

    def abort(self) -> None:
        """Reset the connection."""
        self.is_open = False
        self.transport.abortConnection()

    def close(self) -> None:
        """Close the connection, which is not in use. It is reset when the server does not let it go."""
        if self.is_open:
            self.is_open = False
            self._closing = self._clock.callLater(CLOSE_SECONDS, self.abort)
            self.transport.loseConnection()

    def dataReceived(self, data: bytes) -> None:
        """Read a part of the response. Bytes that belong to no response end the connection."""
        transfer, reader = self._transfer, self._reader
        if transfer is None:
            self.abort()
            return
        if transfer.has_failed:
            return
        self.has_heard = True
        try:
            reader.feed(data)
        except (MalformedResponse, HeadTooLong) as error:
            self._give(transfer)
            if transfer.is_wanted:
                transfer.fail(self._unreadable(error, transfer))
            else:
                self.abort()
            return
        if transfer.has_head and len(reader.pieces) == 1:  # as nearly all reads are
            transfer.data(reader.pieces.pop())
        else:
            self._give(transfer)
        if reader.is_complete:
            self._complete(transfer)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End the exchange under way."""
        self.is_open = False
        if self._closing is not None and self._closing.active():
            self._closing.cancel()
        self._stop_writing()
        transfer, self._transfer = self._transfer, None
        self._on_lost(self)
        if transfer is not None:
            # A reset, or TLS without its farewell, may have cut a body that ends with the connection.
            if reason.check(ConnectionDone) and self._reader.ends_with_connection():
                transfer.ended()
            else:
                transfer.lost(self._lost(reason, transfer))
        self._reader.close()

    def _write(self, data: bytes) -> None:
        """Send at once what the socket takes; the transport waits for the reactor first, and sends the rest."""
        if self._sends_at_once:
            sent = self.transport.writeSomeData(data)
            if sent == len(data):
                return
            self._sends_at_once = False
            data = data[sent:] if isinstance(sent, int) else data  # the transport finds out itself what is wrong
        self.transport.write(data)

    def _give(self, transfer: Transfer) -> None:
        """Hand on what was read."""
        reader = self._reader
        if not transfer.has_head and reader.head is not None:
            transfer.head(reader.head)
        if reader.pieces:
            data = b"".join(reader.pieces)
            reader.pieces.clear()
            transfer.data(data)

    def _complete(self, transfer: Transfer) -> None:
        """Let the connection be used again, or close it. A transfer that failed has reset it already."""
        if transfer.has_failed:
            return
        self._transfer = None
        transfer.abort = transfer.read = None
        if transfer.is_waiting:
            self.transport.resumeProducing()
        if self._writer is not None and not self._writer.is_done:
            self._stop_writing()  # an early answer: the server does not want the rest
            self.abort()
        elif self._reader.can_keep:
            self._on_free(self)
        else:
            self.close()
        transfer.ended()

    def _lost(self, reason: Failure, transfer: Transfer) -> Exception:
        if transfer.has_head:
            return ConnectionLost(f"{self._origin} closed the connection early", self._origin, began=True)
        return lost_error(reason.value, self._origin)

    def _unreadable(self, error: MalformedResponse | HeadTooLong, transfer: Transfer) -> Exception:
        if isinstance(error, HeadTooLong):
            said = f"{self._origin} sent a head of more than {MAX_HEAD_BYTES} bytes"
            return BodyTooLarge(said, self._origin, MAX_HEAD_BYTES)
        said = f"{self._origin} sent what is not HTTP: {error}"
        return ConnectionLost(said, self._origin, began=transfer.has_head)

    def _read(self, is_wanted: bool) -> None:
        """Read on, or let the server wait."""
        if not self.is_open:
            return
        if is_wanted:
            self.transport.resumeProducing()
        else:
            self.transport.pauseProducing()

    def _stop_writing(self) -> None:
        if self._writer is not None:
            self._writer.stopProducing()
            self._writer = None


def _has_no_record(secured: Any) -> bool:
    """Tell whether the TLS layer, a connection of OpenSSL, has nothing more to hand on."""
    from OpenSSL import SSL  # noqa: PLC0415  (needed by who uses TLS, and loaded by then)

    try:
        secured.recv(1, MSG_PEEK)
    except SSL.WantReadError:
        return True
    except SSL.Error:
        return False
    return False


@implementer(IPushProducer)
class _BodyWriter:
    """Writes a long body as fast as it is read: a copy of all of it never waits in the transport."""

    def __init__(self, transport: Any, head: bytes, body: bytes) -> None:
        self._transport = transport
        self._body: memoryview | None = memoryview(body)
        self._is_paused = False
        self.is_done = False
        transport.registerProducer(self, True)
        transport.write(head)
        self.resumeProducing()

    def resumeProducing(self) -> None:
        """Write until the transport has enough."""
        self._is_paused = False
        while self._body is not None and not self._is_paused:
            piece, self._body = self._body[:PIECE_BYTES], self._body[PIECE_BYTES:]
            self._transport.write(bytes(piece))
            if not self._body:
                self.stopProducing()
                self.is_done = True

    def pauseProducing(self) -> None:
        """Write no more for now."""
        self._is_paused = True

    def stopProducing(self) -> None:
        """Write no more at all."""
        if self._body is not None:
            self._body = None
            self._transport.unregisterProducer()
