from __future__ import annotations

import pytest

from mud_assistant.assistant.events.events import ChannelSaid, Event, Paged, Said, Whispered
from mud_assistant.assistant.loop.speech.manner import PlainText, answer_by, call_for_text
from mud_assistant.tools import Principal

ANN = Principal("p", "Ann")
SPEECH = Said(id="1", at=0, who=ANN, text="hi")
WHISPER = Whispered(id="1", at=0, who=ANN, text="hi")
PAGE = Paged(id="1", at=0, who=ANN, text="hi")
CHANNEL = ChannelSaid(id="1", at=0, who=ANN, channel="Public", text="hi")
GRANT = frozenset({"say", "whisper", "page", "channel"})


@pytest.mark.parametrize(
    ("setting", "event", "addressed", "tool"),
    [
        ("think", SPEECH, True, "noop"),
        ("speak", SPEECH, False, "say"),
        ("speak", None, False, "say"),
        ("speak_if_addressed", SPEECH, True, "say"),
        ("speak_if_addressed", SPEECH, False, "noop"),
        ("speak_if_addressed", WHISPER, True, "whisper"),
        ("speak", WHISPER, True, "whisper"),
        ("speak_if_addressed", PAGE, True, "page"),
        ("speak_if_addressed", CHANNEL, True, "channel"),
        ("speak_if_addressed", CHANNEL, False, "noop"),
        ("speak", CHANNEL, False, "channel"),
        ("think", PAGE, True, "noop"),
    ],
)
def test_text_becomes_the_call_the_setting_asks_for(
    setting: PlainText, event: Event | None, addressed: bool, tool: str
) -> None:
    call = call_for_text("Well.", setting, event, addressed=addressed, call_id="c", grant=GRANT)
    assert call is not None
    assert call.name == tool
    assert "Well." in call.arguments.values()


def test_a_whisper_goes_back_to_whoever_whispered() -> None:
    call = call_for_text("Well.", "speak", WHISPER, addressed=True, call_id="c", grant=GRANT)
    assert call is not None
    assert call.arguments == {"target": "Ann", "text": "Well."}


@pytest.mark.parametrize(
    ("event", "arguments"),
    [(PAGE, {"target": "Ann", "text": "Well."}), (CHANNEL, {"channel": "Public", "text": "Well."})],
    ids=["page", "channel"],
)
def test_who_spoke_from_elsewhere_is_answered_there_or_not_at_all(event: Event, arguments: dict[str, str]) -> None:
    call = call_for_text("Well.", "speak", event, addressed=True, call_id="c", grant=GRANT)
    assert call is not None
    assert call.arguments == arguments
    nothing = call_for_text("Well.", "speak", event, addressed=True, call_id="c", grant={"say", "whisper"})
    assert nothing is not None
    assert (nothing.name, nothing.arguments) == ("noop", {"reason": "Well."})


@pytest.mark.parametrize(
    ("event", "grant", "tool"),
    [
        (PAGE, GRANT, "page"),
        (PAGE, {"channel"}, ""),
        (CHANNEL, GRANT, "channel"),
        (CHANNEL, {"page"}, "page"),
        (CHANNEL, {"say"}, ""),
        (SPEECH, GRANT, ""),
        (WHISPER, GRANT, ""),
        (None, GRANT, ""),
    ],
    ids=["page", "no page", "channel", "no channel", "neither", "speech", "whisper", "nothing"],
)
def test_the_tool_that_answers_where_the_event_was(event: Event | None, grant: set[str], tool: str) -> None:
    assert answer_by(event, grant) == tool


@pytest.mark.parametrize("text", ["", "  \n "])
def test_no_text_is_no_call(text: str) -> None:
    assert call_for_text(text, "speak", SPEECH, addressed=True, call_id="c", grant=GRANT) is None
