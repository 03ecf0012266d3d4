"""Processes that share a journal on PostgreSQL, and everything that can happen to them, to their lines and the server.

`python -m tests.crash.shared.matrix FOLDER KILLS SERVERS HANGS SEED` prints a JSON object: what is wrong, and what was
counted.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

from tests.crash.forked import _never_return, now, print_report
from tests.crash.shared import findings, worker
from tests.crash.shared.cutting import KINDS, Cutter
from tests.crash.shared.findings import Blow
from tests.crash.shared.worker import BOUNDARIES, Shift
from tests.postgres import make_server

WORKERS, ASSISTANTS = 4, 40
#: How long a worker hangs: longer than a lease holds.
HANG_SECONDS = 18.0
#: How long the last worker may take, and how often is looked how all are.
LAST_SECONDS, LOOK_SECONDS = 90.0, 0.02
#: So long after a start of the server, workers wait for each other to come back before they take over.
SETTLING_SECONDS = 12.0
#: What happens to lines, in turn; a COMMIT whose answer is lost is the hardest of them.
CUT_KINDS = ("after", "before", "cut", "after", "terminate", "stall", "after")
assert {*KINDS} < {*CUT_KINDS}
#: A worker lives at least so long: until it has made its connections, on a busy machine.
YOUNG_SECONDS = 0.8


@dataclass
class Post:
    """A worker's place: its relay, and who is there, if anybody is. Times are in seconds."""

    place: int
    shift: Shift | None = None
    pid: int = 0
    since: float = 0.0
    empty_until: float = 0.0
    stopped_at: float = 0.0


class Matrix:
    """The processes, the server, and the plan of what happens to them."""

    def __init__(self, folder: Path, kills: int, servers: int, hangs: int, seed: int) -> None:
        self._folder = folder
        self._chance = Random(seed)  # noqa: S311
        self._kills = kills
        self._left = Counter(kill=kills, server=servers, line=max(8, kills // 2), hang=hangs)
        self._server = make_server()
        self._schema = self._server.new_schema()
        self._cutter = Cutter(self._server, self._schema, WORKERS)
        self._posts = [Post(place) for place in range(WORKERS)]
        self._boundaries: Iterator[str] = cycle(BOUNDARIES)
        self._cuts: Iterator[str] = cycle(CUT_KINDS)
        self._number = 0
        self._server_since = now()
        self._ends: list[Blow] = []
        self._breaks: list[Blow] = []
        self._met: Counter[str] = Counter()
        self._errors: list[str] = []

    def run(self) -> dict[str, Any]:
        """The whole of it."""
        began = now()
        try:
            self._wait(YOUNG_SECONDS)
            while self._left.total() or any(post.stopped_at for post in self._posts):
                self._wait(self._chance.uniform(0.2, 1.4))
                self._something()
            self._wait(2.0)
            seconds = now() - began
            self._end()
            wrong, counted = findings.wrong(self._folder, self._server, self._schema)
        finally:
            self._server.close()
        (self._folder / "blows").write_text(
            "".join(f"{blow}\n" for blow in sorted(self._ends + self._breaks, key=_when))
        )
        if self._errors:
            wrong["errors"] = [*wrong.get("errors", []), *self._errors]
        return {
            "wrong": wrong,
            "counted": counted | self._met | {"seconds": round(seconds), "workers": self._number},
            "until taken over": findings.told(findings.seconds_until_taken(self._folder, self._ends)),
            "until acting again": findings.told(findings.seconds_until_acting(self._folder, self._breaks)),
        }

    def _something(self) -> None:
        """Let one of the things happen that are still to happen, if it can happen now."""
        kinds = [kind for kind, count in self._left.items() if count > 0]
        if self._left["kill"] > self._kills // 2:  # first those whose end is not mixed up with that of the server
            kinds = [kind for kind in kinds if kind != "server"]
        post = self._chance.choice(self._posts)
        is_old = post.pid and not post.stopped_at and now() - post.since > YOUNG_SECONDS
        match self._chance.choices(kinds, [self._left[kind] for kind in kinds])[0] if kinds else "":
            case "kill" if is_old:
                os.kill(post.pid, signal.SIGKILL)
            case "server":
                self._left["server"] -= 1
                self._breaks.append(Blow("server", 0, now()))
                self._server.stop_immediate()
                self._look()
                self._server.start()
                self._server_since = now()
            case "line" if is_old:
                self._left["line"] -= 1
                kind = next(self._cuts)
                self._met[kind] += 1
                self._breaks.append(Blow(kind, post.shift.number if post.shift else 0, now()))
                if kind == "terminate":
                    self._server.end_sessions()
                else:
                    self._cutter.cut(kind, post.place)
            case "hang" if is_old and self._is_busy(post) and not any(other.stopped_at for other in self._posts):
                os.kill(post.pid, signal.SIGSTOP)

    def _is_busy(self, post: Post) -> bool:
        last = findings.lines_of(self._folder / "acts")[-100:]
        return post.shift is not None and any(number == post.shift.number for number, *_ in last)

    def _wait(self, seconds: float) -> None:
        until = now() + seconds
        while now() < until:
            self._look()
            time.sleep(LOOK_SECONDS)  # noqa: TID251  (a process of its own)

    def _look(self) -> None:
        """Note who has died or hangs, let those go on that hung long enough, and fill empty posts."""
        for post in self._posts:
            if not post.pid:
                if now() > post.empty_until:
                    self._hire(post)
                continue
            pid, status = os.waitpid(post.pid, os.WNOHANG | os.WUNTRACED)
            assert post.shift is not None
            if pid and os.WIFSTOPPED(status):
                post.stopped_at = now()
                self._left["hang"] -= 1
                self._ends.append(Blow("hang", post.shift.number, now()))
            elif pid:
                self._mourn(post, status)
            elif post.stopped_at and now() - post.stopped_at > HANG_SECONDS:
                post.stopped_at = 0.0
                os.kill(post.pid, signal.SIGCONT)

    def _mourn(self, post: Post, status: int) -> None:
        assert post.shift is not None
        code = os.waitstatus_to_exitcode(status)
        if code != -signal.SIGKILL:
            self._errors.append(f"worker {post.shift.name} ended by itself: {code}")
        self._left["kill"] -= self._left["kill"] > 0
        self._met["killed"] += 1
        is_new = now() - self._server_since < SETTLING_SECONDS
        self._ends.append(Blow("kill, server new" if is_new else "kill", post.shift.number, now()))
        post.pid, post.stopped_at, post.empty_until = 0, 0.0, now() + self._chance.choice((0, 0.5, 3.0))

    def _hire(self, post: Post) -> None:
        """Begin a worker, who may be the one who was there, and who may end or hang at a boundary."""
        self._number += 1
        again = post.shift is not None and self._chance.random() < 0.3
        name = post.shift.name if again and post.shift else f"worker {self._number}"
        how, at = 0, next(self._boundaries)
        if self._left["hang"] and self._chance.random() < 0.2 and not any(other.stopped_at for other in self._posts):
            how, at = signal.SIGSTOP, "before act"
        elif self._left["kill"] and self._number > WORKERS and self._chance.random() < 0.7:
            how = signal.SIGKILL
        post.shift = Shift(
            self._number, name, self._folder, self._cutter.urls[post.place],
            tuple(f"assistant:{number}" for number in range(1, ASSISTANTS + 1)), post.place, WORKERS,
            at, self._chance.randint(1, 30), how,
        )  # fmt: skip
        post.since = now()
        post.pid = _fork(post.shift)

    def _end(self) -> None:
        """Kill everybody, and let one last worker deal with what is left."""
        for post in self._posts:
            if post.pid:
                os.kill(post.pid, signal.SIGKILL)
                os.waitpid(post.pid, 0)
        self._met["commits cut"] = self._cutter.close()
        names = tuple(f"assistant:{number}" for number in range(1, ASSISTANTS + 1))
        url = self._server.url(self._schema)
        pid = _fork(Shift(self._number + 1, "last", self._folder, url, names, is_last=True))
        until = now() + LAST_SECONDS
        while now() < until:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                if status:
                    self._errors.append(f"the last worker failed: {status}")
                return
            time.sleep(LOOK_SECONDS)  # noqa: TID251  (a process of its own)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self._errors.append("the last worker did not come to its end")


def _when(blow: Blow) -> float:
    return blow.at


def _fork(shift: Shift) -> int:
    pid = os.fork()
    if not pid:
        _never_return(lambda: worker.live(shift))
    return pid


if __name__ == "__main__":
    print_report(Matrix(Path(sys.argv[1]), *(int(word) for word in sys.argv[2:])).run)
