"""The embedding model of `benchmarks.recall --vectors`: the embedded one, in a child, or a server on this machine."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from mud_assistant.assistant.memory.recall import Vector, make_vector
from mud_assistant.llm.embedded.fetching.models import default_data_dir
from mud_assistant.llm.embedded.server import KEY_VARIABLE

#: The seconds one request of at most 32 lines may take.
_TIMEOUT = 120.0
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
#: The file that a fetch of the embedded model of sentence vectors leaves in the folder of models.
MODEL_FILE = "all-minilm-l6-v2-q8_0.gguf"
#: The model reads so much of a text with profit, in characters (256 tokens).
_READ = 1_000
Embed = Callable[[Sequence[str]], list[Vector | None]]


@contextmanager
def open_embedder(address: str) -> Iterator[Embed | None]:
    """Give a function that returns the vectors of texts, or None, after saying why, when there is no model.

    `address` is a server on this machine without its path (`http://127.0.0.1:8080`); empty for the embedded model,
    which must have been fetched. Its process ends with the context.
    """
    if address:
        yield _connect(address, "")
        return
    model = default_data_dir() / MODEL_FILE
    if not model.exists():
        print(f"--vectors: {MODEL_FILE} was not fetched yet, so words only", file=sys.stderr)
        yield None
        return
    key = secrets.token_hex(16)
    command = (sys.executable, "-m", "mud_assistant.llm.embedded.server", "--embeddings", "--model", str(model))
    # The server ends when its standard input does.
    environment = {**os.environ, KEY_VARIABLE: key}
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=nowhere) as child:
        try:
            yield _connect(_read_address(child), key)
        finally:
            child.kill()


def _read_address(child: subprocess.Popen[str]) -> str:
    for line in child.stdout or ():
        try:
            url = json.loads(line).get("url")
        except ValueError:
            continue
        if isinstance(url, str):
            return url
    return ""


def _connect(address: str, key: str) -> Embed | None:
    if urlsplit(address).hostname not in _LOOPBACK:
        print("--vectors: no server of embeddings answers on this machine, so words only", file=sys.stderr)
        return None
    opener = build_opener(ProxyHandler({}))
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    url = f"{address.rstrip('/').removesuffix('/v1')}/v1/embeddings"

    def embed(texts: Sequence[str]) -> list[Vector | None]:
        body = json.dumps({"input": [text[:_READ] or "-" for text in texts], "model": "sentences"}).encode()
        with opener.open(Request(url, body, headers), timeout=_TIMEOUT) as answer:  # noqa: S310 - it is on loopback
            rows = sorted(json.load(answer)["data"], key=lambda row: int(row["index"]))
        return [make_vector("sentences", row["embedding"]) for row in rows]

    try:
        embed(["a line"])
    except (OSError, ValueError, KeyError) as error:
        print(f"--vectors: there is no embedding model ({error}), so words only", file=sys.stderr)
        return None
    return embed
