"""`mud-assistant health`, as a container runs it; and the log on standard error, which the container's engine keeps."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from mud_assistant.assistant.__main__ import main
from mud_assistant.assistant.config.gateway import GatewayConfig
from mud_assistant.assistant.config.sections import PageConfig
from mud_assistant.assistant.surfaces import health_check


@contextmanager
def answering(**statuses: int) -> Iterator[int]:
    """Answer /healthz and /readyz with these statuses, at the port that is given."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(statuses[self.path.strip("/").replace("/", "_")])
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_who_is_well_is_told_so_by_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(healthz=200, readyz=503) as port:
        assert main(["health", "--port", str(port)]) == 0
        assert capsys.readouterr().out == f"http://127.0.0.1:{port}/healthz answers 200\n"
        assert main(["health", "--port", str(port), "--ready"]) == 1
        assert capsys.readouterr().out == f"http://127.0.0.1:{port}/readyz answers 503\n"


def test_the_page_of_a_game_stands_below_a_path_of_its_own() -> None:
    with answering(assistants_healthz=200, healthz=404) as port:
        assert main(["health", "--port", str(port), "--path", "/assistants"]) == 0
        assert main(["health", "--port", str(port)]) == 1


def test_of_the_usual_ports_one_is_enough_and_none_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(healthz=200) as there, answering(healthz=500) as ill:
        with answering(healthz=200) as absent:
            pass
        for usual, status in (((there, absent), 0), ((absent, there), 0), ((there, ill), 1), ((absent,), 1)):
            monkeypatch.setattr(health_check, "USUAL_PORTS", usual)
            assert main(["health"]) == status
        assert main(["health", "--port", str(there), "--port", str(absent)]) == 1


def test_the_usual_ports_are_those_of_the_settings() -> None:
    assert (PageConfig().port, GatewayConfig().port) == health_check.USUAL_PORTS


def test_a_log_at_a_dash_goes_to_standard_error_without_keys(tmp_path: Path) -> None:
    program = """
from pathlib import Path
from twisted.logger import Logger
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.running import begin_logging
secrets = Secrets()
secrets.add("sk-a-secret-of-length")
begin_logging(Path("-"), secrets)
Logger().info("the key is sk-a-secret-of-length")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60, capture_output=True, text=True
    )
    assert "the key is " in done.stderr
    assert "sk-a-secret" not in done.stderr
    assert list(tmp_path.iterdir()) == []
