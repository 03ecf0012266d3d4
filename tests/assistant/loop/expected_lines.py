"""What must come of each line that is said to an assistant: a small model of its runs, told of all that really happens.

It knows who asks, who pays, who may hear what, and what may be done on whose word. It fails as soon as the assistant
asks its model, does, says, keeps or settles anything that does not follow from that.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from mud_assistant.assistant.config.schema import BudgetConfig
from mud_assistant.assistant.events.classify import Classification
from mud_assistant.assistant.events.outcome import Answered, Failed, Limit, LimitReached, NothingToDo, Outcome, settles
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.loop.resuming import POISONED
from mud_assistant.resilience import BudgetSpent, Caller
from mud_assistant.tools import Kind, Principal, ToolContext
from mud_assistant.tools.trust import TOP, Audience
from tests.assistant.loop.lived_lines import BY_A_GUEST, LATE_AFTER, LATE_WORDS, MOST_STEPS
from tests.assistant.loop.noted_life import noted
from tests.assistant.loop.planned_lines import (
    ANSWERED,
    ENDLESS,
    LEVELS,
    SAGE,
    SECRET,
    STAFF,
    WORD,
    Line,
    Plan,
    Run,
    Way,
    check_excuse,
    reaches,
)

MINUTE = 60.0
#: What a deed takes; nobody may smash.
DEEDS = {"ring": 1, "burn": 3}


class Expected:
    """The lines by their number, and what came of them."""

    def __init__(self, seconds: Callable[[], float], budget: BudgetConfig, min_level: Callable[[], int]) -> None:
        self.seconds, self.budget, self.stream_level = seconds, budget, min_level
        self.lines: dict[int, Line] = {}
        self.runs: dict[str, Run] = {}
        self.run: Run | None = None
        #: By its number: who may be told of each word that was told in private, None for one that reached nobody.
        self.audiences: dict[int, Audience] = {}
        #: What each person heard of each line, and which deeds were done for it.
        self.words: defaultdict[int, list[tuple[str, Way, str]]] = defaultdict(list)
        self.deeds: Counter[tuple[str, int]] = Counter()
        #: The lowest level of the prompt on which the line of this number was answered.
        self.answered_at: dict[int, int] = {}
        self.times: defaultdict[str, list[float]] = defaultdict(list)
        self.spent: Counter[str] = Counter()
        self.used_up: set[str] = set()
        #: Whether a fault or a death may have touched the run that goes on.
        self.is_disturbed = False
        self.scene_level: Callable[[], int] = lambda: 1
        self.is_here: Callable[[Principal], bool] = lambda _: True
        #: The lines that were settled since it was looked what the assistant knows.
        self.fresh: list[Line] = []
        self.seen: Counter[str] = Counter()
        #: What did not come as it must.
        self.wrong: list[str] = []

    def say(self, line: Line) -> None:
        """Take note of a line before it is said."""
        self.lines[line.number] = line
        if line.is_private:
            self.audiences[line.number] = line.audience

    # What the assistant does.

    def began(self) -> None:
        self.times.clear()  # a process counts for itself

    @noted
    def opened(self, run_id: str, events: Sequence[Accepted]) -> None:
        ids = {heard.event.id for heard in events}
        triggers = {heard.event.id for heard in events if heard.attention.verdict is Classification.TRIGGER}
        lines = [line for line in self.lines.values() if line.event in ids]
        for line in lines:
            line.is_trigger = line.event in triggers
        run = self.run = self.runs.setdefault(run_id, Run(run_id, lines))
        assert [line.number for line in run.lines] == [line.number for line in lines]
        run.processes += 1
        run.broke.clear()
        run.counted.clear()
        self.is_disturbed = run.processes > 1

    @noted
    def asked(self, caller: Caller, text: str) -> Line:
        run = self.run
        assert run is not None
        self._pass_over(run)
        assert run.line is not None, "its model is asked, and nobody asks"
        line, payers = run.line, [account.name for account in caller.accounts]
        person = [line.who.id] if line.who.kind is not Kind.ASSISTANT else []
        assert payers == ["all assistants", SAGE.id, *person], f"{payers} pay for {line.who.name}"
        assert caller.is_urgent == bool(person)
        assert not self.used_up.intersection(payers), f"{self.used_up} have nothing left"
        assert not any(settles(outcome) for outcome in line.settled[line.unparked :]), f"{line.number} was settled"
        assert line.word in text, f"the line {line.number} is not in its prompt"
        for found in SECRET.finditer(text):
            audience = self.audiences.setdefault(int(found[1]), None)
            assert reaches(audience, line.hearers), f"{found[0]} is shown where {line.hearers} hear the answer"
        run.reads_secrets = run.reads_secrets or SECRET.search(text) is not None
        self.spent.update(payers)
        run.calls += 1
        self._count_answer(run, line.who)
        told = [self.lines[int(found[1])] for found in WORD.finditer(text)]
        own = [self.answered_at.get(int(found[1]), TOP) for found in ANSWERED.finditer(text)]
        is_low = "Strangers tell" in text or BY_A_GUEST.name in text
        run.shown = min([*(LEVELS[one.who.id] for one in told), *own, 0 if is_low else TOP])
        self.answered_at[line.number] = run.shown
        self.seen["several"] += len({one.who for one in run.lines if one.is_trigger}) > 1
        return line

    def _pass_over(self, run: Run) -> None:
        """Turn the run to the next asker when the one it is for was answered too often."""
        most = self.budget.player_per_minute
        while (line := run.line) is not None and most is not None:
            who = line.who
            if who.kind is Kind.ASSISTANT or who.id in run.counted or self._lately(who.id) < most:
                return
            run.broke.add(who.id)

    def _count_answer(self, run: Run, who: Principal) -> None:
        """Count an answer to somebody, once in a run of one process."""
        most = self.budget.player_per_minute
        if who.kind is Kind.ASSISTANT or who.id in run.counted or most is None:
            return
        run.counted.add(who.id)
        assert self._lately(who.id) < most, f"{who.name} is answered more than {most} times a minute"
        self.times[who.id].append(self.seconds())

    def _lately(self, who: str) -> int:
        return sum(at + MINUTE > self.seconds() for at in self.times[who])

    @noted
    def refused(self, spent: BudgetSpent) -> None:
        """Take note that an account has nothing left."""
        run, allowed = self.run, self.budget.assistant if spent.account == SAGE.id else self.budget.player
        assert run is not None
        self._pass_over(run)
        assert run.line is not None
        assert spent.account in {SAGE.id, run.line.who.id}, f"{spent.account} is asked to pay for {run.line.who.name}"
        assert allowed.calls is not None
        assert self.spent[spent.account] >= allowed.calls
        self._count_answer(run, run.line.who)
        self.used_up.add(spent.account)
        run.broke.add(spent.account)
        self.seen["used up"] += 1

    @noted
    def pondered(self, context: ToolContext) -> None:
        run = self.run
        assert run is not None
        assert run.line is not None
        line, trust = run.line, context.trust
        assert context.requester == line.who, f"{context.requester} is taken for {line.who.name}"
        assert context.trust.audience == line.hearers, f"what {line.who.name} hears is for {context.trust.audience}"
        assert trust.level <= max(run.shown, trust.shown_from), f"{trust.level} counts, and {run.shown} was shown"
        lowest = min(run.shown, self.scene_level(), self.stream_level())
        lowest = 0 if line.plan is Plan.ASKS_FAR else lowest  # it is told in the same step
        assert trust.min_level >= lowest, f"{trust.min_level} counts, and nothing below {lowest} was shown"
        self.seen["second prompt" if trust.shown_from else f"level {trust.min_level}"] += 1

    @noted
    def did(self, deed: str, number: int, context: ToolContext) -> None:
        run = self.run
        assert run is not None
        assert run.line is not None
        line = self.lines[number]
        assert deed in DEEDS, f"{deed} is not granted"
        assert context.requester == line.who == run.line.who
        assert min(LEVELS[line.who.id], SAGE.permission, run.shown) >= DEEDS[deed], f"{line.who.name} may not {deed}"
        self.deeds[deed, number] += 1
        assert self.deeds[deed, number] <= 1 + line.unparked, f"{deed} is done again for {number}"
        self.seen[deed] += 1

    @noted
    def heard(self, who: Principal, way: Way, text: str) -> None:
        is_too_often = any(self._lately(one) >= (self.budget.player_per_minute or math.inf) for one in self.times)
        check_excuse(text, is_used_up=bool(self.used_up), is_too_often=is_too_often)
        for found in SECRET.finditer(text):
            audience = self.audiences.get(int(found[1]))
            is_for = audience is None or who.id in audience or (way is Way.STAFF and who in STAFF)
            assert is_for, f"{who.name} hears {text}"
        for number, line in self.lines.items():
            for part in "abc":
                if (word := f"Word{number}{part}") in text:
                    self.words[number].append((who.id, way, word))
                    self._check_heard(line, who, way, text, word)

    def _check_heard(self, line: Line, who: Principal, way: Way, text: str, word: str) -> None:
        """Tell whether an answer is heard where the line was said, once, and says what it answers when that is old."""
        times = sum(heard == (who.id, way, word) for heard in self.words[line.number])
        assert times <= 1 + line.unparked, f"{who.name} hears {word} again"
        is_confided = line.plan is Plan.CONFIDES and way is Way.WHISPER and who == line.other
        assert way is line.way or line.plan is Plan.CONFIDES, f"{line.way} is answered {way}"
        if way in {Way.WHISPER, Way.PAGE} and not is_confided:
            assert who == line.who
        assert not line.settled[line.unparked :], f"{word} is said when {line.number} is settled"
        if word.endswith("a") and not self.is_disturbed and not is_confided:
            is_late = self.seconds() - line.at > LATE_AFTER
            assert (LATE_WORDS in text) == is_late, f"after {self.seconds() - line.at} s: {text}"
            self.seen["late"] += is_late
        self.seen["early"] += word.endswith("a") and word.replace("a", "b") not in text

    @noted
    def confided(self, text: str, audience: frozenset[str]) -> None:
        """Take note of words that are whispered, of which some were nobody's until now."""
        for found in SECRET.finditer(text):
            self.audiences.setdefault(int(found[1]), audience)

    @noted
    def ended(self, run_id: str, outcome: Outcome) -> None:
        run = self.runs[run_id]
        for line in run.lines:
            if settles(outcome):
                line.settled.append(outcome)
                self.fresh.append(line)
                assert len(line.settled) == 1 + line.unparked, f"{line.number} is settled again"
            line.is_put_aside |= outcome == POISONED
        self._pass_over(run)
        if run.line is not None or isinstance(outcome, LimitReached):
            self._check_outcome(run, run.line, outcome)

    def _check_outcome(self, run: Run, line: Line | None, outcome: Outcome) -> None:
        """Tell whether a run over a line ends as it must."""
        match outcome:
            case LimitReached(Limit.BUDGET, _, account):
                assert account in self.used_up
                assert account == SAGE.id or line is None, f"somebody else may pay for {line}"
            case LimitReached(Limit.RATE, _, account):
                assert self._lately(account) == self.budget.player_per_minute
                assert line is None, f"somebody else may pay for {line}"
                self.seen["too often"] += 1
            case LimitReached(Limit.TIME):
                assert self.is_disturbed
            case LimitReached(limit):
                assert line is not None
                endless = ENDLESS.get(line.plan) if line.plan is not None else None
                expected = {Limit.STEPS, endless} if self.is_disturbed else {endless}
                assert limit in expected, f"{limit} for {line}"
                most = MOST_STEPS + run.processes - 1  # an answer that was not written down is asked for again
                assert line.plan is not Plan.SEEKS or MOST_STEPS <= run.calls <= most, f"{run.calls} answers"
            case NothingToDo(cause):
                assert line is not None
                assert cause, f"nobody is told why {line.number} gets no answer"
                is_gone = line.way in {Way.ALOUD, Way.WHISPER} and not self.is_here(line.who)
                assert line.plan is Plan.NOTHING or is_gone, f"{line.number} is left alone: {cause}"
            case Answered():
                assert line is not None
                assert self.is_disturbed or self._is_answered(run, line), f"{line.number} was not answered"
            case Failed() if outcome == POISONED:
                self.seen["put aside"] += 1
            case Failed():
                is_broken = line is not None and line.plan is Plan.BREAKS_OFF
                assert self.is_disturbed or is_broken, outcome.cause

    def _is_answered(self, run: Run, line: Line) -> bool:
        """Tell whether the whole answer was heard where it had to be."""
        if line.plan in {Plan.RINGS, Plan.RINGS_AT_ONCE} and LEVELS[line.who.id] >= DEEDS["ring"]:
            assert self.deeds["ring", line.number], f"what {line.number} asks for is not done, and its asker may"
        words = {word[-1] for _, _, word in self.words[line.number]}
        match line.plan:
            case Plan.CONFIDES | Plan.BREAKS_OFF:
                return "a" in words
            case Plan.BLABS if run.reads_secrets:
                return True  # it told somebody something
            case Plan.CHANGES_MIND:
                return bool(words & {"a", "c"}) and words != {"a", "c"}
            case _:
                return {"a", "b"} <= words

    # What is kept.

    def check_kept(self, kept: Iterable[tuple[str, Audience]]) -> None:
        """Tell whether each text in the stream or in memory has an audience that may be told of all its words."""
        for text, audience in kept:
            for found in SECRET.finditer(text):
                told = self.audiences.get(int(found[1]))
                assert reaches(told, audience), f"{found[0]}, for {told}, is kept for {audience}"

    def check_told(self, stream: str) -> None:
        """Tell whether it knows all that it said in the runs that ended since the last look."""
        lines, self.fresh = self.fresh, []
        for line in lines:
            # It is shown as the whole that it became, or not at all after the third death.
            is_other = line.plan is Plan.CHANGES_MIND or line.is_put_aside
            for word in {word for _, _, word in self.words[line.number] if not is_other}:
                assert word in stream, f"{word} was heard, and it does not know"
