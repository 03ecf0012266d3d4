"""Says a time, and lists what was asked for, as people read it: "remind you at dawn: the bread". English. Pure."""

from __future__ import annotations

from mud_assistant.assistant.events.goal import GoalKind
from mud_assistant.assistant.language.asked import Asked, to_listener
from mud_assistant.assistant.language.chores import WHOSE
from mud_assistant.assistant.language.time_words import DAY, HOUR, HOURS, MINUTE, NUMBERS, PARTS
from mud_assistant.assistant.language.times import When


def listed(asked: Asked, asker_name: str = "") -> str:
    """Return how a goal is listed: "remind you at dawn: the bread". To others than the asker give their name."""
    whom, time = asker_name or "you", spoken_time(asked.when, asker_name)
    if asked.kind is GoalKind.REMIND:
        return f"remind {whom} {time}{asked.what and ': '}{asked.what}"
    if asked.kind is GoalKind.TELL:
        if not asked.whom and asked.when.person:
            return f"tell {whom} {time}"
        time = "when they come" if asked.whom and asked.when.person == asked.whom else time
        return f"tell {asked.whom or whom} {time}: {asked.what}"
    if asked.kind is GoalKind.COME:
        return f"be {f'at the {asked.place}' if asked.place else 'here'} {time}"
    what = WHOSE.sub("the", asked.what) if asker_name else to_listener(asked.what)
    return f"{what} {time.replace('when', 'until', 1) if asked.kind is GoalKind.WAIT else time}"


def spoken_time(when: When, asker: str = "") -> str:
    """Return a time as the character says it to the asker, or of the `asker` to others: "when you are back"."""
    if when.person is not None:
        return f"when {when.person} comes" if when.person else f"when {f'{asker} is' if asker else 'you are'} back"
    if when.seconds is not None:
        return f"in {_spoken_amount(when.seconds)}"
    if when.hour is None:
        return f"every {_spoken_amount(when.every).removeprefix('an ').removeprefix('a ')}"
    said = next((said for said, hour in HOURS.items() if hour == when.hour and not when.is_either), "")
    said = said or f"at {_spoken_clock(when)}"
    part = said.removeprefix("in the ").removeprefix("at ")
    if when.every:
        return f"every {part}" if part in (*PARTS, "dawn", "noon", "dusk", "midnight") else f"every day {said}"
    if not when.days:
        return said
    day = "tomorrow" if when.days == 1 else f"in {when.days} days"
    return f"{day} {part}" if part in PARTS else f"{day} at night" if said == "tonight" else f"{day} {said}"


def _spoken_amount(seconds: float) -> str:
    size, name = next(((one, name) for one, name in _SIZES if seconds >= one), (1.0, "second"))
    count = seconds / size
    if seconds == HOUR / 2:
        return "half an hour"
    if count == 1:
        return f"{'an' if name == 'hour' else 'a'} {name}"
    words = {number: word for word, number in NUMBERS.items()}
    return f"{words.get(count) or f'{count:g}'} {name}s"


_SIZES = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (1.0, "second"))


def _spoken_clock(when: When) -> str:
    hour = when.hour or 0.0
    whole, minutes = int(hour), round(hour % 1 * 60)
    words = {number: word for word, number in NUMBERS.items()}
    if when.is_either and minutes in (0, 30):
        name = words.get(float(whole % 12 or 12), "twelve")
        return f"half past {name}" if minutes else name
    return f"{whole}:{minutes:02}"
