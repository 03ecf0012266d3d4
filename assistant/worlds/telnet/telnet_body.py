"""The `World` of a character that plays somebody else's game: every act is a typed line, confirmed by the game."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.worlds.telnet.profiles.line_forms import fill_line, match_any
from mud_assistant.assistant.worlds.telnet.profiles.profile import Profile
from mud_assistant.assistant.worlds.telnet.reading.answer_window import AnswerEnding
from mud_assistant.assistant.worlds.telnet.reading.game_ears import Ears
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons
from mud_assistant.assistant.worlds.telnet.reading.player_names import (
    bare_name,
    has_article,
    is_nobody,
    loosely,
    may_be_name,
)
from mud_assistant.assistant.worlds.telnet.reading.surroundings import DIRECTIONS, SeenSurroundings, read_room
from mud_assistant.assistant.worlds.telnet.typed_commands import line_to_type, resolve_line, typed, typed_words
from mud_assistant.assistant.worlds.telnet.typing_lines import Answer, Typist
from mud_assistant.tools.errors import ToolFailed, Unconfirmed
from mud_assistant.tools.game import GameCommand, GameTime, Person, Route, Scene, Thing, Written
from mud_assistant.tools.text.clean import clean_heard
from mud_assistant.tools.text.lenient import candidates, pick_person, plain
from mud_assistant.tools.text.route import search_route
from mud_assistant.tools.trust import Audience, Kind, Principal

#: Seconds after which a room is looked at anew, and the list of who is in the game asked for anew.
LOOK_AGAIN, ASK_AGAIN = 300.0, 60.0
_UNSURE = "The game gave no sign that it was done. It may have been: do not do it again."
#: The verbs of a profile and the tools that need them.
_TOOLS = {"emote": "emote", "whisper": "whisper", "tell": "page", "move": "move"}
_HANDLING = {"get": "take", "drop": "drop", "give": "give"}


class TelnetBody:
    """One character in one game. All texts of the game have level 0: strangers wrote them.

    `introduction` is said once to everybody who is spoken to, so that nobody takes the character for a person; empty
    where its title or its description says so already.
    """

    def __init__(
        self,
        me: Principal,
        profile: Profile,
        *,
        persons: Persons,
        around: SeenSurroundings,
        ears: Ears,
        typist: Typist,
        clock: IReactorTime,
        introduction: str = "",
    ) -> None:
        self._me, self._profile, self._persons = me, profile, persons
        self._around, self._ears, self._typist, self._clock = around, ears, typist, clock
        self._introduction = introduction
        self._introduced: set[str] = set()
        self._looked_at = self._asked_at = -LOOK_AGAIN
        self._listed: list[str] = []

    @property
    def without_use(self) -> frozenset[str]:
        """The tools that can do nothing in this game, by its profile."""
        verbs = self._profile.verbs
        without = {tool for verb, tool in _TOOLS.items() if not getattr(verbs, verb)}
        without |= {tool for verb, tool in _HANDLING.items() if verb not in verbs.others}
        return frozenset(without | {"home"} | (set() if verbs.channels else {"channel"}))

    async def look(self) -> Scene:
        """Return the scene; the game is asked for it when it was not seen for some time."""
        is_known = bool(self._around.room.key) and not self._around.is_stale
        if not is_known or self._clock.seconds() - self._looked_at > LOOK_AGAIN:
            self._enter(await self._typist.ask(typed(self._profile, "look")), is_asked=True)
        return self._scene()

    async def inspect(self, target: str) -> str:
        """Return what the game shows of a thing, a person or an exit here."""
        scene = await self.look()
        names = [thing.name for thing in scene.things] + [person.name for person in scene.people]
        if target.strip() and len(found := candidates(target, scene.exits)) == 1 and not candidates(target, names):
            way = scene.exits[found[0]]
            behind = scene.behind.get(way)
            return Written(f"A way out: {way}." + (f" It leads to {behind}." if behind else ""), 0)
        with_exits = [*names, *scene.exits]
        name = with_exits[self._pick(target, with_exits)]
        if not self._profile.verbs.inspect:
            return Written(f"You see {name}, and nothing more of it.", 0)
        answer = await self._typist.ask(typed(self._profile, "inspect", thing=plain(name)))
        return Written(self._text(answer) or f"You see nothing special about {name}.", 0)

    async def who(self) -> Sequence[Person]:
        """Return who is in the game, as far as it tells, the character first."""
        await self._list_players()
        own = Person(self._me.name, is_ai=True, id=self._me.id)
        return (own, *(self._person(name) for name in self._known_names()))

    async def say(self, text: str) -> None:
        """Speak aloud."""
        audience = [one.id for one in map(self._principal, self._around.names())]
        await self._speak("say", self._introduce(text, audience))

    async def emote(self, text: str) -> None:
        """Act visibly, as the game allows it; where it has no such act, it is told."""
        deed, has_line = text.lstrip(":;!/'\" ") or "waits.", bool(self._profile.verbs.emote)
        await (self._speak("emote", deed) if has_line else self._speak("say", f"({self._me.name} {deed})"))

    async def whisper(self, target: str, text: str, *, only: Audience = None) -> None:
        """Speak to one person in the room who spoke first."""
        people = [(self._principal(name).id, name) for name in self._around.names()]
        if not people:
            raise ToolFailed("Nobody else is here.", 0)
        chosen = self._pick_person(target, people, only, "Here are")
        await self._speak_to("whisper", *people[chosen], text)

    def hears(self, who: Principal) -> bool:
        """Tell whether this person is in the room, as far as the character saw."""
        return any(one.id == who.id for one in map(self._seen, self._around.names()) if one is not None)

    async def page(self, target: str, text: str, *, only: Audience = None) -> None:
        """Speak to one person anywhere in the game who spoke first."""
        if not candidates(target, self._known_names()):
            await self._list_players()
        people = [(self._principal(name).id, name) for name in self._known_names()]
        chosen = self._pick_person(target, people, only, "In the game are")
        await self._speak_to("tell", *people[chosen], text)

    async def speak_on(self, channel: str, text: str) -> None:
        """Speak on a channel of the profile."""
        channels = self._profile.verbs.channels
        names = list(channels)
        name = names[self._pick(channel, names, "Your channels")]
        words = typed_words(self._profile, text)
        await self._confirmed(fill_line(channels[name], text=words), "channels", words)

    async def move(self, direction: str) -> Scene:
        """Leave by an exit; return the scene at the other end."""
        way = self._way(direction, await self.look())
        before = self._around.room.key
        answer = await self._typist.ask(typed(self._profile, "move", direction=way))
        if answer.ending is AnswerEnding.UNKNOWN:
            raise Unconfirmed(_UNSURE)
        if not self._enter(answer, way) and not await self._is_elsewhere(answer, before, way):
            raise ToolFailed(self._text(answer) or f"You did not get {way}.", 0)
        return self._scene()

    async def go_home(self) -> Scene:
        """Raise ToolFailed: a guest has no home in somebody else's game."""
        raise ToolFailed("You are a guest in this game and have no home to go to.")

    async def route(self, place: str) -> Route:
        """Find the way over the rooms that the character walked through so far."""
        name, steps, _ = await search_route(self._around.room.key, self._around.ways, place)
        return Route(name, steps, 0)

    def is_left_alone(self) -> bool:
        """Return False: a guest is nowhere at home."""
        return False

    def time(self) -> GameTime | None:
        """Return None: what a game says of its time is not read."""
        return None

    def present(self, seconds: float) -> tuple[Principal, ...]:
        """Return the players here who did something that was seen within `seconds`."""
        seen = map(self._seen, self._around.acted_within(seconds))
        return tuple(one for one in seen if one is not None and one.kind is Kind.PLAYER)

    def who_is(self, id_: str) -> Principal | None:
        """Return who has this id, None for nobody who was ever met."""
        return self._persons.who_is(id_)

    async def resolve(self, line: str) -> GameCommand:
        """Return the command of the profile's table that the line means. Raises ToolFailed for any other."""
        return resolve_line(self._profile, line)

    async def execute(self, command: GameCommand) -> str:
        """Type a command of the profile's table and return what the game printed."""
        answer = await self._typist.ask(line_to_type(self._profile, command))
        if answer.ending is AnswerEnding.REFUSED:
            raise ToolFailed(answer.sentence, 0)
        if answer.ending is AnswerEnding.UNKNOWN:
            raise Unconfirmed(_UNSURE)
        return Written(self._text(answer), 0)

    async def _speak(self, verb: str, text: str, who: str = "") -> None:
        """Speak or act by one of the profile's lines. Raises ToolFailed."""
        words = typed_words(self._profile, text)
        await self._confirmed(typed(self._profile, verb, text=words, who=who), verb, words)

    async def _speak_to(self, verb: str, id_: str, name: str, text: str) -> None:
        """Speak to one person in private, if they spoke first. Raises ToolFailed."""
        if id_ not in self._ears.spoke:
            raise ToolFailed(f"{name} has not spoken to you yet; a guest does not speak first in private.", 0)
        await self._speak(verb, self._introduce(text, [id_]), name)

    async def _confirmed(self, line: str, verb: str, words: str) -> None:
        """Type a line and wait for its echo. Raises ToolFailed, and Unconfirmed without a sign of it."""
        answer = await self._typist.act(line, self._profile.echo[verb], words)
        if answer.ending is AnswerEnding.REFUSED:
            raise ToolFailed(answer.sentence, 0)
        if answer.ending is AnswerEnding.UNKNOWN:
            raise Unconfirmed(_UNSURE)

    def _introduce(self, text: str, audience: Sequence[str]) -> str:
        """Return the text, with what says that a machine speaks where somebody of the audience was not told yet."""
        new = [id_ for id_ in audience if id_ not in self._introduced]
        self._introduced.update(new)
        return f"{text} {self._introduction}" if new and self._introduction else text

    async def _list_players(self) -> None:
        """Ask the game who is in it, where it tells and was not asked just now."""
        if not self._profile.verbs.who or self._clock.seconds() - self._asked_at < ASK_AGAIN:
            return
        self._asked_at = self._clock.seconds()
        answer = await self._typist.ask(typed(self._profile, "who"))
        found = (match_any(self._profile.room["who"], text.strip()) for text, _ in answer.lines)
        self._listed = []
        for holes in (one[1] for one in found if one is not None):
            name = holes.get("who", "")
            if not may_be_name(name) or is_nobody(name, self._profile.speech.nobody):
                continue
            self._listed.append(name)
            self._persons.note_mark(name, holes.get("mark", ""), int(holes.get("level") or 0))

    def _enter(self, answer: Answer, by: str = "", *, is_asked: bool = False, other_than: str | None = None) -> bool:
        """Take in the room that an answer shows. Return whether it shows one, other than that of a key."""
        room = read_room(answer.lines, self._profile, is_asked=is_asked)
        if room is None or room.key == other_than or answer.ending is not AnswerEnding.DONE:
            return False
        self._looked_at = self._clock.seconds()
        self._around.enter(room, by)
        return True

    async def _is_elsewhere(self, answer: Answer, before: str, way: str) -> bool:
        """Tell whether a step led to another room, in a game whose rooms have no sign of their own: it is asked."""
        table = self._profile.room_table
        if answer.ending is not AnswerEnding.DONE or table.title:
            return False
        looked = await self._typist.ask(typed(self._profile, "look"))
        return self._enter(looked, way, is_asked=True, other_than=before)

    def _way(self, direction: str, scene: Scene) -> str:
        """Return the exit that is meant; where the game lists none, any direction. Raises ToolFailed."""
        wanted = plain(direction).removeprefix("go ").removeprefix("to ")
        exits = scene.exits or (*DIRECTIONS.values(), "in", "out")
        if len(found := candidates(DIRECTIONS.get(wanted, wanted), exits)) == 1:
            return exits[found[0]]
        behind = {name: way for way, name in scene.behind.items()}
        by_room = candidates(wanted, list(behind))
        return list(behind.values())[by_room[0]] if len(by_room) == 1 else exits[self._pick(direction, exits, "Exits")]

    def _scene(self) -> Scene:
        room, people = self._around.room, self._around.names()
        behind = {way: name for way, name, _ in self._around.ways(room.key) if name}
        return Scene(
            room.name, room.description, room.exits, tuple(map(self._person, people)),
            tuple(Thing(name, "", 0) for name in room.things), 0, room.key,
            tuple(f"{room.key}:{way}" for way in room.exits), behind=behind,
        )  # fmt: skip

    def _known_names(self) -> list[str]:
        """Return the names of those who are here, in the game or spoke, each once, without the character."""
        spoke = self._ears.spoke.values()
        names = {bare_name(name): name for name in (*self._around.names(), *self._listed, *spoke)}
        return [name for name in names.values() if loosely(name) != loosely(self._me.name)]

    def _principal(self, name: str) -> Principal:
        """Return who has a name that the game lists."""
        return self._persons.creature(name) if self._is_creature(name) else self._persons.meet(name)

    def _seen(self, name: str) -> Principal | None:
        """Return who has a name, without noting that they were seen."""
        return self._persons.creature(name) if self._is_creature(name) else self._persons.holder_of(name)

    def _is_creature(self, name: str) -> bool:
        return has_article(name) or (" " in name and self._profile.speech.names == "word")

    def _person(self, name: str) -> Person:
        return Person(name, authority=0, id=self._principal(name).id)

    def _text(self, answer: Answer) -> str:
        """Return what the game printed, made safe to show."""
        printed = answer.sentence or "\n".join(text for text, _ in answer.lines)
        return clean_heard(printed, keep_newlines=True)

    def _pick(self, wanted: str, names: Sequence[str], what: str = "You see") -> int:
        return self._pick_person(wanted, [("", name) for name in names], None, what)

    def _pick_person(self, wanted: str, people: Sequence[tuple[str, str]], only: Audience, what: str) -> int:
        try:
            return pick_person(wanted, people, only, what=what)
        except ToolFailed as failed:
            failed.authority = 0
            raise
