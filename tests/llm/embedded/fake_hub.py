"""A hub on loopback that answers as Hugging Face does, with a second server that holds the files."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from mud_assistant.llm.embedded.gguf import CHAT_TEMPLATE

REPOSITORY = "tiny/Tiny-GGUF"


def model_file(template: str = "{{ messages }}", size: int = 9_000) -> bytes:
    """A GGUF file with a header and numbers behind it."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    entries = [text(CHAT_TEMPLATE) + struct.pack("<I", 8) + text(template)] if template else []
    head = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(entries)) + b"".join(entries)
    return head + bytes(number % 251 for number in range(size))


@dataclass
class FakeHub:
    """What the hub holds, what it does wrong, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=lambda: {"Tiny-Q4_K_M.gguf": model_file()})
    licence: str = "apache-2.0"
    #: Whether it tells the SHA-256 of each file, and what it says in place of the true one.
    tells_hash: bool = True
    other_hash: str = ""
    #: The key it wants, and what it answers without: a status and an error code.
    token: str = ""
    refusal: tuple[int, str] = (401, "GatedRepo")
    #: Bytes after which each of the next answers with a file breaks off.
    breaks: list[int] = field(default_factory=list)
    #: Where files are sent to, the other server unless it is set.
    moved_to: str = ""
    url: str = ""
    #: Each request: the server, the path, the range, and the key that came with it.
    asked: list[tuple[str, str, str, str]] = field(default_factory=list)

    def keys(self, server: str) -> set[str]:
        """The keys that a server was sent."""
        return {key for name, _, _, key in self.asked if name == server}


@contextmanager
def hub_on_loopback() -> Iterator[FakeHub]:
    """A hub that runs until the end of the block."""
    told = FakeHub()

    def handler(name: str) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                key = self.headers.get("Authorization", "")
                told.asked.append((name, self.path, self.headers.get("Range", ""), key))
                (_api if name == "hub" else _store)(self, told)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
                pass

        return Handler

    with (
        ThreadingHTTPServer(("127.0.0.1", 0), handler("hub")) as hub,
        ThreadingHTTPServer(("127.0.0.1", 0), handler("store")) as store,
    ):
        told.url = f"http://127.0.0.1:{hub.server_port}"
        told.moved_to = f"http://localhost:{store.server_port}"
        threads = [Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}) for one in (hub, store)]
        for thread in threads:
            thread.start()
        yield told
        for one in (hub, store):
            one.shutdown()
        for thread in threads:
            thread.join()


def _api(handler: BaseHTTPRequestHandler, told: FakeHub) -> None:
    path, _, _ = handler.path.partition("?")
    if told.token and handler.headers.get("Authorization") != f"Bearer {told.token}":
        _send(handler, told.refusal[0], b"{}", {"X-Error-Code": told.refusal[1]})
    elif path == f"/api/models/{REPOSITORY}":
        about: dict[str, object] = {
            "id": REPOSITORY,
            "cardData": {"license": told.licence} if told.licence else None,
            "tags": [],
        }
        _send(handler, 200, json.dumps(about).encode())
    elif path == f"/api/models/{REPOSITORY}/tree/main":
        _send(handler, 200, json.dumps([_entry(told, *file) for file in told.files.items()]).encode())
    elif path.startswith(f"/{REPOSITORY}/resolve/main/"):
        _send(handler, 302, b"", {"Location": f"{told.moved_to}/{path.rpartition('/main/')[2]}"})
    else:
        _send(handler, 401, b'{"error": "Invalid username or password."}', {"X-Error-Code": "RepoNotFound"})


def _entry(told: FakeHub, path: str, content: bytes) -> dict[str, object]:
    found = {"type": "file", "path": path, "size": len(content), "oid": "0" * 40}
    oid = told.other_hash or sha256(content).hexdigest()
    return {**found, "lfs": {"oid": oid, "size": len(content)}} if told.tells_hash else found


def _store(handler: BaseHTTPRequestHandler, told: FakeHub) -> None:
    content = told.files.get(handler.path.lstrip("/").replace("%20", " "), b"")
    start = int(re.sub(r"\D", "", handler.headers.get("Range", "")) or 0)
    more = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
    body = content[start:]
    _send(handler, 206 if start else 200, body, more, told.breaks.pop(0) if told.breaks else len(body))


def _send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    headers: dict[str, str] | None = None,
    most: int = 10**9,
) -> None:
    handler.send_response(status)
    for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body[:most])
