"""When a night is due, and what it consists of. Pure: times are seconds since 1970, and come in as arguments.

    nobody there for 10 minutes, and importance heard since the last night over 150   a night is due
    the owner's hour has passed, with lines from before it                            a night is due
    an event waits, or there was a night today already                                no night

Lines are grouped by audience before anything else, so that nothing is ever made of private and public lines together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from mud_assistant.tools.memories import Memory, MemoryKind
from mud_assistant.tools.trust import Audience, audience_key

#: The most lines that are shown to the model at once: a small model loses track of more.
MAX_SHOWN = 60
#: The most pairs of contradictory lines that one call judges.
MAX_PAIRS = 8
#: The fewest lines that an insight can be drawn from.
MIN_LINES = 2
#: How many people's contradictions one call judges.
JUDGED_PEOPLE = 3

_DAY, _HOUR = 86_400.0, 3600.0
#: What a line costs in a prompt: bytes of UTF-8 for a token at the least, and tokens for its number and quotes.
_TOKEN_BYTES, _LINE_TOKENS = 3, 8
_RULES_TOKENS = 500
_WORD = re.compile(r"\w{2,}")
_COMMON = frozenset(
    _WORD.findall(
        "the and you your for with that this have has had are was were will would can could not but all they them "
        "their his her him she its our out from what who when where how there here now then one is it of to in on at "
        "me my we be do an as or so if by up no am"
    )
)

_K = TypeVar("_K")


class SleepPlan(Struct, frozen=True):
    """The owner's limits on sleep.

    `sleep_hour` is the hour of the day, 0 to 24 in local time, at which a night is due whoever is there; None for no
    such hour. `sleep_calls` is the most model calls of one night, `tokens_in` the most tokens of one prompt, and
    `tokens_out` of its answer. `quiet_seconds` and `importance` are what makes a night due by itself.
    """

    sleep: bool = True
    sleep_hour: float | None = None
    sleep_calls: int = 3
    tokens_in: int = 4000
    tokens_out: int = 400
    quiet_seconds: float = 600.0
    importance: int = 150


class QuietSigns(Struct, frozen=True):
    """What speaks for a night and against it at `now`.

    `empty_since` is when the last person left, None when somebody is there. `waiting`: an event waits for the
    assistant. `utc_offset` is local time minus UTC in seconds.
    """

    now: float
    empty_since: float | None
    waiting: bool = False
    utc_offset: float = 0.0


class HeardSince(Struct, frozen=True):
    """What was heard since the last night: the sum of importance, and the time of the oldest line.

    `lost`: a forgetting took something of others with it that is to be derived anew.
    """

    importance: int = 0
    oldest: float | None = None
    lost: bool = False


class TaskKind(StrEnum):
    """What one model call of a night is for."""

    ANEW = "anew"  # insights in place of those that a forgetting took from others
    PROFILE = "profile"
    INSIGHTS = "insights"
    CONTRADICTIONS = "contradictions"


class SleepWish(Struct, frozen=True):
    """A task that a night may have: its kind, the audience of all its lines, and whose profile it is."""

    kind: TaskKind
    audience: Audience
    who: str = ""

    @property
    def key(self) -> str:
        """A name that is the same for the same task, also after a restart."""
        return f"{self.kind}:{self.who}:{audience_key(self.audience)}"


class SleepTask(Struct, frozen=True):
    """One task with the lines that the model is shown, oldest first; all have the same audience.

    `old` is the profile that is renewed. `pairs` are the lines to judge, the older one first.
    """

    wish: SleepWish
    lines: tuple[Memory, ...]
    old: Memory | None = None
    pairs: tuple[tuple[Memory, Memory], ...] = ()

    @property
    def sources(self) -> frozenset[str]:
        """The ids of all whose words are in the prompt."""
        shown = [*self.lines, *(line for pair in self.pairs for line in pair), *([self.old] if self.old else [])]
        return frozenset(source for line in shown for source in sources_of(line))


def sources_of(memory: Memory) -> frozenset[str]:
    """Return the ids of all whose words are in a memory."""
    return memory.sources | {memory.who} if memory.who else memory.sources


def is_quiet(plan: SleepPlan, signs: QuietSigns) -> bool:
    """Tell whether nobody is there for long enough, and no event waits."""
    return not signs.waiting and signs.empty_since is not None and signs.now - signs.empty_since >= plan.quiet_seconds


def may_begin(plan: SleepPlan, signs: QuietSigns, last_night: float | None) -> bool:
    """Tell whether a night could begin now, whatever was heard. Days begin at the owner's hour, else at midnight."""
    if not plan.sleep or plan.sleep_calls < 1 or signs.waiting:
        return False
    if last_night is not None and _day(plan, signs, signs.now) <= _day(plan, signs, last_night):
        return False
    return plan.sleep_hour is not None or is_quiet(plan, signs)


def is_due(plan: SleepPlan, signs: QuietSigns, heard: HeardSince, last_night: float | None) -> bool:
    """Tell whether a night is due now, with what was heard since the last one."""
    if not may_begin(plan, signs, last_night):
        return False
    if is_quiet(plan, signs) and (heard.importance > plan.importance or heard.lost):
        return True
    if plan.sleep_hour is None or heard.oldest is None:
        return False
    return _day(plan, signs, heard.oldest) < _day(plan, signs, signs.now)


def _day(plan: SleepPlan, signs: QuietSigns, at: float) -> int:
    """Return the number of the day of a time."""
    return math.floor((at + signs.utc_offset - (plan.sleep_hour or 0.0) * _HOUR) / _DAY)


def usable_lines(lines: Iterable[Memory]) -> list[Memory]:
    """Return what a night may draw from, oldest first.

    That is what was heard and seen and still holds. Equal words of one person for one audience count once, the newest.
    What nobody may be told is left out.
    """
    kept: dict[tuple[str, str, Audience], Memory] = {}
    for line in sorted(lines, key=lambda one: (one.at, one.id)):
        if line.kind in {MemoryKind.HEARD, MemoryKind.SEEN} and not line.superseded_by and line.audience != frozenset():
            kept[line.who, line.text.casefold(), line.audience] = line
    return sorted(kept.values(), key=lambda one: (one.at, one.id))


def group_by_audience(lines: Iterable[Memory]) -> dict[Audience, list[Memory]]:
    """Group lines by who may be told of them."""
    groups: dict[Audience, list[Memory]] = {}
    for line in lines:
        groups.setdefault(line.audience, []).append(line)
    return groups


def list_wishes(lines: Sequence[Memory], lost: Sequence[Memory], me: str) -> list[SleepWish]:
    """List the tasks of a night, the most important first, from the usable lines that were heard since the last one.

    `lost` are the lines from which something is to be derived anew, `me` is the character's id. The first tasks are
    one profile, insights, contradictions, and a second profile; other people and insights follow.
    """
    groups = group_by_audience(lines)
    anew = [
        SleepWish(TaskKind.ANEW, audience)
        for audience, group in _by_weight(group_by_audience(lost))
        if len(group) >= MIN_LINES
    ]
    ranked = _by_weight(groups)
    insights = [SleepWish(TaskKind.INSIGHTS, audience) for audience, group in ranked if len(group) >= MIN_LINES]
    judged = [SleepWish(TaskKind.CONTRADICTIONS, audience) for audience, _ in ranked]
    people = _by_weight(
        {
            (audience, who): [line for line in group if line.who == who]
            for audience, group in groups.items()
            for who in list_speakers(group, me)
        }
    )
    profiles = [SleepWish(TaskKind.PROFILE, audience, who) for (audience, who), _ in people]
    return [
        *anew[:1],
        *profiles[:1],
        *insights[:1],
        *judged[:1],
        *profiles[1:2],
        *anew[1:],
        *insights[1:],
        *judged[1:],
        *profiles[2:],
    ]


def list_speakers(lines: Sequence[Memory], me: str) -> list[str]:
    """Return the ids of those who spoke, except the character's, the most important first."""
    weight: Counter[str] = Counter()
    for line in lines:
        if line.kind is MemoryKind.HEARD and line.who and line.who != me:
            weight[line.who] += line.importance
    return sorted(weight, key=lambda who: (-weight[who], who))


def _by_weight(groups: Mapping[_K, Sequence[Memory]]) -> list[tuple[_K, Sequence[Memory]]]:
    """Return the groups, the one with the most importance first."""
    return sorted(groups.items(), key=lambda item: (-sum(line.importance for line in item[1]), str(item[1][0].id)))


def choose_lines(lines: Sequence[Memory], tokens: int) -> tuple[Memory, ...]:
    """Return the lines that a prompt of at most `tokens` has room for: important ones, then newer ones; oldest first.

    The tokens are an estimate that is rather too high.
    """
    room = tokens - _RULES_TOKENS
    chosen: list[Memory] = []
    for line in sorted(lines, key=lambda one: (-one.importance, -one.at, one.id)):
        cost = line.size_bytes // _TOKEN_BYTES + _LINE_TOKENS
        if cost <= room and len(chosen) < MAX_SHOWN:
            room -= cost
            chosen.append(line)
    return tuple(sorted(chosen, key=lambda one: (one.at, one.id)))


def find_pairs(lines: Sequence[Memory], since: float) -> list[tuple[Memory, Memory]]:
    """Return the pairs of one person's lines that may contradict each other, the older line first.

    Half of the rarer words of the shorter line are in the other one, and the newer line is from after `since`.
    """
    ordered = sorted(lines, key=lambda one: (one.at, one.id))
    words = [frozenset(_WORD.findall(line.text.casefold())) - _COMMON for line in ordered]
    spread = Counter(word for line in words for word in line)
    often = max(3, len(ordered) // 4)
    rare = [frozenset(word for word in line if spread[word] <= often) for line in words]
    found: list[tuple[float, Memory, Memory]] = []
    for index, newer in enumerate(ordered):
        if newer.at <= since:
            continue
        for older, theirs in zip(ordered[:index], rare, strict=False):
            both, least = len(rare[index] & theirs), min(len(rare[index]), len(theirs))
            if both >= 2 and 2 * both >= least and newer.text.casefold() != older.text.casefold():  # noqa: PLR2004
                found.append((both / least, older, newer))
    found.sort(key=lambda one: (-one[0], one[2].at, one[2].id, one[1].id))
    return [(older, newer) for _, older, newer in found[:MAX_PAIRS]]


def list_parts_left(gone: Iterable[Memory], missing: Iterable[str]) -> list[tuple[str, ...]]:
    """Return, for the derived memories that a forgetting took, the ids of the parts of each that are still there.

    `missing` are the ids of all that is gone. What has fewer than two parts left cannot be derived anew.
    """
    lost = frozenset(missing)
    left = (tuple(part for part in memory.made_of if part not in lost) for memory in gone)
    return sorted({parts for parts in left if len(parts) >= MIN_LINES})
