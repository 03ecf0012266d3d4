"""Completes with Tab in a trial: the commands, and the names of the people and things in the room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from assistant.surfaces.trial.commands import WITH_ARGUMENTS, WORDS
from tools import Scene

#: How many characters before the cursor a name may begin.
_REACH = 60


class RoomCompleter(Completer):
    """A completer for the scene that `in_sight` returns; None means that nothing is seen."""

    def __init__(self, in_sight: Callable[[], Scene | None]) -> None:
        self._in_sight = in_sight

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield the completions of the text before the cursor."""
        for text, length in completed(document.text_before_cursor, self._in_sight()):
            yield Completion(text, start_position=-length)


def completed(line: str, scene: Scene | None) -> list[tuple[str, int]]:
    """Return each completion of the line, with how many of the line's last characters it replaces."""
    word, blank, rest = line.partition(" ")
    if not blank and (not line or line.startswith("/")):
        found = [f"/{name}" for name in WORDS if f"/{name}".startswith(line.lower())]
        return [(f"{name} " if name[1:] in WITH_ARGUMENTS else name, len(line)) for name in found]
    if scene is None:
        return []
    people = [person.name for person in scene.people]
    things = [thing.name for thing in scene.things]
    match word.lower():
        case "/go":
            return _beginning(rest, scene.exits)
        case "/look":
            return _beginning(rest, [*people, *things])
        case "/whisper" | "/page" if "=" not in rest:
            return _beginning(rest, [f"{name} = " for name in people]) or _ending(rest, [*people, *things])
        case _:
            return _ending(line, [*people, *things])


def _beginning(text: str, names: Iterable[str]) -> list[tuple[str, int]]:
    """Return the names that begin with the text, each with the text's length."""
    return [(name, len(text)) for name in names if name.casefold().startswith(text.casefold())]


def _ending(text: str, names: Sequence[str]) -> list[tuple[str, int]]:
    """Return the names whose beginning is at the end of the text; the longest such beginning counts."""
    starts = [at for at in range(max(0, len(text) - _REACH), len(text)) if at == 0 or not text[at - 1].isalnum()]
    for at in starts:
        if text[at].isalnum() and (found := _beginning(text[at:], names)):
            return found
    return []
