"""The benchmark: every section in turn, in a process of its own, then one table of goal, figure, limit and verdict."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from benchmarks.children import Child, ChildFailed
from benchmarks.figures import GUARD, Figure, exit_status, guarding, in_order, table
from benchmarks.records import comparison, read_json, this_run, write_json

SECTIONS = {
    "calls": "goals 1 to 3: CPU of a model call beside treq and the bare transport",
    "steps": "goals 4, 5 and 7: CPU of a ReAct step beside treq and every peer, and its growth with the history",
    "shapes": "calls on answers of other shapes beside treq: tiny, 300 events, fragments, headers, framings",
    "dialects": "calls in the dialects of Anthropic and Ollama beside treq",
    "crowd": "goals 8 and 9: 200 assistants at once, a model that needs half a second",
    "restart": "a game of 200 started again, each with a word that was left: the longest block",
    "tls": "goal 10: TLS contexts, HTTPS against plain, the cold start of 100 callers",
    "prompts": "goals 14 and 15: token estimates, and prefixes that are repeated",
    "booking": "goal 6: what the journal and the accounts cost a step",
    "memory": "goals 11 and 12: memory of idle assistants (1, 200, 2,000) and of 200 in flight",
    "startup": "goal 13: import and start-up time",
    "latency": "a word to the request on the wire; the first sentence against the end of the stream",
    "load": "200 assistants, 20 events a second and a burst of 1,000; good and bad models",
    "gateway": "the gateway: CPU of a request, forwarded and translated, beside nginx, bare Twisted, litellm's proxy",
    "gateway_crowd": "200 streams through the gateway, and what assistants feel of 64 clients beside them",
    "gateway_endurance": "what 1,500 requests of the gateway with every fault leave behind, 100,000 with --full",
    "leak": "what thousands of ticks leave behind",
    "endurance": "what 2,000 calls with every fault leave behind, 100,000 with --full",
}
FULL_SECTIONS = {
    "histories": "calls and steps, whole and streamed, at 20, 500 and 5,000 messages, beside every peer",
    "journals": "the journal: events per second, acknowledgement, recovery against size",
    "postgres": "the journal in PostgreSQL: acknowledgement at 500/s, turns of 1, 2, 4 processes, 1,000 idle",
    "leases": "leases in PostgreSQL: the log of 10,000 idle assistants, 100 of 200 that move to another worker",
    "retention": "old runs in PostgreSQL: how fast they go, how late words are meanwhile, what the tables keep",
    "page": "the operator's page over HTTP: 200 assistants, 100,000 runs, 20 watchers of 50 that talk",
    "page_live": "the live page: a word to the event on the stream, 20 watchers, and what nobody watching costs",
    "month": "characters with days and promises: an empty game, one watched, 2 days of 20 characters, 30 with --full",
    "talk": "our own scripted talks with the embedded model: right, repeated, seconds and tokens a turn",
    "talk_long": "150 lines with the embedded model: whether the last thirty are answered as well as the first",
}
EPILOG = f"""
sections, of both sets:
{{}}
and of the full set, or when asked for:
{{}}

examples:
  python -m benchmarks                             the quick set
  python -m benchmarks --only calls steps          two of its sections
  python -m benchmarks --full --json new.jsonl     everything, and a line of JSON for each figure
  python -m benchmarks --compare old.jsonl new.jsonl
  python -m benchmarks --profile docs/profiles     where the time goes, as text

A ratio is formed within a round and judged by its upper quartile. Where the quartiles are further apart than a quarter
of the median, as many rounds again are taken, once. "too noisy" is what is over the limit after that with its upper
quartile but not with its lower one. Peers that are not installed are named and skipped: `make bench` installs them.

It leaves with 0; with 1 when a limit was missed or a section failed; with 3 when only noise stood against a verdict.
--guard widens the limits by {GUARD}, those of counts excepted: for regular runs that shall only find regressions.
"""


def asked() -> argparse.Namespace:
    """The options given."""
    told = [
        "\n".join(f"  {name:10} {about}" for name, about in sections.items()) for sections in (SECTIONS, FULL_SECTIONS)
    ]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure the goals of docs/performance.md, beside the product's peers in one run.",
        epilog=EPILOG.format(*told),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="under 4 minutes on two calm cores; the default")
    size.add_argument("--full", action="store_true", help="everything, and longer: 20 minutes on two calm cores")
    parser.add_argument("--only", nargs="+", choices=(*SECTIONS, *FULL_SECTIONS), metavar="SECTION", help="only these")
    parser.add_argument("--guard", action="store_true", help=f"judge by the limits times {GUARD}, counts excepted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one line of JSON for each figure")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="show two such files instead")
    instead.add_argument("--profile", type=Path, metavar="FOLDER", help="write profiles as text there instead")
    return parser.parse_args()


async def measured(reactor: Any, section: str, *, full: bool) -> list[Figure]:
    """The figures of a section, measured in a process of its own; one that says why when that failed."""
    print(f"{section} ...", end=" ", file=sys.stderr, flush=True)
    began = time.perf_counter()
    child = Child(reactor, "benchmarks.section", section, "full" if full else "quick")
    try:
        figures = [Figure(**one) for one in await child.answer()]
    except ChildFailed as failed:
        print(failed, file=sys.stderr)
        figures = [Figure("", f"section {section}", None, note="see standard error", failed=True)]
    await child.close()
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return figures


async def main(reactor: Any, options: argparse.Namespace) -> None:
    """Measure and print."""
    if options.profile is not None:
        await Child(reactor, "benchmarks.profiles", str(options.profile)).gone
        return
    began, run = time.perf_counter(), this_run(full=options.full)
    sections = options.only or (*SECTIONS, *(FULL_SECTIONS if options.full else ()))
    found = [one for section in sections for one in await measured(reactor, section, full=options.full)]
    figures = in_order([guarding(one) for one in found] if options.guard else found)
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(table(figures))
    if options.guard:
        print(f"\nThe limits are {GUARD} times those of the goals, counts excepted.")
    took = f"{seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU"
    print(f"\n{took}; {', '.join(f'{name} {number}' for name, number in run.versions.items())}")
    if options.json is not None:
        write_json(options.json, figures, run)
    if status := exit_status(figures):
        raise SystemExit(status)


if __name__ == "__main__":
    given = asked()
    if given.compare is not None:
        print(comparison(*map(read_json, given.compare)))
    else:
        react(lambda reactor: Deferred.fromCoroutine(main(reactor, given)), ())
