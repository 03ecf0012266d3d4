"""What a model of a chain is asked, and whether its provider has told the client itself what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from mud_assistant.llm import LLMError, StreamBroken
from mud_assistant.llm.dialects.failures import RequestRefused, unsupported
from mud_assistant.llm.errors import LLMDeadlineExceeded, ProtocolError
from mud_assistant.llm.messages import Message, Role
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.request import CallOptions, merge
from mud_assistant.resilience import ResilienceError

_USUAL = CallOptions()


def was_told(error: LLMError | RequestRefused) -> bool:
    """Tell whether the provider itself said what is wrong, in what was passed on. It cannot say that it fell silent."""
    last = error.__cause__ if isinstance(error.__cause__, LLMError) else error
    is_ours = isinstance(last, StreamBroken | ProtocolError | LLMDeadlineExceeded | RequestRefused)
    return not is_ours and not isinstance(last.__cause__, ResilienceError)


def check_turns(messages: Sequence[Message], provider: LLMProvider) -> None:
    """Raise RequestRefused for a turn that the model should continue, where its server would begin a new one."""
    if messages[-1].role is Role.ASSISTANT and not provider.continues_turns:
        said = "messages: the last one is the assistant's, and the model behind this name cannot continue it"
        raise unsupported(said, "messages")


def options_of(link: Mapping[str, Any], asked: CallOptions, hops: int, images: tuple[int, int]) -> dict[str, Any]:
    """Return the options of a call: those of the model's settings, where the client says nothing else."""
    said = {name: value for name, value in structs.asdict(asked).items() if value != getattr(_USUAL, name)}
    options = {**link, **said}
    options["extra_params"] = merge(link.get("extra_params", {}), asked.extra_params)
    options["hops"], options["images"] = hops, images
    return options
