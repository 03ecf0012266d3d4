"""Compare for as long as you like: `python -m tests.resilience.http.differential --seconds 600 --first 1000000`."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections import Counter
from random import Random

from tests.resilience.http.differential.grammar import case_of
from tests.resilience.http.differential.readings import ours
from tests.resilience.http.differential.rules import compare


def main() -> int:
    """Compare the responses of one seed after the other; return 1 if no rule explains a difference."""
    parser = ArgumentParser(prog="python -m tests.resilience.http.differential")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    given = parser.parse_args()
    until = time.monotonic() + given.seconds  # noqa: TID251  (a program)
    seed = given.first
    ends: Counter[str] = Counter()
    differ = 0
    while time.monotonic() < until:  # noqa: TID251  (a program)
        case = case_of(seed)
        ends[ours(case, [case.data] if case.data else []).end.name] += 1
        for each in compare(case, Random(seed)):  # noqa: S311
            differ += 1
            print(f"seed {seed}: {each}", flush=True)  # noqa: T201  (its purpose)
        seed += 1
    print(f"{seed - given.first} responses from seed {given.first}: {dict(ends)}, {differ} unexplained")  # noqa: T201  (its purpose)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
