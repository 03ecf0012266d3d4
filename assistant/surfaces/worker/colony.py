"""The world that the assistants of a worker share: those that live in this process, and who speaks to them from afar.

An assistant that lives in another process is not there. The assistants are at home here: nobody sees them arrive when
they start, nor leave when another process runs them, or 200 in one room would write down 19,900 arrivals. Who speaks
from afar has a body in a room without exits, so that the assistants can answer with a page, and see no stranger beside
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.journal import HeldElsewhere
from mud_assistant.assistant.runtime.listener import BodyListener, MakeEvent
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.surfaces.serve.local_host import LocalAssistant
from mud_assistant.assistant.surfaces.worker.members import Member
from mud_assistant.assistant.worlds.embedded.hamlet import Place, Room
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld, LocalClock
from mud_assistant.tools import Principal
from mud_assistant.tools.verbs import ACCOUNT_TOOLS

if TYPE_CHECKING:
    from mud_assistant.assistant.runtime.sharing.journal import SharedJournal

#: Where the bodies of those are who speak from afar.
AFAR = Room("far away", "Far Away", "Nobody in this world comes here. Who is here speaks from somewhere else.", ())
#: How many of them are remembered; the one who spoke longest ago goes first.
MAX_SPEAKERS = 500


class Colony:
    """The assistants of one worker, and their world. `note` shows a line to the operator."""

    def __init__(
        self,
        place: Place,
        members: Sequence[Member],
        service: AssistantService,
        journal: SharedJournal,
        note: Callable[[str], None],
    ) -> None:
        self.members: Mapping[str, Member] = {member.me.id: member for member in members}
        self._service = service
        self._journal = journal
        self._note = note
        whole = replace(place, rooms=(*place.rooms, AFAR))
        self._world = EmbeddedWorld(whole, LocalClock(service.config.wall), service.clock.seconds)
        self._bodies = {id_: self._body(member) for id_, member in self.members.items()}
        #: By the name of the process, where those live that are not here.
        self._elsewhere: dict[str, str] = {}
        #: Those who spoke from afar, the last one last.
        self._speakers: dict[str, EmbeddedBody] = {}

    def begin(self, assistant: str, config: Config, entered: str = "") -> AssistantRunner:
        """Start an assistant, or restart it, with these settings and a key that was given just now."""
        member, body = self.members[assistant], self._bodies[assistant]
        place = Embodiment(
            member.me,
            body,
            ACCOUNT_TOOLS,
            gathered=partial(self._gather, assistant),
            enter=partial(self._enter, assistant),
            leave=partial(self._leave, assistant),
        )
        return self._service.start(place, config, entered)

    def where(self, assistant: str) -> str:
        """Return the name of the room that an assistant is in, or which process it lives in."""
        elsewhere = self._elsewhere.get(assistant)
        return self._bodies[assistant].room.name if elsewhere is None else f"lives on {elsewhere}"

    def locals(self) -> list[LocalAssistant]:
        """Return the assistants as the page sees them."""
        return [
            LocalAssistant(member.me, member.file, partial(self.begin, id_), where=partial(self.where, id_))
            for id_, member in self.members.items()
        ]

    def add_speaker(self, who: Principal) -> None:
        """Give a body to somebody who speaks from afar, so that they can be answered."""
        body = self._speakers.pop(who.id, None) or self._world.add(who, AFAR.key)
        self._speakers[who.id] = body
        if len(self._speakers) > MAX_SPEAKERS:
            self._world.remove(self._speakers.pop(next(iter(self._speakers))))

    def _body(self, member: Member) -> EmbeddedBody:
        """Return the body of an assistant, which has not entered the world."""
        start = self._world.rooms[self._world.start]
        body = EmbeddedBody(self._world, member.me, start, None, f"This is {member.me.name}.")
        body.listener = BodyListener(member.me, partial(self._hear, member.me.id), body.alone_with, body.others_than)
        return body

    def _hear(self, assistant: str, make: MakeEvent) -> None:
        if (runner := self._service.runners.get(assistant)) is not None:
            runner.hear(make)

    def _enter(self, assistant: str, _: Storage) -> None:
        """Let an assistant that begins to live here come into the world, and tell the operator."""
        body, before = self._bodies[assistant], self._elsewhere.pop(assistant, None)
        if body in self._world.bodies:
            return
        self._world.enter(body, quiet=True)
        name = self.members[assistant].me.name
        self._note(
            f"{name} lives here." if before is None else f"{name} lives here now: it was taken over from {before}."
        )

    def _leave(self, assistant: str, held: HeldElsewhere) -> None:
        """Take an assistant that lives elsewhere out of the world, and tell the operator when that is news."""
        self._world.remove(self._bodies[assistant], quiet=True)
        if self._elsewhere.get(assistant) != held.holder:
            self._elsewhere[assistant] = held.holder
            name = self.members[assistant].me.name
            self._note(f"{name} lives on {held.holder}; this process waits, and takes over when that one ends.")

    async def _gather(self, assistant: str) -> None:
        """Give bodies to those whose words an earlier process took in and did not answer. Raises JournalError."""
        for event in await self._journal.pending_messages(assistant):
            self.add_speaker(event.who)
