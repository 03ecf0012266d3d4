"""The desk of the page: everything that is read and done there, with the role checked and the words of players guarded.

Each method checks the role; the verbs of `assistant.service.operations` check it for all surfaces. Whoever may not read
the words of players gets values without them; whoever may is logged when they read them. No text leaves with a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from msgspec import convert

from mud_assistant.assistant.checks.finding import Finding
from mud_assistant.assistant.life.peace import EVERYBODY
from mud_assistant.assistant.page.operations import acting, gateway_keys, making, runs, settings, status
from mud_assistant.assistant.page.operations.sources import Sources, as_page_errors, log_reading, off_reactor
from mud_assistant.assistant.page.ports import InvalidInput, NotAllowed, Visitor
from mud_assistant.assistant.page.values.actions import (
    ActionDone,
    ApprovalDecision,
    ApprovalView,
    CardList,
    CardRead,
    CharacterView,
    LorePreview,
    ModelTried,
    NewAssistant,
    NewCard,
    NewModel,
    PlayerView,
    SettingChange,
    SettingChanged,
)
from mud_assistant.assistant.page.values.assistants import AssistantDetail, Overview, SettingLine
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.keys import GatewayKeyMade, GatewayKeyView, NewGatewayKey
from mud_assistant.assistant.page.values.life_view import InitiativeEstimate
from mud_assistant.assistant.page.values.money import UsageAnswer
from mud_assistant.assistant.page.values.runs import RunPage, RunQuery, RunView
from mud_assistant.assistant.service.operations import life, listed_promises, lore_pieces, planning, quiet

_VIEWER, _OPERATOR, _OWNER = VisitorRole.VIEWER, VisitorRole.OPERATOR, VisitorRole.OWNER


class Desk:
    """Everything the pages and the API read and do, over a service, a world and a journal.

    Every method takes who asks, and raises PageError. Ids are those of the journal and of the commands; "" stands for
    all assistants.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._scrub = sources.scrubbed

    async def overview(self, who: Visitor) -> Overview:
        """Return how all assistants are."""
        with self._for(who, _VIEWER):
            found = await status.overview(self._sources, is_hidden=_is_hidden(who))
            return await off_reactor(self._sources.service, lambda: self._scrub(found))

    async def assistant(self, who: Visitor, assistant: str) -> AssistantDetail:
        """Return all that is known of one assistant, but for its runs."""
        with self._for(who, _VIEWER):
            return self._scrub(await status.detail(self._sources, assistant, is_hidden=_is_hidden(who)))

    async def runs(self, who: Visitor, query: RunQuery) -> RunPage:
        """Return the runs that a search finds, newest first. A viewer may not search for words."""
        with self._for(who, _VIEWER):
            if query.text and _is_hidden(who):
                raise NotAllowed("only an operator may look for words: you may not read what players said")
            found = await self._sources.records.runs(query)
            if _is_hidden(who):
                return self._scrub(runs.without_words(found))
            log_reading(who, f"a list of {len(found.runs)} runs")
            return self._scrub(found)

    async def run(self, who: Visitor, run: str) -> RunView:
        """Return one run as a tree."""
        with self._for(who, _VIEWER):
            found = await runs.find_run(self._sources, run)
            if _is_hidden(who):
                return self._scrub(runs.hide_run(found))
            log_reading(who, f"{run} of {found.summary.assistant}")
            return self._scrub(found)

    async def approvals(self, who: Visitor) -> Sequence[ApprovalView]:
        """Return what waits for a decision, the oldest first."""
        with self._for(who, _VIEWER):
            found = acting.approvals(self._sources, is_hidden=_is_hidden(who))
            if found and not _is_hidden(who):
                log_reading(who, f"{len(found)} requests for leave")
            return [self._scrub(one) for one in found]

    async def decide(self, who: Visitor, assistant: str, number: int, decision: ApprovalDecision) -> ActionDone:
        """Allow or refuse what waits. Raises Conflict when it is not there any more, or is another call by now."""
        with self._for(who, _OPERATOR):
            return self._scrub(acting.decide(self._sources, who, assistant, number, decision))

    async def standing(self, who: Visitor) -> Sequence[ApprovalView]:
        """Return what was allowed for an hour."""
        with self._for(who, _VIEWER):
            return [self._scrub(one) for one in acting.standing(self._sources, is_hidden=_is_hidden(who))]

    async def revoke(self, who: Visitor, assistant: str, number: int) -> ActionDone:
        """End what was allowed for an hour."""
        with self._for(who, _OPERATOR):
            return self._scrub(acting.revoke(self._sources, who, assistant, number))

    async def usage(self, who: Visitor, by: str, since: str, until: str) -> UsageAnswer:
        """Return what was spent, by day, assistant, player, model or key; empty dates mean the present month."""
        with self._for(who, _VIEWER):
            found = await self._sources.records.usage(by, since, until)
            return await off_reactor(self._sources.service, lambda: self._scrub(found))

    async def doctor(self, who: Visitor, assistant: str) -> Sequence[Finding]:
        """Look for what is wrong. May take a minute, and asks a model one question."""
        with self._for(who, _OPERATOR):
            return [self._scrub(one) for one in await acting.examine(self._sources, assistant)]

    async def settings(self, who: Visitor, assistant: str) -> Sequence[SettingLine]:
        """Return the settings of an assistant, or of the whole game for ""."""
        with self._for(who, _VIEWER):
            return [self._scrub(one) for one in await settings.settings(self._sources, assistant)]

    async def change_setting(self, who: Visitor, assistant: str, change: SettingChange) -> SettingChanged:
        """Change one setting; a model is asked first, as by the command in the game."""
        with self._for(who, _OWNER):
            return self._scrub(await settings.change(self._sources, who, assistant, change))

    async def set_model(self, who: Visitor, assistant: str, wanted: NewModel) -> ModelTried:
        """Test another model with all checks of the doctor, and keep it when that is wanted and nothing is wrong."""
        with self._for(who, _OWNER):
            return self._scrub(await settings.set_model(self._sources, who, assistant, wanted))

    async def stop(self, who: Visitor, assistant: str) -> ActionDone:
        """Stop an assistant now, or all for "": in memory first, then written down. Safe to repeat."""
        with self._for(who, _OPERATOR):
            return self._scrub(acting.stop(self._sources, who, assistant))

    async def start(self, who: Visitor, assistant: str) -> ActionDone:
        """Let an assistant live again."""
        with self._for(who, _OPERATOR):
            if not assistant:
                raise InvalidInput("say which assistant is to start")
            there = self._sources.there
            return self._scrub(ActionDone(sentence=await life.start(there, who, there.find(assistant))))

    async def reset(self, who: Visitor, assistant: str) -> ActionDone:
        """Lift the emergency stop that crashed runs set."""
        with self._for(who, _OPERATOR):
            return self._scrub(ActionDone(sentence=life.reset(self._sources.there, who, assistant)))

    async def retry_parked(self, who: Visitor, assistant: str, event: str, *, clear: bool) -> ActionDone:
        """Try again what was put aside, or clear it."""
        with self._for(who, _OPERATOR):
            done = await life.retry(self._sources.there, who, assistant, [event], clear=clear)
            return self._scrub(ActionDone(sentence=done))

    async def drop_promise(self, who: Visitor, assistant: str, promise: str) -> ActionDone:
        """Drop something that an assistant promised."""
        with self._for(who, _OPERATOR):
            dropped = await listed_promises.drop(self._sources.there, who, assistant, promise)
            return self._scrub(ActionDone(sentence=dropped))

    async def want_quiet(self, who: Visitor, assistant: str, *, on: bool) -> ActionDone:
        """Let an assistant, or all for "", do nothing of its own accord, or the other way."""
        with self._for(who, _OPERATOR):
            wanted = quiet.want_quiet(self._sources.there, who, assistant or EVERYBODY, quiet=on)
            return self._scrub(ActionDone(sentence=await wanted))

    async def send_away(self, who: Visitor, assistant: str, *, on: bool) -> ActionDone:
        """Let an assistant be away, or be back."""
        with self._for(who, _OPERATOR):
            sent = quiet.send_away(self._sources.there, who, assistant, away=on)
            return self._scrub(ActionDone(sentence=await sent))

    async def plan(self, who: Visitor, assistant: str, price: str = "") -> InitiativeEstimate:
        """Return what impulses would cost in a month, at a price of a million tokens if one is given."""
        with self._for(who, _OPERATOR):
            found = await planning.plan(self._sources.there, who, assistant, price)
            return self._scrub(convert(found, InitiativeEstimate, from_attributes=True))

    async def character(self, who: Visitor, assistant: str) -> CharacterView:
        """Return who an assistant is and what it knows."""
        with self._for(who, _VIEWER):
            return self._scrub(await settings.character(self._sources, assistant))

    async def set_persona(self, who: Visitor, assistant: str, text: str) -> ActionDone:
        """Let it play a character, or be who the words say."""
        with self._for(who, _OWNER):
            return self._scrub(await settings.set_persona(self._sources, who, assistant, text))

    async def add_lore(self, who: Visitor, assistant: str, title: str, keys: Sequence[str], text: str) -> ActionDone:
        """Add a piece of lore."""
        with self._for(who, _OWNER):
            add = lore_pieces.add_piece(self._sources.there, who, assistant, title=title, keys=keys, text=text)
            return self._scrub(ActionDone(sentence=await add))

    async def delete_lore(self, who: Visitor, assistant: str, number: int) -> ActionDone:
        """Delete a piece of lore."""
        with self._for(who, _OWNER):
            deleted = await lore_pieces.delete_piece(self._sources.there, who, assistant, number)
            return self._scrub(ActionDone(sentence=deleted))

    async def preview_lore(self, who: Visitor, assistant: str, line: str) -> LorePreview:
        """Return which pieces a line would bring up."""
        with self._for(who, _VIEWER):
            return self._scrub(await settings.preview_lore(self._sources, assistant, line))

    async def create(self, who: Visitor, new: NewAssistant) -> ActionDone:
        """Make an assistant."""
        with self._for(who, _OWNER):
            return self._scrub(await making.create(self._sources, who, new))

    async def cards(self, who: Visitor) -> CardList:
        """Return which cards can be imported, and which characters there are."""
        with self._for(who, _OWNER):
            return self._scrub(await making.cards(self._sources))

    async def import_card(self, who: Visitor, wanted: NewCard) -> CardRead:
        """Show what a card brings, and import it when that is wanted."""
        with self._for(who, _OWNER):
            return self._scrub(await making.read_card(self._sources, who, wanted))

    async def say(self, who: Visitor, assistant: str, text: str) -> ActionDone:
        """Say something to an assistant, and wait for a while until it is dealt with."""
        with self._for(who, _OWNER):
            return self._scrub(await making.say(self._sources, who, assistant, text))

    async def player(self, who: Visitor, player: str) -> PlayerView:
        """Return what is kept of a player, as counts."""
        with self._for(who, _VIEWER):
            return self._scrub(await runs.find_player(self._sources, player))

    async def clear_mind(self, who: Visitor, assistant: str, *, memories: bool) -> ActionDone:
        """Delete what an assistant has in mind, and all its memories if told to."""
        with self._for(who, _OWNER):
            cleared = await life.clear_mind(self._sources.there, who, assistant, memories=memories)
            return self._scrub(ActionDone(sentence=cleared))

    async def forget_player(self, who: Visitor, player: str) -> ActionDone:
        """Delete what every assistant that runs keeps of a player."""
        with self._for(who, _OWNER):
            return self._scrub(await acting.forget_player(self._sources, who, player))

    async def gateway_keys(self, who: Visitor) -> Sequence[GatewayKeyView]:
        """Return the keys of programs that use the gateway, with what each used."""
        with self._for(who, _OWNER):
            return [self._scrub(one) for one in await gateway_keys.keys(self._sources)]

    async def add_gateway_key(self, who: Visitor, new: NewGatewayKey) -> GatewayKeyMade:
        """Make a key; its secret is in what is returned, and nowhere else."""
        with self._for(who, _OWNER):
            return await gateway_keys.add(self._sources, who, new)

    async def revoke_gateway_key(self, who: Visitor, name: str) -> ActionDone:
        """Let a key not be taken any more."""
        with self._for(who, _OWNER):
            return self._scrub(await gateway_keys.revoke(self._sources, who, name))

    async def health(self) -> Mapping[str, bool]:
        """Return what is ready: "journal" can be written, a "model" can be reached."""
        return status.health(self._sources)

    def _for(self, who: Visitor, needed: VisitorRole) -> AbstractContextManager[None]:
        """Check the role, and turn what is raised into errors of the page."""
        who.check(needed)
        return as_page_errors(self._sources.service.scrub)


def _is_hidden(who: Visitor) -> bool:
    """Tell whether the words of players are not for this visitor."""
    return not who.role.may(VisitorRole.OPERATOR)
