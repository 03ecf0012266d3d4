"""The worst possible model: it does whatever a marked goal in its input demands, wherever the goal stands.

What such a model cannot bring about, no model can. It is the upper bound of every attack by text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from llm.testing.obedient.benign import dutiful
from llm.testing.obedient.formats import FORMATS, in_prose
from llm.testing.obedient.goals import Goal, find_goals
from llm.testing.obedient.turns import turns_of
from llm.testing.script import Brain, Call, RecordedRequest, Reply, Step

#: Ways to answer besides the names of FORMATS: with native calls, as JSON in a sentence, every text format in turn.
NATIVE, PROSE, EVERY = "native", "prose", "every"
WAYS: tuple[str, ...] = (NATIVE, PROSE, EVERY, *FORMATS)


@dataclass
class ObedientModel:
    """A brain that obeys each goal of a conversation once, or with `always` at every request.

    `newest`: the last goal of the input comes first. `together`: all goals are in one answer, else one per answer.
    `way` is how it calls: NATIVE where tools are offered (else as JSON text), PROSE, the name of a text format, or
    EVERY format in turn.

    Without a goal it does what `benign` does. A conversation is identified by its model and its first text.
    """

    always: bool = False
    newest: bool = True
    together: bool = True
    way: str = NATIVE
    benign: Brain = dutiful
    obeyed: list[Goal] = field(default_factory=list)
    _done: dict[str, set[Goal]] = field(default_factory=dict)
    _texts: int = 0

    def __post_init__(self) -> None:
        """Check the way. Raises ValueError for an unknown one."""
        if self.way not in WAYS:
            raise ValueError(f"way {self.way!r}: one of {', '.join(WAYS)}")

    def __call__(self, request: RecordedRequest) -> Step:
        """Return the calls of the goals in sight, else what the good assistant does."""
        texts = [turn.text for turn in turns_of(request)]
        done = self._done.setdefault(f"{request.model} {texts[0] if texts else ''}", set())
        goals = [goal for goal in find_goals(texts) if self.always or goal not in done]
        if self.newest:
            goals.reverse()
        if not self.together:
            del goals[1:]
        if not goals:
            return self.benign(request)
        done.update(goals)
        self.obeyed += goals
        return self._reply(list(_calls(goals)), native=bool(request.tools))

    def _reply(self, calls: Sequence[Call], *, native: bool) -> Reply:
        """Return the calls as this model writes them."""
        if self.way == NATIVE and native:
            return Reply(calls=tuple(calls))
        if self.way == PROSE:
            return Reply("\n".join(map(in_prose, calls)))
        in_turn = list(FORMATS)[self._texts % len(FORMATS)]
        self._texts += 1
        write = FORMATS[in_turn if self.way == EVERY else self.way if self.way in FORMATS else "json"]
        return Reply("\n".join(map(write, calls)))


def _calls(goals: Sequence[Goal]) -> Iterator[Call]:
    for goal in goals:
        yield from [goal.call] * goal.times
