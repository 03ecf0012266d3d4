"""Profiles of the product's hot paths as text: `python -m benchmarks.profiles FOLDER`.

By cProfile on CPU time. It makes small functions look costlier than they are: the order counts, not the milliseconds.
"""

from __future__ import annotations

import cProfile
import io
import pstats
import sys
import time
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from benchmarks.calls import PATHS
from benchmarks.canned import TEXT
from benchmarks.children import stub
from benchmarks.paired import Volleys
from benchmarks.product import Calls, Steps
from benchmarks.steps import STREAMED, WHOLE

#: CPU seconds under the profiler, and lines of the text.
SECONDS, LINES = 1.5, 25


async def profiled(subject: Volleys, seconds: float = SECONDS) -> str:
    """Where a subject's time goes, the functions with the most of their own first, then those with the most below."""
    await subject.reset()
    await subject.volley()
    profile = cProfile.Profile(time.process_time)
    done = 0
    while not done or _spent(profile) < seconds:
        await subject.reset()
        profile.enable()
        done += await subject.volley()
        profile.disable()
    text = io.StringIO()
    stats = pstats.Stats(profile, stream=text).strip_dirs()
    text.write(f"{done} pieces of work, {1000 * _spent(profile) / done:.3f} ms each under the profiler\n")
    stats.sort_stats("tottime").print_stats(LINES)
    stats.sort_stats("cumulative").print_stats(LINES)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def _spent(profile: cProfile.Profile) -> float:
    return float(sum(entry.inlinetime for entry in profile.getstats()))


async def main(reactor: Any) -> None:
    """Write all of them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240  (nothing else goes on)
    async with stub(reactor) as (url,):
        subjects: dict[str, Any] = {
            "call-json": Calls(reactor, url + PATHS["json"], "json"),
            "call-stream": Calls(reactor, url + PATHS["stream"], "stream"),
            "step": Steps(reactor, url + WHOLE),
            "step-streamed": Steps(reactor, url + STREAMED, says=TEXT),
            "step-1000": Steps(reactor, url + WHOLE, 1000),
        }
        for name, subject in subjects.items():
            (folder / f"{name}.txt").write_text(await profiled(subject), encoding="utf-8")
            await subject.close()


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(main(reactor)), ())
