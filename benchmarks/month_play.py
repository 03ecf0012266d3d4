"""A month of twenty characters and ten players who come and go, ask for things for later, idle and wander."""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import orjson

from benchmarks.children import PROGRESS
from benchmarks.living_town import HOUR, START, Inhabitant, Town, many_rooms
from benchmarks.month_brain import ACCEPTS, Brain
from benchmarks.month_scenes import MINUTE, ROOMS, Watcher, lock_at_night, locks, rows_of, settle_many
from benchmarks.month_tally import Tally, cpu
from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.life.goal_book import due_at
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody
from mud_assistant.tools import Principal

CHARACTERS, PLAYERS = 20, 10
#: How late something may be that waits for ears, and what takes a walk, in seconds.
LATE_WORDS, LATE_WALK = 90.0, 600.0
#: How often it is looked which promises could be kept, in seconds.
LOOKS = 5.0
_ASKS = (
    "{who}, remind me in {n} minutes to find {token}",
    "{who}, please remind me in an hour to find {token}",
    "{who}, tell {other} when they come that {token} is found",
    "{who}, come to {room} in {n} minutes",
    "{who}, wait here until I am back",
    "{who}, remind me at noon to find {token}",
)
_TALK = ("{who}, how are you?", "{who}, what do you think of this place?", "Nice weather, {who}.", "{who}, farewell.")
#: Under which name an act is drawn.
_DRAWN = {"move": "walks", "home": "walks", "promise": "promises"}
_TOKEN = re.compile(r"thing\d+x")


@dataclass(slots=True)
class Player:
    """A player, in the game or not."""

    principal: Principal
    ears: Watcher = field(default_factory=Watcher)
    body: EmbeddedBody | None = None
    leaves: float = 0.0
    idles: float = 0.0


class Month:
    """All that happens, and what is counted of it."""

    def __init__(self, town: Town, brain: Brain, dice: Random, tally: Tally) -> None:
        self.town, self.brain, self.dice, self.tally = town, brain, dice, tally
        self.players = [Player(Principal(f"player:{at}", f"Guest{at}")) for at in range(PLAYERS)]
        self.asked = self.restarts = 0
        self._looked = self._used = 0.0
        #: When each player asked each character for something for later.
        self._asked_at: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        #: What was promised aloud, by the word in it.
        self.accepted: set[str] = set()
        #: Since when a goal could be kept, by its id and the time that it is due; and those that were not kept in time.
        self._since: dict[tuple[str, float | None], float] = {}
        self.late: dict[tuple[str, float | None], str] = {}
        #: What happened on each day: visible acts by rule, acts of promises, calls of models.
        self.by_day: list[Counter[str]] = []

    async def live(self, days: int, restarts: int) -> None:
        """Let the days pass. So many times in all a character is stopped half-way and started again."""
        start = self.town.clock.seconds()
        chance = restarts / (days * 24 * 60)
        while (now := self.town.clock.seconds()) < start + days * 24 * HOUR:
            while len(self.by_day) <= int((now - start) // (24 * HOUR)):
                self._told(days)
                self.by_day.append(Counter())
            calls, tokens, used = self.brain.answers, self.brain.tokens, cpu()
            for player in self.players:
                await self._act(player, now)
            if self.dice.random() < chance * 3:  # some are drawn while they sleep
                await self._restart()
            await self.town.until(now + MINUTE, self._look)
            self.by_day[-1]["calls"] += self.brain.answers - calls
            self.by_day[-1]["tokens"] += self.brain.tokens - tokens
            self.tally.minute(self.brain.answers - calls, cpu() - used)
        self._told(days)

    def _told(self, days: int) -> None:
        """Show on standard error how far it is, at the end of each day."""
        if self.by_day:
            calls, requests = self.by_day[-1]["calls"], sum(len(one) for one in self._asked_at.values())
            print(
                f"{PROGRESS}day {len(self.by_day)} of {days}: {cpu() - self._used:.0f} s of CPU, {calls} calls, "
                f"{requests} requests so far, {len(self.late)} late",
                file=sys.stderr, flush=True,
            )  # fmt: skip
        self._used = cpu()

    async def _act(self, player: Player, now: float) -> None:
        hour, dice, body = now % (24 * HOUR) / HOUR, self.dice, player.body
        if body is None:
            if 8 <= hour < 23.5 and dice.random() < 1 / 400:  # noqa: PLR2004
                player.body = self.town.player(player.principal, f"room{dice.randrange(8)}", player.ears)
                player.leaves = now + dice.uniform(20, 90) * MINUTE
            return
        if now > player.leaves:
            self.town.world.remove(body)
            player.body = None
        elif now > player.idles and dice.random() < 0.6:  # noqa: PLR2004
            await self._deed(player, body, now)

    async def _deed(self, player: Player, body: EmbeddedBody, now: float) -> None:
        dice = self.dice
        here = [one for one in self.town.people.values() if one.body.room is body.room]
        drawn = dice.random()
        if drawn < 0.05:  # noqa: PLR2004
            player.idles = now + 20 * MINUTE
        elif here and drawn < 0.4:  # noqa: PLR2004
            await self._say(player, body, dice.choice(here))
        elif drawn < 0.6:  # noqa: PLR2004
            await body.move(dice.choice(body.room.exits).direction)
        else:
            await body.look()

    async def _say(self, player: Player, body: EmbeddedBody, who: Inhabitant) -> None:
        """Ask for something or talk, and note what was promised aloud in answer."""
        template = self.dice.choice(_ASKS if self.dice.random() < 0.6 else _TALK)  # noqa: PLR2004
        line = self._line(template, who, player)
        if template in _ASKS:
            self._asked_at[player.principal.id, who.me.id].append(self.town.clock.seconds())
        heard = len(player.ears.seen)
        await body.say(line)
        token = _TOKEN.search(line)
        if token is None or self.dice.random() < 0.5:  # noqa: PLR2004  (else others come in between)
            return
        await self.town.quiet()
        if any((who.me.name, words) in player.ears.seen[heard:] for words in ACCEPTS):
            self.accepted.add(token[0])

    def _line(self, template: str, who: Inhabitant, player: Player) -> str:
        other = self.dice.choice([one for one in self.players if one is not player])
        room = self.dice.choice(list(self.town.world.rooms.values())).name
        self.asked += "token" in template
        token = f"thing{self.asked}x"
        return template.format(
            who=who.me.name, other=other.principal.name, room=room, token=token, n=self.dice.randint(2, 20)
        )

    async def _restart(self) -> None:
        """Stop a character in whatever it does, and start it again."""
        busy = [one for one in self.town.people.values() if len(one.alive.context.memory.goals) or one.alive.tick.busy]
        if busy:
            one = self.dice.choice(busy)
            await self.town.end(one)
            await self.town.begin(one)
            self.restarts += 1

    def _look(self) -> None:
        """Note since when each promise could be kept, and which was not kept in time."""
        self.tally.follow()
        now, game = self.town.clock.seconds(), self.town.time()
        if now - self._looked < LOOKS:
            return
        self._looked = now
        for one in self.town.people.values():
            book = one.alive.context.memory.goals
            for goal in book.all() if len(book) else ():
                key = (goal.id, goal.due if goal.due is not None else goal.due_game)
                if due_at(goal, now, game) > now or not self._could(one, goal):
                    self._since.pop(key, None)
                    continue
                since = self._since.setdefault(key, now)
                if now - since > (LATE_WALK if goal.kind in {GoalKind.COME, GoalKind.CHORE} else LATE_WORDS):
                    self.late[key] = f"{one.me.name}: {goal.text} ({goal.state})"

    @staticmethod
    def _could(one: Inhabitant, goal: Goal) -> bool:
        here = one.body.present(900.0)
        if not goal.is_open or goal.kind is GoalKind.REMIND:
            return any(who.id == goal.asker.id for who in here)
        if goal.kind is GoalKind.TELL:
            return any(goal.whom in {who.id, ""} and who.name == goal.whom_name for who in here)
        return goal.kind is not GoalKind.WAIT

    def _was_asked(self, goal: Goal, whose: str) -> bool:
        """Tell whether who owns a promise of a character had just asked it for something."""
        times = self._asked_at[goal.asker.id, whose]
        return any(0 <= goal.made_at - asked <= LATE_WALK for asked in times)

    async def found(self) -> dict[str, Any]:
        """Return what became of it all."""
        made = [
            (goal, one.me.id) for one in self.town.people.values() for goal in await one.journal.goals(with_ended=True)
        ]
        goals = [goal for goal, _ in made]
        states = Counter(goal.state for goal in goals)
        said: Counter[tuple[str, str]] = Counter()
        for player in self.players:
            mine = [words for _, words in player.ears.seen]
            found = (token[0] for words in mine if "asked me to" in words and (token := _TOKEN.search(words)))
            said.update((player.principal.id, token) for token in found)
        kept = {token[0] for goal in goals if (token := _TOKEN.search(goal.text))}
        false = [goal.text for goal, whose in made if not self._was_asked(goal, whose)]
        unsaid = [goal for goal in goals if goal.is_over and goal.state is not GoalState.DONE and not goal.reason]
        rows = await self.town.file.store.read(_unasked)
        for kind, _, at in rows:
            self.by_day[min(int((at - START) // (24 * HOUR)), len(self.by_day) - 1)][
                _DRAWN.get(kind, "gestures and words of the day")
            ] += 1
        no_why = sum(not why for _, why, _ in rows)
        most = max(one.counted.calls for one in self.town.people.values())
        return {
            "promised": len(goals), "states": {state.value: states[state] for state in GoalState}, "false": false,
            "late": sorted(self.late.values()), "twice": sum(times > 1 for times in said.values()),
            "no_reason": len(unsaid), "lost": len(self.accepted - kept), "restarts": self.restarts,
            "unasked": len(rows), "no_why": no_why, "kinds": Counter(kind for kind, _, _ in rows), "days": self.by_day,
            "calls": self.brain.calls, "summaries": self.brain.summaries, "tokens": self.brain.tokens, "most": most,
            "nights": self.brain.nights,
            "seen": 100 * len(rows) / max(1, len(rows) + self.brain.answers), "rows": await rows_of(self.town),
            **self.tally.found(),
        }  # fmt: skip


def _unasked(db: Any) -> list[tuple[str, str, float]]:
    """Return the kind, the reason and the time of each event by which a character did something of itself."""
    found = []
    for id_, payload, at in db.execute(
        """SELECT id, payload, accepted_at FROM events
           WHERE instr(payload, CAST('by_rule' AS BLOB)) OR id LIKE '%.impulse.%'"""
    ):
        told = orjson.loads(bytes(payload)[:-9])
        rule = _find(told, "by_rule")
        if rule is not None:
            found.append(("promise" if rule.get("goal") else rule.get("tool") or "", str(rule.get("why") or ""), at))
        elif ".impulse." in id_:
            found.append(("impulse", "the time, and chance", at))
    return found


def _find(told: Any, key: str) -> Any:
    """Find a field wherever a record has it."""
    if isinstance(told, dict):
        return told[key] if key in told else next((hit for one in told.values() if (hit := _find(one, key))), None)
    return None


async def month(reactor: Any, folder: Path, days: int, restarts: int, serve_brain: Any) -> dict[str, Any]:
    """Play so many days, and return what became of them."""
    dice = Random(5)  # noqa: S311
    place, brain = many_rooms(ROOMS, dice), Brain(6)
    doors = locks(place, dice)
    async with serve_brain(brain) as url:
        town = Town(reactor, place, url, folder / "month.sqlite")
        await town.open()
        await settle_many(town, CHARACTERS, dice, greeting="Good day.")
        lock_at_night(town, doors)
        ways = {room.key: frozenset(way.to for way in room.exits) for room in place.rooms}
        played = Month(town, brain, dice, Tally(town, ways))
        await played.live(days, restarts)
        found = await played.found()
        await town.close()
    return {**found, "bytes": (folder / "month.sqlite").stat().st_size}
