from __future__ import annotations

import pytest

from assistant.events import Event, Said, Whispered
from assistant.plain_text import PlainText, call_for_text
from tools import Principal

ANN = Principal("p", "Ann")
SPEECH = Said(id="1", at=0, who=ANN, text="hi")
WHISPER = Whispered(id="1", at=0, who=ANN, text="hi")


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
    ],
)
def test_text_becomes_the_call_the_setting_asks_for(
    setting: PlainText, event: Event | None, addressed: bool, tool: str
) -> None:
    call = call_for_text("Well.", setting, event, addressed=addressed, call_id="c")
    assert call is not None
    assert call.name == tool
    assert "Well." in call.arguments.values()


def test_a_whisper_goes_back_to_whoever_whispered() -> None:
    call = call_for_text("Well.", "speak", WHISPER, addressed=True, call_id="c")
    assert call is not None
    assert call.arguments == {"target": "Ann", "text": "Well."}


@pytest.mark.parametrize("text", ["", "  \n "])
def test_no_text_is_no_call(text: str) -> None:
    assert call_for_text(text, "speak", SPEECH, addressed=True, call_id="c") is None
