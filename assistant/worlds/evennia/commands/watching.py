"""Shows an admin how an assistant is: its state, what it has in mind, its thinking live, what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.errors import AssistantError, ServiceNotRunning
from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.life.days import entry_text
from mud_assistant.assistant.loop.impulse_offers import own_deeds
from mud_assistant.assistant.loop.spending import TOTAL
from mud_assistant.assistant.memory.stream.entries import Entry
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.wording.showing import outcome_text, trace_text
from mud_assistant.assistant.service.wording.status import account_text, is_used_up, servers_text, trouble_text
from mud_assistant.assistant.worlds.evennia import creation, runners, server
from mud_assistant.assistant.worlds.evennia.commands.making import list_text, state_of
from mud_assistant.assistant.worlds.evennia.console import doctor
from mud_assistant.assistant.worlds.evennia.console.alerts import troubles_of
from mud_assistant.assistant.worlds.evennia.console.showing import count_of, cut, in_game_words, sentence
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    awake_assistant,
    find_assistant,
    runner_of,
    split_assistant,
)
from mud_assistant.assistant.worlds.evennia.console.web_address import page_address
from mud_assistant.llm.messages import Message
from mud_assistant.resilience.http.request import origin_of

#: How long the thinking is shown, in seconds.
WATCH_SECONDS = 3600.0
_ENTRIES, _MOST_ENTRIES = 10, 100
#: How many of the last reasons for doing something unasked, or not, are shown.
_REASONS = 3
#: The most characters of one line of a history, and of one cause.
_LINE, _CAUSE = 300, 400


def status(typed: TypedCommand) -> Answer:
    """Show the state of one assistant, or of all of them with the servers of their models."""
    if typed.left:
        return _one(find_assistant(typed.left, "assistant/status [NAME]"))
    address = page_address()
    where = [f"All of it on a page, for Admins logged in to the web site: {address}"] if address else []
    return "\n".join([list_text(typed), *troubles_of(None), *_servers(None), *where])


async def _one(character: Any) -> str:
    """Describe all that is known of one assistant, in a few lines."""
    where = character.location.key if character.location is not None else "nowhere"
    lines = [f"{character.key} (#{character.pk}) in {where}: {state_of(character)}"]
    troubles = troubles_of(server.id_of(character))
    trouble = in_game_words(runners.trouble_of(character)).rstrip(".")
    if trouble and not any(trouble.casefold() in line.casefold() for line in troubles):
        lines.append(f"Trouble: {cut(sentence(trouble), _CAUSE)}")
    lines += troubles
    runner = server.runner_of(character)
    if runner is None:
        return "\n".join([*lines, f"Start it with: assistant/start {character.key}"])
    lines += [f"{'Thinks with' if at == 0 else 'Falls back on'}: {one.why}" for at, one in enumerate(runner.models)]
    lines += await _of_mind(runner, character.key)
    lines += _budgets(character)
    return "\n".join([*lines, *_servers(runner)])


async def _of_mind(runner: AssistantRunner, name: str) -> list[str]:
    """Say what waits, what is asked for, and what the journal reports; nothing while the assistant is not awake."""
    if runner.assistant is None:
        return []
    context = runner.assistant.context
    lines = []
    try:
        waiting = len(await context.memory.journal.pending())
        waits = f"{count_of(waiting, 'thing')} heard {'waits' if waiting == 1 else 'wait'} to be dealt with"
        held = len(context.memory.history)
        lines.append(f"{waits}; {held} {'is' if held == 1 else 'are'} in mind.")
        unknown = await context.memory.journal.unknown_effects()
        if trouble := trouble_text((), unknown, "mud-assistant replay FILE --unknown"):
            lines.append(trouble)
    except AssistantError as error:
        lines.append(f"Its journal cannot be read: {cut(str(error), _CAUSE)}")
    if asked := len(context.tools.approvals.pending()):
        verb = "waits" if asked == 1 else "wait"
        lines.append(f"{count_of(asked, 'request')} {verb} for leave: assistant/approve {name}")
    return [*lines, *_unasked(runner.assistant, name)]


def _unasked(there: Assistant, name: str) -> list[str]:
    """Say what an assistant has promised, and what became of the last things it might have done of its own accord."""
    lines = []
    if made := len(there.context.memory.goals):
        lines.append(
            f"{count_of(made, 'promise')} {'is' if made == 1 else 'are'} to be kept: assistant/promises {name}"
        )
    if day := entry_text(there.initiative.entry_at_time(there.context.process.clock.seconds())):
        lines.append(f"By its day, {day}.")
    if own := sorted(own_deeds(there.context)):
        lines.append(f"Autonomous: it may {', '.join(own)} of its own accord. To end it: assistant/quiet {name} = on")
    for one in there.context.memory.reasons.latest[:_REASONS]:
        done = "done" if one.taken else "not done"
        lines.append(cut(f"Of its own accord {done}: {one.what} ({one.why})", _LINE))
    return lines


def _budgets(character: Any) -> list[str]:
    """Return the budgets that apply to an assistant and are used up, each with what lifts it."""
    names = {server.id_of(character): character.key, TOTAL: TOTAL}
    snapshot = server.service().pipeline.snapshot()
    lifts = {server.id_of(character): character.key, TOTAL: "all"}
    return [
        f"{account_text(account, snapshot.at, names)}. To lift that now: assistant/budget {lifts[account.name]} = none"
        for account in snapshot.accounts
        if account.name in names and is_used_up(account)
    ]


def _servers(runner: AssistantRunner | None) -> list[str]:
    """Describe the servers of one assistant's models, or of all. What was spent is left to /budget and /usage."""
    try:
        service = server.service()
        snapshot = service.pipeline.snapshot()
    except ServiceNotRunning as why:
        return [f"No assistant can live now: {why}."]
    web = [line for line in (*service.web.status().splitlines(), service.background) if line]
    if runner is None:
        return [*(servers_text(snapshot) or ["No model was asked yet."]), *web]
    origins = {origin_of(one.provider.api_url) for one in runner.models if one.provider.api_url}
    return [*(servers_text(snapshot, origins) or [f"{one}: was not asked yet" for one in sorted(origins)]), *web]


def history(typed: TypedCommand) -> Answer:
    """Show the last entries that an assistant has in mind."""
    usage = "assistant/history NAME [how many]"
    character, rest = split_assistant(" ".join(filter(None, (typed.left, typed.right))), usage)
    if rest and not rest.isdigit():
        raise CommandRefused(f"Type: {usage}")
    count = min(int(rest or _ENTRIES), _MOST_ENTRIES)
    entries = awake_assistant(character).context.memory.history.entries()
    shown = [line for entry in entries[-count:] for line in _entry(entry)] if count else []
    return "\n".join(shown) or f"{character.key} has nothing in mind yet."


def _entry(entry: Entry) -> Iterator[str]:
    """Format one entry as lines."""
    for message in entry.messages:
        yield from _message(message)


def _message(message: Message) -> Iterator[str]:
    for line in filter(None, message.text.split("\n")):
        yield cut(line, _LINE)
    for call in message.tool_calls:
        yield "  " + cut(f"-> {call.name} {dict(call.arguments)}", _LINE)
    for result in message.tool_results:
        yield "  " + cut(f"= {result.text}", _LINE)


def trace(typed: TypedCommand) -> Answer:
    """Show each step of an assistant's thinking as it happens, or stop showing it."""
    character = find_assistant(typed.left, "assistant/trace NAME")
    runner = runner_of(character)
    if (watch := watch_of(typed.account, runner)) is not None:
        watch.stop()
        return f"You are not shown any more how {character.key} thinks."
    if not typed.account.sessions.count():
        raise CommandRefused("Nobody is there to be shown it.")
    Watch(typed, runner, server.service().clock).start()
    return (
        f"You are shown how {character.key} thinks, for an hour or until you leave, or it is started anew. "
        f"To end it: assistant/trace {character.key}"
    )


def watch_of(account: Any, runner: AssistantRunner) -> Watch | None:
    """Return the watch of this account on this assistant, None when there is none."""
    watch = _watches(account).get(runner)
    if watch is not None and watch.is_over():
        watch.stop()
        return None
    return watch


def _watches(account: Any) -> dict[AssistantRunner, Watch]:
    """Return what an account watches, kept in memory with it. Watches that are over are dropped."""
    watches: dict[AssistantRunner, Watch] = account.ndb.assistant_watches or {}
    account.ndb.assistant_watches = {runner: one for runner, one in watches.items() if one in runner.observers}
    current: dict[AssistantRunner, Watch] = account.ndb.assistant_watches
    return current


class Watch:
    """Shows every run of one assistant to the player who asked, for an hour or until they leave the game."""

    def __init__(self, typed: TypedCommand, runner: AssistantRunner, clock: IReactorTime) -> None:
        self._typed = typed
        self._member = runner
        self._clock = clock
        self._ends_at = clock.seconds() + WATCH_SECONDS

    def start(self) -> None:
        """Start to show the runs."""
        _watches(self._typed.account)[self._member] = self
        self._member.observers.add(self)

    def stop(self) -> None:
        """Stop showing them."""
        _watches(self._typed.account).pop(self._member, None)
        self._member.observers.remove(self)

    def thinking(self, run_id: str, step: int) -> None:
        """Show that the model is about to be asked."""
        self._show(f"  [{run_id} step {step}] asks the model ...")

    def step(self, trace: StepTrace) -> None:
        """Show a step that is over."""
        self._show(trace_text(trace))

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Show how the run ended."""
        self._show(outcome_text(run_id, outcome))

    def is_over(self) -> bool:
        """Tell whether the hour is over, or the player has left."""
        account = self._typed.account
        return self._clock.seconds() >= self._ends_at or not account.pk or not account.sessions.count()

    def _show(self, text: str) -> None:
        if self.is_over():
            self.stop()
        else:
            self._typed.say(f"{self._member.embodiment.me.name}:\n{text}")


def examine(typed: TypedCommand) -> Answer:
    """Look for what is wrong with the game's installation and with one assistant."""
    is_meant = typed.left or len(creation.assistants()) == 1
    character = find_assistant(typed.left, "assistant/doctor [NAME]") if is_meant else None
    typed.say("Looking ... this may take a minute.")
    return _examine(typed, character)


async def _examine(typed: TypedCommand, character: Any) -> str:
    """Show each finding as it comes, and return a sentence for the end."""
    wrong = 0

    def show(finding: Finding) -> None:
        nonlocal wrong
        wrong += finding.state is FindingState.WRONG
        typed.say(finding.line())

    for finding in await doctor.findings():
        show(finding)
    for line in troubles_of(server.id_of(character) if character is not None else None):
        wrong += 1
        typed.say(line)
    runner = server.runner_of(character) if character is not None else None
    if runner is not None:
        await server.service().doctor(runner, show)
        for finding in doctor.counters(runner):
            show(finding)
    elif character is not None:
        typed.say(f"{character.key} is not running, so its model was not looked at: assistant/start {character.key}")
    elif creation.assistants():
        typed.say("To look at one assistant and its model as well: assistant/doctor NAME")
    return (
        "Nothing is wrong."
        if not wrong
        else f"{count_of(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong, see above."
    )
