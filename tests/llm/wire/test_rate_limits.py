"""What headers say of limits: four families, durations and dates, and what is no wish at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.web.http_headers import Headers

from mud_assistant.llm import RateLimitInfo, get_provider
from mud_assistant.llm.wire.rate_limits import Moment, read_rate_limits, retry_wish, seconds_of, should_retry

NOON = 1_780_920_000.0  # Mon, 08 Jun 2026 12:00:00 GMT
AT = Moment(100.0, NOON)
DATE = "Mon, 08 Jun 2026 12:00:00 GMT"


def headers(**values: str) -> Headers:
    return Headers({name.replace("_", "-"): [value] for name, value in values.items()})


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("6s", 6), ("2ms", 0.002), ("1m30s", 90), ("1h0m0.5s", 3600.5), ("12.5s", 12.5), ("7", 7), ("0s", 0)],
)
def test_a_go_duration_is_not_a_number_of_seconds(duration: str, seconds: float) -> None:
    assert seconds_of(duration) == pytest.approx(seconds)


@pytest.mark.parametrize("junk", ["", "s", "1x", "-1s", "1m 30s", "nan", "soon", "inf"])
def test_what_is_no_duration(junk: str) -> None:
    assert seconds_of(junk) is None


def test_openai_tells_limits_rests_and_durations() -> None:
    told = Headers(
        {
            "x-ratelimit-limit-requests": ["500"],
            "x-ratelimit-remaining-requests": ["499"],
            "x-ratelimit-reset-requests": ["500ms"],
            "x-ratelimit-limit-tokens": ["30000"],
            "x-ratelimit-remaining-tokens": ["29000"],
            "x-ratelimit-reset-tokens": ["1m2s"],
        }
    )
    info = read_rate_limits(told, AT)
    assert info == RateLimitInfo(499, 29000, 100.5, 162.0, 500, 30000)
    assert get_provider("openai").parse_rate_limit_headers(told, AT) == info


def test_anthropic_tells_times_of_day() -> None:
    told = Headers(
        {
            "anthropic-ratelimit-requests-limit": ["1000"],
            "anthropic-ratelimit-requests-remaining": ["999"],
            "anthropic-ratelimit-requests-reset": ["2026-06-08T12:00:30Z"],
            "anthropic-ratelimit-tokens-remaining": ["5"],
            "anthropic-ratelimit-tokens-reset": ["2026-06-08T12:01:00+00:00"],
        }
    )
    assert read_rate_limits(told, AT) == RateLimitInfo(999, 5, 130.0, 160.0, 1000)


def test_the_servers_own_date_is_preferred_to_our_clock() -> None:
    told = Headers({"date": [DATE], "anthropic-ratelimit-tokens-reset": ["2026-06-08T12:00:09Z"]})
    for moment in (Moment(100.0), Moment(100.0, NOON + 5000)):
        info = read_rate_limits(told, moment)
        assert info is not None
        assert info.reset_tokens_at == 109.0


def test_a_reset_in_milliseconds_since_1970() -> None:
    info = read_rate_limits(Headers({"x-ratelimit-reset": [str(int((NOON + 4) * 1000))]}), AT)
    assert info is not None
    assert info.reset_requests_at == 104.0


def test_headers_that_say_nothing() -> None:
    assert read_rate_limits(Headers({"content-type": ["x"]}), AT) is None


@pytest.mark.parametrize(
    ("told", "retry_after"),
    [
        (headers(retry_after="5"), 105.0),
        (headers(retry_after="0.5"), 100.5),
        (headers(retry_after="Mon, 08 Jun 2026 12:00:07 GMT"), 107.0),
        (headers(retry_after_ms="250", retry_after="1"), 100.25),
        (headers(retry_after_ms="0", retry_after="1"), 101.0),
        (headers(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="1m"), 160.0),
        (headers(x_ratelimit_remaining_tokens="9", x_ratelimit_reset_tokens="1m"), None),
        (headers(retry_after="3600"), 3700.0),
    ],
)
def test_79_the_first_sensible_wish_counts(told: Headers, retry_after: float | None) -> None:
    assert retry_wish(told, AT) == retry_after


@pytest.mark.parametrize(
    "absurd", ["-5", "nan", "inf", "1e9", "Mon, 08 Jun 2020 12:00:00 GMT", "soon", "", "0", "99 Foo 2026", "9" * 400]
)
def test_80_an_absurd_wish_is_none(absurd: str) -> None:
    assert retry_wish(headers(retry_after=absurd), AT) is None


@pytest.mark.parametrize(("said", "meant"), [("true", True), ("False", False), ("maybe", None), ("", None)])
def test_x_should_retry(said: str, meant: bool | None) -> None:
    assert should_retry(headers(x_should_retry=said)) is meant


_NAMES = ("retry-after", "retry-after-ms", "date", "x-ratelimit-reset-tokens", "anthropic-ratelimit-tokens-reset")
_VALUES = st.one_of(st.text("0123456789.:-+TZhms eE,", max_size=40), st.floats().map(str), st.dates().map(str))


@given(st.dictionaries(st.sampled_from(_NAMES), _VALUES))
def test_no_header_raises(values: dict[str, str]) -> None:
    told = Headers({name: [value] for name, value in values.items()})
    read_rate_limits(told, AT)
    retry_after = retry_wish(told, AT)
    assert retry_after is None or retry_after >= 100.0


@pytest.mark.parametrize("said", ["1m 30s", "1m30", "s1m", "1m-30s", "1ms2", "m", "1..5s"])
def test_a_duration_with_anything_else_in_it_is_none(said: str) -> None:
    assert seconds_of(said) is None


def test_a_limit_that_cannot_be_read_leaves_the_next_name_for_it() -> None:
    headers = Headers({"x-ratelimit-remaining-requests": ["many"], "x-ratelimit-remaining": ["3"]})
    for _ in range(2):
        info = read_rate_limits(headers, AT)
        assert info is not None
        assert (info.remaining_requests, info.remaining_tokens) == (3, None)
