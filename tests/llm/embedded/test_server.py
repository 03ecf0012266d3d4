from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mud_assistant.llm.embedded.child import child_environment
from mud_assistant.llm.embedded.server import KEY_VARIABLE, LOOPBACK, default_threads, free_port
from tests.llm.embedded.test_gguf import SMALL

#: A library that shows what it was given instead of loading a model.
FAKE_LIBRARY = """
import http.server, json, os, sys, threading
from types import SimpleNamespace


llama_pooling_type = SimpleNamespace(LLAMA_POOLING_TYPE_MEAN="mean")


class CommonParams(SimpleNamespace):
    def __init__(self):
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


class Server:
    def __init__(self, params):
        if os.environ.get("FAULT") == "abort":
            os.write(2, b"0.01 E GGML_ASSERT failed\\n")
            os.abort()
        if os.environ.get("FAULT") == "load":
            raise RuntimeError("Failed to init server, please check the input params.")
        given = {name: value for name, value in vars(params).items() if not isinstance(value, SimpleNamespace)}
        given["omp"] = os.environ["OMP_WAIT_POLICY"]
        given["key_in_environment"] = "MUD_ASSISTANT_EMBEDDED_KEY" in os.environ
        print(json.dumps(given, default=list), file=sys.stderr, flush=True)
        server = http.server.HTTPServer(("127.0.0.1", params.port), Health)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{server.server_port}"

    def __del__(self):
        if hasattr(self, "listening_address"):
            os._exit(70)  # the real one may wait here for ever
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    path.write_bytes(SMALL)
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "xllamacpp.py").write_text(FAKE_LIBRARY)
    inherited = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    return inherited | {"PYTHONPATH": str(tmp_path), KEY_VARIABLE: "planted-key"}


def serve(model: Path, environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "mud_assistant.llm.embedded.server", "--model", str(model), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=child_environment(environment),
    )


def refused(model: Path, environment: dict[str, str]) -> dict[str, object]:
    """The one line of a server that does not start."""
    with serve(model, environment) as process:
        output, _ = process.communicate()
    assert process.returncode == 1
    line: dict[str, object] = json.loads(output)
    return line


def test_serves_as_the_library_is_to_be_set_and_ends_with_its_stdin(model: Path, environment: dict[str, str]) -> None:
    with serve(model, environment, "--ctx", "512") as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        _, errors = process.communicate()

    given = json.loads(errors)
    assert ready["url"].startswith(f"http://{LOOPBACK}:")
    assert (ready["model"], ready["own_template"]) == ("small", False)
    assert given["hostnames"] == [LOOPBACK]
    assert (given["n_ctx"], given["n_parallel"], given["port"]) == (512, 1, 0)
    assert (given["ui"], given["offline"], given["endpoint_slots"]) == (False, True, False)
    assert (given["api_keys"], given["key_in_environment"]) == (["planted-key"], False)
    assert given["omp"] == "PASSIVE"
    assert "chat_template" not in given
    assert process.returncode == 0


def test_ends_on_sigterm(model: Path, environment: dict[str, str]) -> None:
    with serve(model, environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        process.wait()

    assert process.returncode == -15


def test_refuses_to_serve_without_a_key(model: Path, environment: dict[str, str]) -> None:
    del environment[KEY_VARIABLE]

    assert KEY_VARIABLE in str(refused(model, environment)["error"])


def test_says_that_the_library_is_missing(model: Path, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError\n")

    assert "mud-assistant[embedded]" in str(refused(model, environment)["error"])


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "no such file"), (b"", "empty"), (b"PK" * 50, "not a GGUF"), (SMALL[:-9], "cut off")],
)
def test_says_what_is_wrong_with_the_model_file(
    tmp_path: Path,
    environment: dict[str, str],
    content: bytes | None,
    reason: str,
) -> None:
    path = tmp_path / "odd.gguf"
    if content is not None:
        path.write_bytes(content)

    assert reason in str(refused(path, environment)["error"])


def test_points_to_stderr_when_only_the_library_knows_the_cause(model: Path, environment: dict[str, str]) -> None:
    line = refused(model, environment | {"FAULT": "load"})

    assert line == {"error": "the model file small.gguf could not be loaded", "see_stderr": True}


def test_keeps_the_wanted_port_only_when_it_is_free() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) == 0

    assert free_port(port) == port
    assert free_port(0) == 0


def test_uses_some_but_not_all_of_a_large_machine() -> None:
    assert 1 <= default_threads() <= 4


def test_serves_vectors_in_batches_as_long_as_the_context(model: Path, environment: dict[str, str]) -> None:
    with serve(model, environment, "--embeddings", "--ctx", "4096") as process:
        assert process.stdout is not None
        process.stdout.readline()
        _, errors = process.communicate()

    given = json.loads(errors)
    assert (given["embedding"], given["pooling_type"]) == (True, "mean")
    assert given["n_ctx"] == given["n_batch"] == given["n_ubatch"] == 512
