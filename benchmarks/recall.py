"""The recall of memories: how many of the right ones come back, in which order, how fast, and what leaks.

    python -m benchmarks.recall FILE.jsonl             worlds with memories, questions and requests to forget
    python -m benchmarks.recall FILE.jsonl --vectors   by meaning too, with the embedding model
    python -m benchmarks.recall --world                5,000 people, four lines each: times, and whether one is lost
    python -m benchmarks.recall --world --vectors      the same with vectors of chance, which cost the same
    python -m benchmarks.recall ... --postgres URL     the same in PostgreSQL, in the schema of the URL's search path
    python -m benchmarks.recall --ablate [talk] [village] [FILE.jsonl ...] [--vectors]
                                                       what each list and each order of a search is good for: on a
                                                       generated talk of two, a generated village in which one floods
                                                       the talk, and files, those of long messages also cut into turns

A line of the file is one object. `kind` is "memory" (`world id at heard who text derived_from session`), "question"
(`asker text category evidence forbidden stale`) or "forget" (`who must_go must_stay`). A whisper or a page is for `who`
alone, a reflection for those who may hear all it was derived from, everything else for everybody. An asker is the only
hearer; an empty one is the owner, who may hear all.

The last line printed is one JSON object: `recall@5` (share of the evidence among the first five, of at most five),
`hit@5` (questions with any of it), `leaks` (forbidden ids among the first 50), `stale_first` (share of the questions
with outdated ids that show one of those without the newer before it; 0 is good), `newer_first` (its counterpart; 1 is
good), `none_empty` (share of the questions nothing fits that bring nothing), `kept_after_forget` (ids that had to go
and came back, or whose words are in the file), `lost_after_forget` (ids that had to stay and do not come back).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.recall_ablation import ablate
from benchmarks.recall_scoring import Score, Watch, score_world
from benchmarks.recall_vectors import open_embedder
from benchmarks.recall_village import score_village
from benchmarks.recall_worlds import read_rows, read_worlds


def main(arguments: Sequence[str] | None = None) -> int:
    """Score a file or a generated world, and return the exit status: 1 when something leaked or was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="worlds, one JSON object a line")
    parser.add_argument("--vectors", action="store_true", help="search by meaning too")
    parser.add_argument("--embedder", default="", metavar="URL", help="a server on this machine to use for --vectors")
    parser.add_argument("--world", action="store_true", help="a generated world of 5,000 people")
    parser.add_argument("--ablate", action="store_true", help="leave out each part of the search in turn")
    parser.add_argument("--language", default="english", help="the language of the lines (default: %(default)s)")
    parser.add_argument(
        "--postgres", default="", metavar="URL", help="keep the index in this PostgreSQL, not in a file"
    )
    options = parser.parse_args(arguments)
    if not options.ablate and len(options.files) + options.world != 1:
        parser.error("give a file, --world, or --ablate")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.recall"
        if options.ablate:
            with open_embedder(options.embedder) if options.vectors else nullcontext() as embed:
                result, bad = ablate(options.files, path, embed, options.postgres)
        elif options.world:
            result, bad = score_village(path, Watch(), options.postgres, vectors=options.vectors)
        else:
            score = Score()
            with open_embedder(options.embedder) if options.vectors else nullcontext() as embed:
                for world in read_worlds(read_rows(Path(options.files[0]))):
                    score_world(world, path, score, options.language, embed, options.postgres)
            result, bad = score.as_json(), bool(score.leaks or score.kept or score.lost)
            result["vectors"] = embed is not None
    print(json.dumps(result))
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
