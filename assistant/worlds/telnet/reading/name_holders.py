"""Knows who is behind a name of the game. A name is not a person: a game deletes Bob, and a stranger registers Bob.

Each holder of a name is a principal of their own, `NAME@GAME` with the date first seen. A sign of a new holder is a
notice of the game, another mark of the account, or ninety days unseen. Then the holder sleeps: whoever comes by that
name is somebody else, so what was said in private before is not for them. The owner wakes the old holder, or a
pass-phrase that they told earlier does. Everybody has trust 0; the owner lifts single names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from hashlib import scrypt
from hmac import compare_digest

from msgspec import DecodeError, Struct, field, json

from mud_assistant.tools.trust import Kind, Principal, clamp_level

#: Seconds unseen after which a name is somebody else's.
UNSEEN = 90 * 86_400.0
#: The most holders that are known, and the shortest pass-phrase in characters.
MAX_HOLDERS, SHORTEST_PHRASE = 20_000, 8
#: Seconds after which it is kept again that somebody was seen.
KEPT_EVERY = 3_600.0
#: How many wrong pass-phrases may be told for a name; then only the owner wakes its holder.
MOST_TRIES = 5
_TOLD = re.compile(r"\W*(?:this is )?my pass-?\s?phrase is:?\s+(?P<phrase>\S.{0,200}?)[.!]?\s*", re.IGNORECASE)
_MARKS = "\"'\u201c\u201d\u2018\u2019 "
_COST = {"n": 2**12, "r": 8, "p": 1, "dklen": 32}


class Holder(Struct):
    """One holder of a name. Times are seconds since 1970; `phrase` is the hash of their pass-phrase."""

    id: str
    name: str
    first_seen: float
    last_seen: float
    mark: str = ""
    level: int = 0
    phrase: bytes = b""
    #: Whether the owner's word for the name holds for this one.
    is_vouched: bool = False


class _KeptPersons(Struct):
    """Holds what a file of persons holds: the holders of each name, the present one last; None after them is nobody."""

    holders: dict[str, list[Holder]] = field(default_factory=dict)
    asleep: list[str] = field(default_factory=list)


class Persons:
    """The people of one game. `wall` gives seconds since 1970, `levels` the level of the names that the owner lifts.

    An id in place of a name means that holder, who has the name again at each `restore`.
    """

    def __init__(self, game: str, wall: Callable[[], float], levels: Mapping[str, int] | None = None) -> None:
        self.game = game
        self._wall = wall
        self._levels = {name.casefold(): clamp_level(level) for name, level in (levels or {}).items()}
        #: Called after each change that has to be kept.
        self.on_change: Callable[[], None] = lambda: None
        self._holders: dict[str, list[Holder]] = {}
        #: The names whose last holder sleeps.
        self._asleep: set[str] = set()
        self._tries: dict[str, int] = {}
        self._by_id: dict[str, Holder] = {}
        self.world = Principal(f"game:{game}", "the game", Kind.WORLD, permission=0, trust=0)

    def restore(self, kept: bytes) -> None:
        """Know those whom `dump` gave, in place of all who are known. Raises ValueError for what cannot be read."""
        try:
            read = json.decode(kept, type=_KeptPersons) if kept else _KeptPersons()
        except DecodeError as error:
            raise ValueError(f"who is who cannot be read: {error}") from error
        self._holders, self._asleep, self._tries = read.holders, set(read.asleep), {}
        self._by_id = {one.id: one for holders in self._holders.values() for one in holders}
        for holder in [one for one in self.sleepers() if one.id.casefold() in self._levels]:
            self.wake(holder.id)

    def dump(self) -> bytes:
        """Return all that is known, to be read again."""
        return json.encode(_KeptPersons(self._holders, sorted(self._asleep)))

    def knows(self, name: str) -> bool:
        """Tell whether anybody was ever seen by this name."""
        return name.casefold() in self._holders

    def meet(self, name: str) -> Principal:
        """Return who has the name now, and note that they were seen. Somebody new is made known."""
        key, now = name.casefold(), self._wall()
        holders = self._holders.get(key)
        if holders and now - holders[-1].last_seen > UNSEEN:
            self._asleep.add(key)
        if not holders or key in self._asleep:
            return self._principal(self._add(key, name, now))
        holder = holders[-1]
        is_long_ago, holder.last_seen = now - holder.last_seen > KEPT_EVERY, now
        if is_long_ago:
            self.on_change()
        return self._principal(holder)

    def holder_of(self, name: str) -> Principal | None:
        """Return who has the name now, without noting anything; None for nobody who is known."""
        key = name.casefold()
        holders = self._holders.get(key)
        is_gone = not holders or key in self._asleep or self._wall() - holders[-1].last_seen > UNSEEN
        return None if is_gone or not holders else self._principal(holders[-1])

    def creature(self, name: str) -> Principal:
        """Return the principal of a creature of the game, which is no player."""
        return Principal(f"npc:{' '.join(name.casefold().split())}@{self.game}", name, Kind.WORLD, 0, 0)

    def who_is(self, id_: str) -> Principal | None:
        """Return who has this id, None for nobody."""
        holder = self._by_id.get(id_)
        return None if holder is None else self._principal(holder)

    def new_holder(self, name: str) -> None:
        """Note a sign that the name has a new holder: whoever had it sleeps."""
        if self.knows(name):
            self._asleep.add(name.casefold())
            self.on_change()

    def note_mark(self, name: str, mark: str, level: int = 0) -> None:
        """Note what the game shows of an account. Another mark, or a lower level, is a sign of a new holder."""
        key = name.casefold()
        holders = self._holders.get(key)
        if not holders or key in self._asleep:
            return
        holder = holders[-1]
        is_other = bool(holder.mark and mark and holder.mark != mark) or 0 < level < holder.level
        if is_other:
            self.new_holder(name)
            return
        noted = mark or holder.mark, max(level, holder.level)
        if noted != (holder.mark, holder.level):
            holder.mark, holder.level = noted
            self.on_change()

    def phrase_hashes(self, name: str, phrase: str) -> Callable[[], Mapping[str, bytes]]:
        """Return the work that hashes a pass-phrase for each holder of a name: 10 ms for each, for another thread."""
        ids = [one.id for one in self._holders.get(name.casefold(), [])]
        return lambda: {id_: _hash(phrase, id_) for id_ in ids}

    def set_phrase(self, name: str, phrase: str, hashes: Mapping[str, bytes]) -> bool:
        """Keep the hash of a pass-phrase for the present holder, as `phrase_hashes` made it.

        Return False for a phrase that is too short, and for a holder who came after it was told.
        """
        holder = self._holders.get(name.casefold(), [None])[-1]
        if holder is None or len(phrase.strip()) < SHORTEST_PHRASE or name.casefold() in self._asleep:
            return False
        if holder.id not in hashes:
            return False
        holder.phrase = hashes[holder.id]
        self.on_change()
        return True

    def wake_by_phrase(self, name: str, hashes: Mapping[str, bytes]) -> Principal | None:
        """Return the earlier holder whose pass-phrase has the hash that `phrase_hashes` made; None for nobody.

        They have the name again.
        """
        key = name.casefold()
        if self._tries.get(key, 0) >= MOST_TRIES:
            return None
        told = (one for one in self._holders.get(key, []) if one.phrase and one.id in hashes)
        found = next((one for one in told if compare_digest(one.phrase, hashes[one.id])), None)
        if found is None:
            self._tries[key] = self._tries.get(key, 0) + 1
            return None
        return self._wake(key, found)

    def wake(self, id_: str) -> Principal | None:
        """Give the name back to the holder with this id, on the owner's word; None for nobody."""
        holder = self._by_id.get(id_)
        return None if holder is None else self._wake(holder.name.casefold(), holder)

    def sleepers(self) -> Iterable[Holder]:
        """Return the holders who sleep."""
        for key, holders in self._holders.items():
            yield from holders if key in self._asleep else holders[:-1]

    def _wake(self, key: str, holder: Holder) -> Principal:
        holders = self._holders[key]
        holders.remove(holder)
        holders.append(holder)
        holder.last_seen = self._wall()
        self._asleep.discard(key)
        self._tries.pop(key, None)
        self.on_change()
        return self._principal(holder)

    def _add(self, key: str, name: str, now: float) -> Holder:
        """Make known a new holder of the name, with an id that nobody ever had."""
        date = datetime.fromtimestamp(now, UTC).date().isoformat()
        base, number = f"{key}@{self.game}#{date}", 1
        while (id_ := base if number == 1 else f"{base}.{number}") in self._by_id:
            number += 1
        holder = Holder(id_, name, now, now, is_vouched=key not in self._holders)
        if len(self._by_id) >= MAX_HOLDERS:
            holder.is_vouched = False
            self._forget_one()
        self._holders.setdefault(key, []).append(holder)
        self._by_id[id_] = holder
        self._asleep.discard(key)
        self.on_change()
        return holder

    def _forget_one(self) -> None:
        """Forget who was seen longest ago."""
        oldest = min(self._by_id.values(), key=lambda one: one.last_seen)
        key = oldest.name.casefold()
        del self._by_id[oldest.id]
        self._holders[key].remove(oldest)
        if not self._holders[key]:
            del self._holders[key]

    def _principal(self, holder: Holder) -> Principal:
        by_name = self._levels.get(holder.name.casefold(), 0) if holder.is_vouched else 0
        level = self._levels.get(holder.id.casefold(), by_name)
        return Principal(holder.id, holder.name, Kind.PLAYER, max(1, level), level)


def _hash(phrase: str, id_: str) -> bytes:
    said = " ".join(phrase.casefold().split())
    return scrypt(said.encode("utf-8", "replace"), salt=id_.encode("utf-8", "replace"), **_COST)


def phrase_in(words: str) -> str:
    """Return the pass-phrase that the words tell, empty for none.

    It is found before anything is written down or shown to a model: the words go nowhere else.
    """
    found = _TOLD.fullmatch(words)
    return "" if found is None else found["phrase"].strip(_MARKS)


def known_again(name: str, since: str) -> str:
    """Say that somebody proved who they are; `since` is the date since when they are known."""
    return f"{name} told the pass-phrase that was left with you: they are the {name} whom you have known since {since}."


def phrase_kept(name: str, *, is_kept: bool) -> str:
    """Say whether the pass-phrase of somebody is kept."""
    if is_kept:
        return f"{name} left a pass-phrase with you, by which you will know them again."
    return f"{name} told a pass-phrase that is not known, or is too short to be kept."
