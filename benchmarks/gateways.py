"""The gateways that are compared, each a program of its own: ours, nginx, bare Twisted, and litellm's proxy."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import ConnectError
from twisted.internet.protocol import Protocol
from twisted.internet.task import deferLater

from benchmarks.canned import MODEL
from benchmarks.children import ROOT

#: How long a gateway may take until it answers, and how often it is looked, in seconds.
READY_SECONDS, LOOK_SECONDS = 120.0, 0.02
#: Names a Python that has litellm[proxy], whose pins do not go together with our lock file.
LITELLM = "BENCH_LITELLM_PYTHON"
#: In a clock's number: the CPU time of a process, as the kernel counts it (CPUCLOCK_SCHED).
_CPU_OF_PROCESS = 2

_NGINX = """daemon off; master_process off; pid {folder}/pid; error_log /dev/null;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  upstream model {{ server {upstream}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{port}; keepalive_requests 10000000; client_body_buffer_size 1m;
    location / {{
      proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    }}
  }}
}}
"""
_OURS = """[gateway.models.{name}]
provider = "local"
model = "{model}"
url = "{url}"
max_in_flight = 400
"""
#: The models by name, and the stub's path that each is asked at.
PATHS = {"whole": "/whole/plain/v1", "stream": "/plain/v1", "soon": "/wait~20/plain/v1"}


@dataclass(frozen=True, slots=True)
class Running:
    """A gateway that answers. It took `ready_seconds` from its start, and as much CPU as `ready_cpu_seconds`."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    key: str
    ready_seconds: float = 0.0
    ready_cpu_seconds: float = 0.0

    def cpu_seconds(self) -> float:
        """CPU time of the process until now."""
        return time.clock_gettime((~self.process.pid << 3) | _CPU_OF_PROCESS)

    def resident(self) -> float:
        """Bytes of the process in memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1])
        return float(pages * os.sysconf("SC_PAGE_SIZE"))


def present() -> list[str]:
    """The gateways that can be started here."""
    found = {"ours": True, "bare Twisted": True, "nginx": shutil.which("nginx"), "litellm": os.environ.get(LITELLM)}
    return [name for name, is_there in found.items() if is_there]


@asynccontextmanager
async def running(reactor: Any, name: str, url: str, compiled: Path) -> AsyncIterator[Running]:
    """Start a gateway before the stub at this URL, for as long as the block lasts.

    Byte code is kept in `compiled`, as an installation keeps it.
    """
    with TemporaryDirectory() as folder:
        port = _free_port()
        command, key = _prepare(name, Path(folder), port, url)
        path = "" if name == "litellm" else str(ROOT)
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(compiled), "NO_PROXY": "*"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        began = time.perf_counter()
        with (Path(folder) / "said").open("wb") as said:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=said)  # noqa: ASYNC220
        try:
            while not await _answers(reactor, port):
                if process.poll() is not None or time.perf_counter() - began > READY_SECONDS:
                    raise RuntimeError(f"{name}: {(Path(folder) / 'said').read_text(errors='replace')[-1500:]}")
                await deferLater(reactor, LOOK_SECONDS)
            found = Running(name, port, process, key)
            yield replace(found, ready_seconds=time.perf_counter() - began, ready_cpu_seconds=found.cpu_seconds())
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _prepare(name: str, folder: Path, port: int, url: str) -> tuple[Sequence[str], str]:
    """Write the settings, and return the command and the key that clients show."""
    match name:
        case "ours":
            return _prepare_ours(folder, port, url)
        case "bare Twisted":
            return [sys.executable, "-m", "benchmarks.bare_gateway", str(port), url], "any"
        case "nginx":
            upstream = url.removeprefix("http://")
            (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port, upstream=upstream))
            return ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)], "any"
    models = [_litellm_model(one, url + path) for one, path in PATHS.items()]
    key = f"sk-{secrets.token_hex(32)}"
    settings = {"model_list": models, "litellm_settings": {"telemetry": False}, "general_settings": {"master_key": key}}
    (folder / "litellm.yaml").write_text(json.dumps(settings))
    program = Path(os.environ[LITELLM]).parent / "litellm"
    config = str(folder / "litellm.yaml")
    return [str(program), "--config", config, "--port", str(port), "--host", "127.0.0.1"], key


def _prepare_ours(folder: Path, port: int, url: str) -> tuple[Sequence[str], str]:
    models = [_OURS.format(name=name, model=MODEL, url=url + path) for name, path in PATHS.items()]
    (folder / "assistant.toml").write_text("".join(models))
    command = [sys.executable, "-m", "mud_assistant", "gateway"]
    wide = ["--at-once", "2000", "--per-second", "100000"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    made = subprocess.run(
        [*command, "keys", "add", "bench", *wide], cwd=folder, env=environment, check=True, capture_output=True
    )
    key = re.search(rb"mak_\S+", made.stdout + made.stderr)
    assert key is not None
    return [*command, "--port", str(port)], key[0].decode()


def _litellm_model(name: str, url: str) -> dict[str, Any]:
    asked = {"model": f"hosted_vllm/{MODEL}", "api_base": url, "api_key": "sk-any"}
    return {"model_name": name, "litellm_params": asked}


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


async def _answers(reactor: Any, port: int) -> bool:
    try:
        wire = await connectProtocol(TCP4ClientEndpoint(reactor, "127.0.0.1", port), Protocol())
    except ConnectError:
        return False
    assert wire.transport is not None
    wire.transport.loseConnection()
    return True
