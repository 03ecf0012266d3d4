"""Which servers the page shows: those in use, and for a while those that were asked lately."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.page.values.common import ServerStatus
from assistant.service.service import AssistantService
from assistant.service.wording.status import servers_text
from resilience import origin_of
from resilience.snapshot import UpstreamState

#: How long a server is shown that nobody thinks with, after it answered or failed last, in seconds.
SHOWN_SECONDS = 600.0


def servers_in_use(service: AssistantService) -> Sequence[UpstreamState]:
    """Return the servers that assistants think with, that calls are on their way to, or that were asked lately.

    One that was only tried once, and one that ended, as an embedded model does at each of its restarts, is left out
    after a while.
    """
    runners = service.runners.values()
    thinking = {origin_of(model.provider.get_api_url()) for runner in runners for model in runner.models}
    oldest = service.clock.seconds() - SHOWN_SECONDS
    return [
        server
        for server in service.pipeline.servers()
        if server.origin in thinking
        or server.in_flight
        or server.waiting
        or any(one.at >= oldest for one in server.recent[-1:])
    ]


def servers_of(service: AssistantService) -> tuple[ServerStatus, ...]:
    """Return these servers, each with the sentence that describes it elsewhere."""
    shown = servers_in_use(service)
    sentences = servers_text(service.pipeline.snapshot(), {server.origin for server in shown})
    return tuple(
        ServerStatus(
            origin=server.origin,
            circuit=server.state,
            open_for=server.open_for,
            failures_in_a_row=server.failures_in_a_row,
            in_flight=server.in_flight,
            waiting=server.waiting,
            sentence=sentence,
        )
        for server, sentence in zip(shown, sentences, strict=True)
    )
