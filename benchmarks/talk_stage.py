"""One scripted talk: people in an embedded world say their lines, and note what they hear and see of a character."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from msgspec import structs
from twisted.internet.task import deferLater

from benchmarks.talk_staging import Stage, Staging
from mud_assistant.assistant.characters.day_entries import NO_DAYS
from mud_assistant.assistant.events.outcome import Failed, LimitReached, Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.loop.talk.question import front_of
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.assistant.runtime.warming import warm
from mud_assistant.assistant.service.parts import SharedParts
from mud_assistant.assistant.surfaces.standalone import StandaloneOptions
from mud_assistant.assistant.worlds.embedded.place_file import PlaceFileError, WrittenPlace, place_of
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody
from mud_assistant.resilience import HttpExchange, Ledger, Pipeline
from mud_assistant.tools import Kind, Principal, Status
from mud_assistant.tools.game import Thing

# Any: JSON.
Turn = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """One talk: who is there, in which place, and in each turn what is heard and what is expected."""

    id: str
    category: str
    place: WrittenPlace
    people: tuple[str, ...]
    turns: tuple[Turn, ...]
    #: The place as it was written, for judges.
    written: dict[str, Any]


def read_items(path: Path, sample: int = 0) -> list[Item]:
    """Read the items of a file, or `sample` of them spread over it. Raises PlaceFileError, OSError and ValueError."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    written = {one["place"]: one for one in records if one.get("kind") == "place"}
    places = {key: place_of(as_place(one), f"{path}: place {key}") for key, one in written.items()}
    told = [one for one in records if one.get("kind") == "item"]
    if 0 < sample < len(told):
        told = [told[at * len(told) // sample] for at in range(sample)]
    if missing := sorted({one["place"] for one in told} - set(places)):
        raise PlaceFileError(f"{path}: an item is in the place '{missing[0]}', which is not in the file")
    return [
        Item(
            str(one["id"]),
            one["category"],
            places[one["place"]],
            tuple(one["people"]),
            tuple(one["turns"]),
            written[one["place"]],
        )
        for one in told
    ]


def as_place(written: dict[str, Any]) -> dict[str, Any]:
    """Return the place without what a place file does not have: its character's voice, and what that carries."""
    return {key: value for key, value in written.items() if key not in {"voice", "carried"}}


class Player:
    """Plays items with the same models, each in a fresh world with a fresh character."""

    # Any: the reactor as clock.
    def __init__(
        self,
        reactor: Any,
        options: StandaloneOptions,
        models: Sequence[ChosenModel],
        exchange: HttpExchange,
        parts: SharedParts,
    ) -> None:
        ledger = Ledger(reactor.seconds, options.wall, 0)
        self._reactor = reactor
        self._options = options
        self._models = models
        self._exchange = exchange
        self._parts = parts
        self._pipeline = Pipeline(reactor, Random(), ledger, None)  # noqa: S311  (jitter)

    async def play(self, item: Item) -> dict[str, Any]:
        """Return what was said and done in each turn. Cancelling ends the talk cleanly."""
        options, watched = self._options, Watched(self._reactor)
        staging = Staging(
            self._reactor,
            self._exchange,
            self._pipeline,
            options.wall,
            options.secrets.scrub,
            options.secrets.pieces(),
        )
        character = item.place.character | {key: value for key, value in item.written.items() if key == "voice"}
        if character:  # of the place, in the stead of the one that the settings name
            character["character"] = ""
        settings, known = await self._parts.playing(options.config.assistant.model_copy(update=character))
        known = structs.replace(known, days=NO_DAYS)  # nobody goes to bed in the middle of an item
        known.everyday.prepare()
        while self._parts.embedder.is_on and not (known.topics.is_ready and known.everyday.is_ready):
            await deferLater(self._reactor, 0.1)  # a game's characters wait for nobody
        storage = in_memory(self._reactor.seconds, settings.inbox_limit)
        stage = await staging.settle(
            item.place.place, settings, self._models, storage, watched, on_failure=watched.failed, character=known
        )
        try:
            bodies = {
                name: stage.world.add(
                    Principal(f"player:{number}", name, Kind.PLAYER), "", watched, f"{name}, a traveller."
                )
                for number, name in enumerate(item.people)
            }
            stage.home.carried.extend(Thing(*one) for one in item.written.get("carried", {}).items())
            if self._models[0].may_be_warmed:
                await warm(stage.assistant, self._reactor)
            await stage.assistant.settled()
            examples, front = _shown_examples(stage), await _shown_front(stage)
            turns = [await self._turn(stage, bodies, turn, watched) for turn in item.turns]
        finally:
            await stage.assistant.stop()
        return {"turns": turns, "examples": examples, "front": front, "failures": watched.failures}

    async def _turn(
        self, stage: Stage, bodies: dict[str, EmbeddedBody], turn: Turn, watched: Watched
    ) -> dict[str, Any]:
        """Let everybody say their lines at once, and wait until all that follows from them is over."""
        watched.begin()
        for line in turn["heard"]:
            to = stage.home.principal.name
            await _deliver(bodies[line["who"]], line["how"], line["text"], to, aloud=to if line.get("to") else "")
        await stage.assistant.settled()
        return {
            **watched.end(),
            "room": stage.home.room.key,
            "held": {name: [thing.name for thing in body.carried] for name, body in bodies.items()},
            "carried": [thing.name for thing in stage.home.carried],
        }


async def _deliver(body: EmbeddedBody, how: str, text: str, to: str, *, aloud: str = "") -> None:
    """Say, whisper or page a line to the character, or make a pose or a step. Raises ValueError for anything else.

    `aloud` is whom a spoken line is plainly to, empty for everybody.
    """
    match how:
        case "say":
            await body.say(text, aloud)
        case "whisper":
            await body.whisper(to, text)
        case "page":
            await body.page(to, text)
        case "emote":
            await body.emote(text)
        case "go":
            await body.move(text)
        case _:
            raise ValueError(f"a line is said, whispered, paged, an emote or a step, not '{how}'")


def _shown_examples(stage: Stage) -> list[str]:
    """What the examples of the prompt let the character say."""
    return [
        str(value)
        for message in stage.assistant.context.model.window.front.messages
        for call in message.tool_calls
        for key, value in call.arguments.items()
        if key == "text"
    ]


async def _shown_front(stage: Stage) -> list[str]:
    """Return every text of the example turns in the prompt, lines and results too, without the system message."""
    context = stage.assistant.context
    messages = (await front_of(context) if context.is_asked_plainly else context.model.window.front.messages)[1:]
    texts: list[str] = []
    for message in messages:
        texts += [message.text, *(result.text for result in message.tool_results)]
        texts += [str(value) for call in message.tool_calls for value in call.arguments.values()]
    return [text for text in texts if text]


class Watched:
    """What the people hear and what the character does, with the time; the ears of all and the run's observer."""

    # Any: the reactor as clock.
    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self.failures: list[str] = []
        self.begin()

    def begin(self) -> None:
        """Begin a turn."""
        self._started = self._clock.seconds()
        self._first: float | None = None
        self._words: list[dict[str, str]] = []
        self._acts: list[dict[str, Any]] = []
        self._prompts: list[int] = []
        self._out = 0

    def end(self) -> dict[str, Any]:
        """Return what the turn was; times are in seconds from its beginning."""
        return {
            "words": self._words,
            "acts": self._acts,
            "seconds": self._since(),
            "first": self._first,
            "prompt_tokens": self._prompts,
            "output_tokens": self._out,
        }

    def failed(self, failure: Failed | LimitReached) -> None:
        """Note that the model could not be asked."""
        self.failures.append(str(failure))

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        """Note what was said aloud."""
        self._note(speaker, "say", text)

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        """Note what was whispered."""
        self._note(speaker, "whisper", text)

    def heard_page(self, speaker: Principal, text: str) -> None:
        """Note what was paged."""
        self._note(speaker, "page", text)

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        """Note what was said on a channel."""
        self._note(speaker, "channel", text)

    def saw_emote(self, actor: Principal, text: str) -> None:
        """Note a pose."""
        self._note(actor, "emote", text)

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        """Ignore a gift: what the character carries stands in the record."""

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        """Ignore an arrival: where the character is stands in the record."""

    def saw_departure(self, who: Principal, direction: str) -> None:
        """Ignore a departure likewise."""

    def thinking(self, run_id: str, step: int) -> None:
        """Ignore that the model is asked."""

    def step(self, trace: StepTrace) -> None:
        """Note the tokens and the acts of a step."""
        usage = trace.response.usage
        self._prompts.append(usage.input_tokens or trace.prompt_tokens)
        self._out += usage.output_tokens or 0
        for done in trace.executed:
            ok, arguments = done.status is Status.DONE, dict(done.call.arguments)
            self._acts.append({"tool": done.call.name, "args": arguments, "ok": ok, "status": str(done.status)})

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Ignore the end of a run: failures are told by themselves."""

    def _note(self, who: Principal, how: str, text: str) -> None:
        if who.kind is not Kind.ASSISTANT:
            return
        self._first = self._since() if self._first is None else self._first
        record = {"how": how, "text": text}
        if record not in self._words[-1:]:  # two people hear the same words
            self._words.append(record)

    def _since(self) -> float:
        return round(float(self._clock.seconds() - self._started), 2)
