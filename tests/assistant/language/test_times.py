"""When a line wants something, and how a time is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.language.later.hours import DAY, HOUR, MINUTE
from mud_assistant.assistant.language.times import When, find_when, spoken_time


@pytest.mark.parametrize(
    ("text", "when", "rest"),
    [
        ("ring the bell at dawn", When(hour=6), "ring the bell"),
        ("at first light, ring the bell", When(hour=6), "ring the bell"),
        ("ring the bell at high noon.", When(hour=12), "ring the bell."),
        ("ring it at midnight", When(hour=0), "ring it"),
        ("ring it before supper", When(hour=17.75), "ring it"),
        ("ring it tonight", When(hour=21), "ring it"),
        ("ring it this evening", When(hour=19), "ring it"),
        ("ring it when it gets dark", When(hour=18), "ring it"),
        ("ring it when the sun rises", When(hour=6), "ring it"),
        ("ring it at six", When(hour=6, is_either=True), "ring it"),
        ("ring it at six in the evening", When(hour=18), "ring it"),
        ("ring it at 6pm", When(hour=18), "ring it"),
        ("ring it at 18:30", When(hour=18.5), "ring it"),
        ("ring it at half past seven", When(hour=7.5, is_either=True), "ring it"),
        ("ring it at quarter to six", When(hour=5.75, is_either=True), "ring it"),
        ("seven o'clock, ring it", When(hour=7, is_either=True), "ring it"),
        ("ring it tomorrow", When(hour=8, days=1), "ring it"),
        ("ring it tomorrow at noon", When(hour=12, days=1), "ring it"),
        ("ring it at seven tomorrow evening", When(hour=19, days=1), "ring it"),
        ("ring it the day after tomorrow", When(hour=8, days=2), "ring it"),
        ("ring it in a minute", When(seconds=MINUTE), "ring it"),
        ("ring it in half an hour", When(seconds=HOUR / 2), "ring it"),
        ("ring it in an hour and a half", When(seconds=HOUR * 1.5), "ring it"),
        ("ring it in an hour or two", When(seconds=HOUR), "ring it"),
        ("ten minutes from now ring it", When(seconds=10 * MINUTE), "ring it"),
        ("ring it in two days", When(seconds=2 * DAY), "ring it"),
        ("ring it in a little while", When(seconds=10 * MINUTE), "ring it"),
        ("ring it every evening", When(hour=19, every=DAY), "ring it"),
        ("each day at noon ring it", When(hour=12, every=DAY), "ring it"),
        ("ring it at six every morning", When(hour=6, every=DAY), "ring it"),
        ("ring it every hour", When(every=HOUR), "ring it"),
        ("ring it every two hours", When(every=2 * HOUR), "ring it"),
        ("ring it nightly", When(hour=21, every=DAY), "ring it"),
        ("ring it when Ann comes", When(person="Ann"), "ring it"),
        ("as soon as ann gets here ring it", When(person="Ann"), "ring it"),
        ("once the old miller shows up, ring it", When(person="the old miller"), "ring it"),
        ("next time Captain Reed is here ring it", When(person="Captain Reed"), "ring it"),
        ("ring it when you next see Ann", When(person="Ann"), "ring it"),
        ("should Ann come by, ring it", When(person="Ann"), "ring it"),
        ("ring it when I'm back", When(person=""), "ring it"),
        ("ring it till I return", When(person=""), "ring it"),
    ],
)  # fmt: skip
def test_a_time_is_found_and_taken_out(text: str, when: When, rest: str) -> None:
    begin, end, found = find_when(text) or (0, 0, None)
    assert (found, text[:begin].rstrip(" ,") + text[end:].lstrip(" ,")) == (when, rest)


@pytest.mark.parametrize(
    "text",
    [
        "ring the bell", "it costs at two pennies", "when the time comes", "when it comes to that", "by one staircase",
        "at six coins a loaf", "I was there once", "more or less", "at home", "", "when winter comes",
    ],
)  # fmt: skip
def test_what_is_no_time_is_none(text: str) -> None:
    assert find_when(text) is None


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (When(hour=6), "at dawn"), (When(hour=7, is_either=True), "at seven"), (When(hour=18.5), "at 18:30"),
        (When(hour=19.5, is_either=True), "at half past seven"), (When(hour=12, days=1), "tomorrow at noon"),
        (When(hour=8, days=1), "tomorrow morning"), (When(hour=21, days=1), "tomorrow night"),
        (When(hour=8, days=2), "the day after tomorrow in the morning"), (When(hour=21, every=DAY), "every night"),
        (When(hour=19, every=DAY), "every evening"),
        (When(every=HOUR), "every hour"), (When(seconds=HOUR), "in an hour"), (When(seconds=300), "in five minutes"),
        (When(seconds=HOUR / 2), "in half an hour"), (When(person="Ann"), "when Ann comes"),
        (When(person=""), "when you are back"),
    ],
)  # fmt: skip
def test_a_time_is_said_as_people_say_it(when: When, said: str) -> None:
    assert spoken_time(when) == said


def test_of_the_asker_others_are_told_by_name() -> None:
    assert spoken_time(When(person=""), "Bea") == "when Bea is back"


_HOURS = st.sampled_from([6.0, 8.0, 12.0, 15.0, 17.75, 18.0, 19.0, 21.0, 0.0]) | st.integers(13, 23).map(float)
_TIMES = st.one_of(
    st.builds(When, hour=_HOURS),
    st.builds(When, hour=_HOURS, days=st.sampled_from([1, 2])),
    st.builds(When, hour=st.sampled_from([1.0, 6.0, 7.5, 11.0]), is_either=st.just(value=True)),
    st.builds(When, hour=st.sampled_from([6.0, 8.0, 12.0, 19.0, 14.0, 21.0]), every=st.just(DAY)),
    st.builds(When, seconds=st.integers(1, 59).map(lambda minutes: minutes * MINUTE)),
    st.builds(When, every=st.sampled_from([HOUR, 2 * HOUR, 10 * MINUTE])),
    st.builds(When, person=st.sampled_from(["Ann", "the miller", "Captain Reed"])),
)


@given(_TIMES)
def test_what_is_said_of_a_time_is_understood_as_that_time(when: When) -> None:
    said = spoken_time(when)
    assert find_when(said) == (0, len(said), when)


@given(st.text(max_size=80))
def test_any_text_is_taken(text: str) -> None:
    found = find_when(text)
    assert found is None or 0 <= found[0] < found[1] <= len(text)
