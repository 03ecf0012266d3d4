"""Does what an operator asks for: stop, start, lift the emergency stop, try again, forget; characters and lore."""

from __future__ import annotations

from assistant.checks.finding import Finding
from assistant.journal import Forgotten
from assistant.page.operations.sources import Sources
from assistant.page.ports import InvalidInput, NotFound, Visitor
from assistant.page.values.actions import ActionDone, FindingView
from assistant.service.wording.rights import cleared_text
from tools import Principal

_NOBODY = "nobody runs, so there was nothing to stop"


def stop(sources: Sources, who: Visitor, assistant: str) -> ActionDone:
    """Stop an assistant, or all for "": in memory at once; then the world is told to keep them off.

    The game's database may be slow or gone: they are stopped all the same. Raises NotFound.
    """
    ids = [assistant] if assistant else list(sources.service.runners)
    was = sources.service.halt(assistant)
    name = sources.there.find(assistant).name if assistant else "all assistants"
    who.log(f"stops {name}")
    for id_ in ids:
        sources.launcher.launch(_keep_off(sources, id_), f"keeping {id_} off")
    if not was:
        return ActionDone(sentence=f"{name} does not run." if assistant else f"Stop: {_NOBODY}.")
    how = "it stays" if assistant else "they stay"
    return ActionDone(sentence=f"Stopped: {name}; {how} off until started again.", was=tuple(was))


async def _keep_off(sources: Sources, assistant: str) -> None:
    if sources.host.store is not None:
        await sources.host.store.stay_off(assistant)


async def start(sources: Sources, who: Visitor, assistant: str) -> ActionDone:
    """Let an assistant live again. Raises NotFound and what the world raises."""
    if not assistant:
        raise InvalidInput("say which assistant is to start")
    name = sources.there.find(assistant).name
    who.log(f"starts {name}")
    if assistant in sources.service.runners:
        return ActionDone(sentence=f"{name} runs already.")
    await sources.store.start(assistant)
    return ActionDone(sentence=f"{name} starts.")


def reset(sources: Sources, who: Visitor, assistant: str) -> ActionDone:
    """Lift the emergency stop that crashed runs set. Raises NotFound and Unavailable."""
    runner = sources.there.runner(assistant)
    name = runner.embodiment.me.name
    if not runner.emergency:
        return ActionDone(sentence=f"{name} has no emergency stop.")
    runner.clear()
    who.log(f"lifts the emergency stop of {name}")
    return ActionDone(sentence=f"{name} thinks again.")


async def retry_parked(sources: Sources, who: Visitor, assistant: str, event: str, *, clear: bool) -> ActionDone:
    """Try again what was put aside, or clear it. Raises NotFound, Unavailable and JournalError."""
    there, runner = sources.there.awake(assistant), sources.there.runner(assistant)
    journal, name = there.context.journal, runner.embodiment.me.name
    done = await (journal.discard(event) if clear else journal.unpark(event))
    if not done:
        raise NotFound(f"{name} has put aside nothing of this id")
    await runner.alarms.look()
    who.log(f"{'clears' if clear else 'tries again'} what {name} had put aside")
    if clear:
        return ActionDone(sentence=f"Cleared: {name} does not deal with it.")
    there.tick.wake()
    return ActionDone(sentence=f"{name} tries it again.")


async def clear_mind(sources: Sources, who: Visitor, assistant: str, *, memories: bool) -> ActionDone:
    """Delete what an assistant has in mind, and its memories. Raises NotFound, Unavailable and JournalError."""
    there, name = sources.there.awake(assistant), sources.there.runner(assistant).embodiment.me.name
    cleared = await there.clear_mind(memories=memories)
    who.log(f"clears the mind of {name}{' and its memories' if memories else ''}")
    return ActionDone(sentence=cleared_text(name, cleared, memories=memories))


async def forget_player(sources: Sources, who: Visitor, player: str) -> ActionDone:
    """Delete what every running assistant keeps of a player. Raises NotFound and JournalError."""
    if not player:
        raise NotFound("say which player")
    names = await sources.host.names([player])
    whom = Principal(player, names.get(player, player))
    total = Forgotten(0, 0, 0, 0)
    asleep: list[str] = []
    for runner in list(sources.service.runners.values()):
        if runner.assistant is None:
            asleep.append(runner.embodiment.me.name)
            continue
        gone = await runner.assistant.forget(whom)
        total = Forgotten(
            total.events + gone.events,
            total.runs + gone.runs,
            total.memories + gone.memories,
            total.entries + gone.entries,
            total.waiting + gone.waiting,
        )
    who.log(f"lets all assistants forget {player}")
    said = (
        f"Forgotten: {total.memories} memories, {total.entries} entries of what assistants have in mind, the records "
        f"of {total.runs} answers."
    )
    if total.waiting:
        said += f" {total.waiting} things they said wait for an answer: do this again after it."
    off = [known.name for known in sources.there.known() if known.id not in sources.service.runners] + asleep
    if off:
        said += f" These do not run, and forget nobody until they do: {', '.join(off)}. Do this again then."
    return ActionDone(sentence=said)


async def examine(sources: Sources, assistant: str) -> list[FindingView]:
    """Look for what is wrong with an assistant, or with all that run. May take a minute. Raises NotFound."""
    found = list(await sources.host.findings())
    runners = [sources.there.runner(assistant)] if assistant else list(sources.service.runners.values())
    seen: set[tuple[str, str, str]] = set()
    for runner in runners:
        findings: list[Finding] = []
        await sources.service.doctor(runner, findings.append)
        for one in findings:
            if (key := (one.check, one.state, one.sentence)) not in seen:
                seen.add(key)
                found.append(FindingView(check=one.check, state=one.state, sentence=one.sentence))
    return found
