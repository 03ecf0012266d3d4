"""Runs a tool within its time, so that every use ends in an answer or in a sentence for the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from mud_assistant.llm.messages import ToolCall
from mud_assistant.resilience.background import Full
from mud_assistant.resilience.deadline import Deadline
from mud_assistant.resilience.errors import DeadlineExceeded
from mud_assistant.tools.errors import Away, NoAnswer, Status, ToolError, Unconfirmed, Unheard
from mud_assistant.tools.game import Written
from mud_assistant.tools.tool import Answer, Labelled

T = TypeVar("T")
_log = Logger()


async def run_within(
    limit: Callable[[], Deadline],
    work: Callable[[], Awaitable[T]],
    call: ToolCall,
    run_id: str,
    is_stopped: Callable[[], bool],
) -> T | NoAnswer:
    """Return what `work` gives in time, or why it gave nothing. `limit` is called only if there is a need to wait.

    Raises CancelledError only when `is_stopped` says that the cancellation is ours.
    """
    begun = Deferred.fromCoroutine(_await(work))
    if not begun.called:
        begun = limit().bound(begun)
    try:
        return await begun
    except Unheard as late:
        return NoAnswer(Status.UNHEARD, str(late))
    except Unconfirmed as unsure:
        return NoAnswer(Status.UNKNOWN, str(unsure), unsure.authority)
    except ToolError as refused:
        return NoAnswer(Status.FAILED, str(refused), getattr(refused, "authority", None))
    except DeadlineExceeded:
        return NoAnswer(Status.TIMED_OUT, f"{call.name} took too long and was stopped.")
    except CancelledError:
        if is_stopped():
            raise
        _note_crash(call, run_id)  # cancelled from elsewhere, such as by a lost connection
    except (Away, Full) as away:
        _log.warn("tool {tool} does not work now: {why}", tool=call.name, call_id=call.id, run_id=run_id, why=str(away))
    except Exception:  # noqa: BLE001 - a tool may raise anything; cancellation was dealt with above
        _note_crash(call, run_id)
    return NoAnswer(Status.CRASHED, f"{call.name} did not work because of an internal problem.")


def answer_text(answer: Answer | Labelled) -> str:
    """Return the answer as the model reads it."""
    bare = answer.answer if isinstance(answer, Labelled) else answer
    return bare if isinstance(bare, str) else bare.model_dump_json()


def answer_level(answer: Answer | Labelled) -> int | None:
    """Return the level the tool itself gives its answer, None when it gives none."""
    return answer.authority if isinstance(answer, Labelled | Written) else None


def answer_sources(answer: Answer | Labelled) -> tuple[str, ...]:
    """Return the ids of those whose words the answer holds, as far as the tool says so."""
    return tuple(sorted(answer.sources)) if isinstance(answer, Labelled) else ()


async def _await(work: Callable[[], Awaitable[T]]) -> T:
    """Await `work()` in a coroutine, so that an error before its first await is handled like any other."""
    return await work()


def _note_crash(call: ToolCall, run_id: str) -> None:
    _log.failure("tool {tool} crashed", tool=call.name, call_id=call.id, run_id=run_id)
