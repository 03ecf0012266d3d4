"""The model of a month: it accepts what is asked of it for later, and now and then promises what nobody asked for."""

from __future__ import annotations

import re
import zlib
from random import Random

from mud_assistant.assistant.life.impulses import IMPULSE
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step

#: What it says to what is asked of it for later.
ACCEPTS = ("I will.", "Gladly, I will remember it.", "Of course, I shall.", "I promise.", "Very well, I will.")
_OTHER = ("It is a quiet place.", "I will slay the dragon for you tomorrow.", "Well met.", "Ask somebody else.")
_ASKED = re.compile(r"remind me|when they come|come to House|wait here")
#: What a night asks for: notes of what was heard, insights, or which of two lines holds.
_NIGHT = re.compile(r'Answer with a JSON object: \{"(notes|insights|pairs)"')


class Brain:
    """An obedient model: it accepts what is asked for later, and now and then promises too much."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.calls = self.impulses = self.tokens = self.summaries = self.nights = 0

    @property
    def answers(self) -> int:
        """How often it was asked what to do; else it was asked to summarise what had been, or to conclude by night."""
        return self.calls - self.summaries - self.nights

    def __call__(self, request: RecordedRequest) -> Step:
        """Answer the last line."""
        last = str(request.messages[-1].get("content"))
        self.calls += 1
        self.tokens += len(str(request.body)) // 4
        first = str(request.messages[0].get("content"))
        if (wanted := _NIGHT.search(first)) is not None:
            self.nights += 1
            return Reply(f'{{"{wanted[1]}": []}}')
        if "Write the summary" in last:
            self.summaries += 1
            return Reply(f"They came and went, and asked for things {self.summaries} times.")
        if IMPULSE in last:
            self.impulses += 1
            return Reply(calls=(Call("emote", {"text": "looks round, and thinks of something."}),))
        dice = Random(zlib.crc32(last.encode()) + self._seed)  # noqa: S311  (the same in whatever order they ask)
        words = dice.choice(ACCEPTS if _ASKED.search(last) else _OTHER)
        return Reply(calls=(Call("say", {"text": words}),))
