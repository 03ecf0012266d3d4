"""What assistants do unasked: what they promised, why they did something or did not, and who is to be quiet."""

from __future__ import annotations

from mud_assistant.assistant.page.values.common import Value


class PromiseLine(Value, frozen=True, kw_only=True):
    """Something that was promised. `text`, `asker` and `asker_id` are empty for a viewer.

    `number` counts those that are not over, from 1, and is 0 for all others. `state` is open, done, dropped, withdrawn
    (it cannot be kept, and the asker is still to be told) or told. `why` says what was seen of one that is kept, or why
    it ended. What was asked in private is shown without its words.
    """

    id: str
    number: int
    text: str
    asker: str
    asker_id: str
    state: str
    why: str
    made_at: float
    is_private: bool = False


class ReasonLine(Value, frozen=True):
    """Something that could have been done unasked, and why it was done or not. `times` counts the same in a row."""

    at: float
    what: str
    taken: bool
    why: str
    times: int = 1


class LifeView(Value, frozen=True):
    """What one assistant does unasked. `reasons` are the last ones, the newest first; those of others are not known.

    `quiet` says that it is to do nothing of its own accord, `away` that it does not greet either. `still` is why it
    does nothing now, empty when it may. `day` says what its day wants of it now, and whether it rests; empty while it
    does not run, and for one without days. `autonomous` are the deeds that its owner lets it do of its own accord.
    """

    promises: tuple[PromiseLine, ...] = ()
    reasons: tuple[ReasonLine, ...] = ()
    quiet: bool = False
    away: bool = False
    still: str = ""
    day: str = ""
    autonomous: tuple[str, ...] = ()


class InitiativeEstimate(Value, frozen=True):
    """What impulses would cost in a month, from the last days, in a sentence too.

    `tokens` is None when nothing is known of what one would take; `money` is None where no price is known.
    """

    sentence: str
    impulses: float
    tokens: int | None = None
    money: float | None = None


class LifeSwitch(Value, frozen=True):
    """The body of a switch."""

    on: bool
