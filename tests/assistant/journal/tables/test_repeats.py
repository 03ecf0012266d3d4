"""Which answers go with a player who is forgotten: those that hold words which nobody else used."""

from __future__ import annotations

from typing import Any

from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import StreamChange, StreamEntry
from mud_assistant.assistant.journal.tables.repeats import has_any, own_words
from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.llm import ToolCall, tool_results, user
from mud_assistant.llm import assistant as said_by_model
from mud_assistant.llm.messages import ToolResult
from mud_assistant.tools import Principal
from tests.assistant.journal.keeping import TRIGGER, Place, response, rows, started, times_found

ANN, BEN = Principal("7", "Ann"), Principal("8", "Ben")


def test_ordinary_words_and_those_of_others_are_nobodys_own() -> None:
    own = own_words(["The heron nests where Ben lives"], ["Ben lives in the mill"])
    assert own == {"heron", "nests"}
    assert has_any("a HERON, said Sage", own)
    assert not has_any("Ben lives there", own)


def heard(who: Principal, text: str, number: int) -> StreamEntry:
    return StreamEntry((user(f'{who.name} says: "{text}"'),), 8, (f"e{number}",), 1, (who.id,))


def answered(who: Principal, text: str) -> StreamEntry:
    call = ToolCall("c1", "say", {"text": text})
    messages = (said_by_model(call), tool_results([ToolResult("c1", "say", "Done.")]))
    return StreamEntry(messages, 7, (), 1, (who.id,))


ENTRIES = (
    heard(ANN, "the heron nests by the quarry", 1),
    answered(ANN, "A heron, well."),
    heard(BEN, "rain again, and what of birds?", 2),
    answered(BEN, "Ann saw a heron by the quarry."),
    heard(BEN, "rain all day", 3),
    answered(BEN, "Rain it is."),
)


async def test_an_answer_to_another_goes_from_the_stream_and_from_the_records_and_the_rest_stays(
    place: Place, reactor: Any
) -> None:
    async with started(place, reactor) as journal:
        for number, (who, text, said) in enumerate(
            [
                (ANN, "the heron nests by the quarry", "A heron, well."),
                (BEN, "rain again, and what of birds?", "Ann saw a heron by the quarry."),
                (BEN, "rain all day", "Rain it is."),
            ]
        ):
            await journal.accept(Said(id=f"e{number + 1}", at=1.5, who=who, text=text, to_me=True), TRIGGER)
            run = await journal.open_run(await journal.pending())
            await journal.record_response(run, 1, response(ToolCall("c1", "say", {"text": said})))
            change = StreamChange(ENTRIES[2 * number : 2 * number + 2])
            await journal.close_run(run, Answered(("say",)), change)
        forgotten = await journal.forget_player(ANN.id)
        assert (forgotten.runs, forgotten.entries, forgotten.erased) == (2, 3, True)
    assert times_found(place, "heron") == 0
    assert times_found(place, "Rain it is") > 0
    assert rows(place, "SELECT count(*) FROM runs") == [(1,)]


def test_the_stream_in_memory_forgets_the_same() -> None:
    history = History(lambda messages: len(str(messages)) // 4, 10_000)
    history.load(ENTRIES)
    assert history.forget(ANN.id) == 3
    told = str(history.messages())
    assert "heron" not in told
    assert "Rain it is." in told
    assert "what of birds?" in told
