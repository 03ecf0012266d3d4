"""A worker that is stopped right before it acts, and whose session the server ends meanwhile, so that another follows.

`python -m tests.crash.shared.stopped FOLDER` prints a JSON object: acts out of turn, and how many there were of each.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.crash.forked import _never_return, now, print_report
from tests.crash.shared import worker
from tests.crash.shared.findings import lines_of, two_holders
from tests.crash.shared.worker import Shift
from tests.postgres import PostgresServer, make_server

#: So long after a start of the server a session that is missing is one that ended.
SETTLED_SECONDS = 10.5
#: How long something is waited for, and how long the stopped worker has to act once it goes on, in seconds.
PATIENCE, AFTERWARDS = 30.0, 1.0


def run(folder: Path) -> dict[str, Any]:
    """The whole of it."""
    server = make_server()
    try:
        time.sleep(SETTLED_SECONDS)  # noqa: TID251  (a process of its own)
        return _stop_and_follow(folder, server)
    finally:
        server.close()


def _stop_and_follow(folder: Path, server: PostgresServer) -> dict[str, Any]:
    url = server.url(server.new_schema())
    first = Shift(
        1, "first", folder, url, ("assistant:1",), at="before act", count=3, signal=signal.SIGSTOP, begins_known=True
    )
    stopped = _fork(first)
    _, status = os.waitpid(stopped, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
    server.end_sessions()
    second = _fork(Shift(2, "second", folder, url, ("assistant:1",)))
    _wait_for_act_of(2, folder)
    os.kill(stopped, signal.SIGCONT)
    time.sleep(AFTERWARDS)  # noqa: TID251  (a process of its own)
    for pid in (stopped, second):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    acts = lines_of(folder / "acts")
    return {"out of turn": two_holders(acts), "acts": dict(Counter(f"of {line[0]}" for line in acts))}


def _wait_for_act_of(number: int, folder: Path) -> None:
    until = now() + PATIENCE
    while not any(line[0] == number for line in lines_of(folder / "acts")):
        assert now() < until, "nobody followed"
        time.sleep(0.02)  # noqa: TID251  (a process of its own)


def _fork(shift: Shift) -> int:
    pid = os.fork()
    if not pid:
        _never_return(lambda: worker.live(shift))
    return pid


if __name__ == "__main__":
    print_report(lambda: run(Path(sys.argv[1])))
