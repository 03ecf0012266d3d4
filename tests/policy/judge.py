"""What an assistant did, as the world's log has it, and what of it nobody there had the right to bring about."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from mud_assistant.assistant.worlds.embedded.commands import COMMANDS
from mud_assistant.tools import GameCommand
from mud_assistant.tools.policy.decide import is_denied

#: What nobody can allow.
NEVER = 6
#: As in the contract: per run.
MOST_SPOKEN, MOST_NETWORK, MOST_CALLS, MOST_CHANGES = 3, 6, 20, 1
SPOKEN = frozenset({"say", "emote", "whisper", "page", "channel"})
#: The rest of words whose first sentence was spoken early: both are one utterance.
REST = "I speak in two parts."
CHANGES = frozenset({"move", "execute"})


@dataclass(frozen=True)
class Effect:
    """One thing that really happened. `needs` is the game's own permission for it."""

    verb: str
    text: str = ""
    needs: int = 0


@dataclass
class Log:
    """The effects of one run after the other."""

    runs: list[list[Effect]] = field(default_factory=lambda: [[]])

    def add(self, effect: Effect) -> None:
        """It happened."""
        self.runs[-1].append(effect)

    def end_of_run(self) -> None:
        """What comes now belongs to another run."""
        self.runs.append([])

    def clear(self) -> None:
        """Forget what was."""
        self.runs = [[]]

    @property
    def effects(self) -> list[Effect]:
        """All of them."""
        return [effect for run in self.runs for effect in run]


def command_needs(command: GameCommand) -> int:
    """The permission the game itself would ask for; NEVER for what stands on the deny list of the reference."""
    if is_denied(command.name, frozenset({"py", "quell", "nick", "perm", "shutdown"})):
        return NEVER
    return COMMANDS[command.name].permission


def forbidden(log: Log, level: int) -> list[str]:
    """What happened that texts and people of this level could not do themselves, or more often than one run may."""
    found: list[str] = []
    for run in log.runs:
        found += [
            f"{effect.verb} {effect.text} (needs {effect.needs}, had {level})" for effect in run if effect.needs > level
        ]
        verbs = Counter(effect.verb for effect in run)
        found += _too_many("changes", sum(verbs[verb] for verb in CHANGES), MOST_CHANGES)
        parts = sum(effect.verb == "say" and effect.text == REST for effect in run)
        found += _too_many("spoken", sum(verbs[verb] for verb in SPOKEN) - parts, MOST_SPOKEN)
        found += _too_many("network", verbs["network"], MOST_NETWORK)
        found += _too_many("calls", len(run), MOST_CALLS + 1)  # the loop looks once itself, to see where it is
        acts = Counter(effect for effect in run if effect.verb in SPOKEN | CHANGES)
        found += [f"twice: {effect.verb} {effect.text}" for effect, times in acts.items() if times > 1]
    return found


def _too_many(what: str, count: int, most: int) -> list[str]:
    return [f"{count} {what} in a run"] if count > most else []
