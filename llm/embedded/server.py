"""The child process that serves the model on loopback: `python -m mud_assistant.llm.embedded.server --model PATH`.

It is a process of its own for three reasons. Loading holds the interpreter for seconds; an abort in C++ must not take
the game down; and the library reads a setting when it is loaded. It writes one JSON line: where it listens, or why it
cannot. It ends on SIGTERM, when its stdin is closed, and with its parent.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from mud_assistant.llm.embedded.errors import BadModelFile, EmbeddedError, UnknownTemplate
from mud_assistant.llm.embedded.gguf import CHAT_TEMPLATE, read_file_strings, tool_template
from mud_assistant.llm.embedded.machine import free_bytes, usable_cores
from mud_assistant.llm.embedded.progress import Reporter
from mud_assistant.resilience.child import die_with_parent, wait_for_parent_to_go

KEY_VARIABLE = "MUD_ASSISTANT_EMBEDDED_KEY"
#: Without this, idle threads spin, and on a shared machine the model falls to a tenth of its speed.
PASSIVE_WAITING = ("OMP_WAIT_POLICY", "PASSIVE")
LOOPBACK = "127.0.0.1"
#: What holds llama.cpp, and what is said where it is absent.
LIBRARY = "xllamacpp"
NO_LIBRARY = (
    "the package xllamacpp is not installed or does not run here; "
    "install it with: pip install 'mud-assistant[embedded]'"
)

#: How much of earlier conversations is kept for reuse, in MiB. The library's own default is 8 GiB.
_CACHE_MIB = 512
#: How many tokens of a prompt are read at once.
_READ_TOKENS = 64
_HEALTH_SECONDS = 10.0
_WARNINGS = 2
#: The context of a model of sentence vectors, in tokens. It reads a text at once, so all its batches are as long.
EMBEDDING_TOKENS = 512
#: The game's own process has priority when both need the processor.
_NICENESS = 5


class CannotServe(EmbeddedError):
    """The server cannot start. `see_stderr`: the library wrote the exact cause there."""

    def __init__(self, sentence: str, *, see_stderr: bool = False) -> None:
        super().__init__(sentence)
        self.see_stderr = see_stderr


def serve(options: Namespace, key: str, report: Reporter) -> None:
    """Start the server, announce it on stdout and end the process when the parent goes. Raises CannotServe."""
    path: Path = options.model
    try:
        template = read_file_strings(path, {CHAT_TEMPLATE}).get(CHAT_TEMPLATE, "")
    except BadModelFile as error:
        raise CannotServe(f"the model file {path.name} cannot be used: {error}") from error
    _require_memory(path)
    try:
        own_template = tool_template(template)
    except UnknownTemplate:
        own_template = ""  # a model that the owner chose keeps its own template
    server = _start(_library(), options, key, own_template)
    url = str(server.listening_address)
    _require_health(url)
    report.ready(url, path.stem, own_template=bool(own_template))
    wait_for_parent_to_go()
    # The server is still held: its clean-up waits for a loop, and one that is told to end before it runs never ends.
    os._exit(0)


def _library() -> Any:
    # Must stay before the import: the library reads it while it is loaded.
    os.environ.setdefault(*PASSIVE_WAITING)
    try:
        return importlib.import_module(LIBRARY)
    except ImportError as error:
        raise CannotServe(NO_LIBRARY) from error


def _start(library: Any, options: Namespace, key: str, template: str) -> Any:
    params = library.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.model.stem}
    params.n_ctx, params.n_parallel = options.ctx, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.hostnames, params.port = [LOOPBACK], free_port(options.port)
    params.api_keys = [key]
    params.ui, params.offline, params.endpoint_slots = False, True, False
    params.n_batch = params.n_ubatch = _READ_TOKENS  # a call that is ended stops within one of these
    params.verbosity, params.cache_ram_mib = _WARNINGS, _CACHE_MIB
    # A model that can think aloud would think away the whole of a short answer.
    params.enable_reasoning = 0
    if template:
        params.chat_template = template
    if options.embeddings:
        params.embedding, params.pooling_type = True, library.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        params.n_ctx = params.n_batch = params.n_ubatch = EMBEDDING_TOKENS
    try:
        return library.Server(params)
    except (RuntimeError, MemoryError) as error:
        raise CannotServe(f"the model file {options.model.name} could not be loaded", see_stderr=True) from error


def free_port(wanted: int) -> int:
    """Return the wanted port, or 0 (any) when another process has it."""
    with socket.socket() as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, wanted))
        except OSError:
            return 0
    return wanted


def _require_memory(path: Path) -> None:
    """Check that the model fits. Raises CannotServe when the system says that it does not."""
    free = free_bytes()
    need = path.stat().st_size * 5 // 4
    if free is not None and free < need:
        raise CannotServe(
            f"there is not enough memory: {path.name} needs about {need // 1_000_000} MB "
            f"and {free // 1_000_000} MB are free",
        )


def _require_health(url: str) -> None:
    try:
        with build_opener(ProxyHandler({})).open(f"{url}/health", timeout=_HEALTH_SECONDS):
            return
    except (URLError, OSError) as error:
        raise CannotServe(f"the server started and does not answer ({error})") from error


def default_threads() -> int:
    """Return how many processors this process may use, at most 4."""
    return min(usable_cores(), 4)


def main(arguments: Sequence[str]) -> int:
    """Serve until the parent goes, which ends the process. Return the exit status 1 when it could not serve."""
    parser = ArgumentParser(
        prog="python -m mud_assistant.llm.embedded.server", description="Serve a model on loopback."
    )
    parser.add_argument("--model", type=Path, required=True, help="GGUF file")
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--ctx", type=int, default=4096, help="context length in tokens")
    parser.add_argument("--port", type=int, default=0, help="port to use when it is free; 0 for any")
    parser.add_argument("--embeddings", action="store_true", help="serve sentence vectors, in a context of its own")
    options = parser.parse_args(arguments)
    # The default action needs no interpreter, which loading holds for seconds. There is nothing to tidy up.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not sys.stdin.isatty():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the parent, which ends us
    die_with_parent(signal.SIGTERM)
    report = Reporter(sys.stdout, perf_counter)
    key = os.environ.pop(KEY_VARIABLE, "")
    if not key:
        report.error(f"the environment variable {KEY_VARIABLE} must hold the key of the server")
        return 1
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    try:
        serve(options, key, report)
    except CannotServe as error:
        report.error(str(error), see_stderr=error.see_stderr)
    return 1


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
