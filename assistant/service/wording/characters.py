"""The texts for an owner about characters: what an import would bring, who a character is, which lore a line brings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mud_assistant.assistant.characters import FOLDER, Activated, CardPreview, Character, FoundCharacter, LorePiece
from mud_assistant.assistant.characters.character import CHAR, Topic
from mud_assistant.assistant.characters.macros import insert_names
from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.memory.topics import FoundTopics
from mud_assistant.tools.text.clean import one_line

#: The longest text shown of a persona, a greeting and a piece of lore, in characters.
_PERSONA, _LINE = 1500, 160
#: The most greetings, pieces of lore and sentences about what is left out that are shown.
_FEW, _MANY = 5, 20


def preview_text(preview: CardPreview) -> str:
    """Say what importing a card would bring, what of it is left out, and what is only shown."""
    if preview.kind == "lorebook":
        lines = [f"A lorebook ({preview.version}) with {_count(preview.character.lore.entries, 'piece', 'pieces')}."]
        return "\n".join([*lines, *_lore(preview.character), *_dropped(preview)])
    by = f", by {one_line(preview.creator, max_chars=_LINE)}" if preview.creator else ""
    lines = [f"A character card ({preview.version}){by}.", character_text(preview.character)]
    lines.append(f"Every prompt begins with about {preview.front_tokens} tokens of it.")
    if preview.creator_notes:
        lines.append(f"A note for you: {one_line(preview.creator_notes, max_chars=_PERSONA)}")
    unused = (preview.system_prompt, preview.last_instructions)
    for what, text in zip(("system prompt", "instructions behind the conversation"), unused, strict=True):
        shown = one_line(text, max_chars=_PERSONA)
        lines += [f"Its {what}, not used, as it would replace our rules: {shown}"] if text else []
    return "\n".join([*lines, *_dropped(preview)])


def character_text(character: Character) -> str:
    """Say who a character is: name, persona, speech, greetings, examples, lore."""
    name = character.name

    def shown(text: str, longest: int) -> str:
        return one_line(insert_names(text, char=name), max_chars=longest)

    lines = [f"Name: {name}"]
    lines += [
        f"{what}: {shown(text, _PERSONA)}"
        for what, text in (("Persona", character.persona), ("Speech", character.speech))
        if text
    ]
    if character.greetings:
        lines.append(f"{_count(character.greetings, 'greeting', 'greetings')}, said without asking the model:")
        lines += [f"  {shown(text, _LINE)}" for text in character.greetings[:_FEW]]
    if character.examples:
        lines.append(f"{_count(character.examples, 'example', 'examples')} of how {name} talks:")
        lines += [f"  {shown(heard, _LINE)} -> {shown(said, _LINE)}" for heard, said in character.examples[:_FEW]]
    if topics := character.topics:
        lines.append(f"{_count(topics, 'topic', 'topics')}, said as written when a line asks for one:")
        lines += [f"  {one_line(topic.title, max_chars=_LINE)}: {_asked_by(topic)}" for topic in topics[:_MANY]]
        lines += [f"  and {len(topics) - _MANY} more"] if len(topics) > _MANY else []
    if character.lore.entries:
        lines.append(f"{_count(character.lore.entries, 'piece', 'pieces')} of lore:")
    return "\n".join([*lines, *_lore(character)])


def playing_text(settings: AssistantConfig, found: FoundCharacter | None) -> str:
    """Say who an assistant is: whom it plays, persona, greetings, examples and lore. `settings` have the character."""
    name = settings.name
    lines = [f"{name} plays no character of a file."]
    if found is not None:
        its = f", whose own name is {found.character.name}" if found.character.name != name else ""
        lines = [f"{name} plays {settings.character}{its}, {_origin(found)}."]
    lines.append(f"Who it is: {settings.persona}")
    greetings = [one for one in (settings.greeting, *settings.more_greetings) if one]
    if greetings:
        lines.append(f"{_count(greetings, 'greeting', 'greetings')}, said without asking the model:")
        lines += [f"  {one_line(one, max_chars=_LINE)}" for one in greetings[:_FEW]]
    if settings.voice:
        lines.append(f"{_count(settings.voice, 'example', 'examples')} of how {name} talks:")
        lines += [
            f"  {one_line(heard, max_chars=_LINE)} -> {one_line(said, max_chars=_LINE)}"
            for heard, said in list(settings.voice.items())[:_FEW]
        ]
    if found is not None and (topics := found.character.topics):
        lines.append(f"{_count(topics, 'topic', 'topics')}, said as written when a line asks for one.")
    if found is not None and found.pieces:
        lines.append(f"{_lore_count(found.pieces)}. To see them: assistant/lore {name}")
    return "\n".join(lines)


def played_text(found: FoundCharacter, name: str, gave_way: Iterable[str]) -> str:
    """Say that an assistant plays a character from now on, and what of its own settings is laid aside for it."""
    kinds = {"persona": "persona", "voice": "examples", "greeting": "greeting"}
    what = [word for field, word in kinds.items() if field in set(gave_way)]
    aside = f" Its own {_joined(what)} {'is' if len(what) == 1 else 'are'} laid aside." if what else ""
    held = _joined(
        [
            _count(found.character.greetings, "greeting", "greetings"),
            _count(found.character.examples, "example", "examples"),
            *([_count(topics, "topic", "topics")] if (topics := found.character.topics) else []),
            _lore_count(found.pieces),
        ]
    )
    return f"{name} plays {found.name} from now on, {_origin(found)}: {held}.{aside}"


def piece_text(piece: LorePiece, name: str) -> str:
    """Show a piece of lore whole: title, what brings it up, where it stands, text."""
    entry = piece.entry
    alone = "; for it alone, told to nobody" if entry.private else ""
    brought = "always shown" if entry.constant else f"brought up by: {', '.join(entry.keys)}"
    conditions = [
        f"with {entry.logic} of: {', '.join(entry.secondary)}" if entry.secondary else "",
        f"with any of: {', '.join(entry.additional)}" if entry.additional else "",
        f"never with: {', '.join(entry.excluded)}" if entry.excluded else "",
        f"in {entry.probability} of 100 cases" if entry.probability < 100 else "",  # noqa: PLR2004  (per cent)
        f"after {entry.after} lines of {name}'s" if entry.after else "",
    ]
    further = "".join(f"; {one}" for one in conditions if one)
    return (
        f"{entry.title} ({brought}{further}{alone}; it stands in {piece.file})\n{insert_names(entry.text, char=name)}"
    )


def activated_text(found: Activated, name: str) -> str:
    """Say which lore a line brings up, by which key, and what had no room."""
    if not found.entries and not found.left_out:
        return "That brings up no lore."
    lines = [f"That brings up {_count(found.entries, 'piece', 'pieces')} of lore, about {found.tokens} tokens:"]
    for entry in found.entries:
        text = one_line(entry.text.replace(CHAR, name), max_chars=_LINE)
        lines.append(f"  {entry.title} ({_why(found.why[entry.id])}): {text}")
    lines += [f"  {entry.title} ({_why(found.why[entry.id])}): no room; it is left out" for entry in found.left_out]
    return "\n".join(lines)


def found_topics_text(found: FoundTopics, name: str, everyday: FoundTopics) -> str:
    """Say which topic a line finds, and by which key or sample question, or what comes nearest.

    `everyday` is what it finds of what anybody says.
    """
    how = "" if found.by_meaning else " by its words"
    best = found.best
    if best is None or not found.meant:
        near = f" Nearest is {found.likely[0].title}." if found.likely else ""
        title = next((topic.title for topic in everyday.meant), "")
        plain = f" With a small model, the everyday words for '{title}' are said." if title else ""
        return f"That finds no topic{how}: the model answers.{plain}{near}"
    by = f"the key '{best.key}'" if best.key else f"'{one_line(best.by, max_chars=_LINE)}'"
    by += f" (nearness {best.near:.2f})" if found.by_meaning else ""
    lines = [f"That finds {_count(found.meant, 'topic', 'topics')}{how}, by {by}:"]
    for topic in found.meant:
        said = one_line(insert_names(topic.says[0], char=name), max_chars=_LINE)
        more = f" (1 of {len(topic.says)})" if len(topic.says) > 1 else ""
        lines.append(f"  {topic.title}: {said}{more}")
    return "\n".join(lines)


def _asked_by(topic: Topic) -> str:
    kinds = ["a story in parts"] if topic.parts else ["a riddle"] if topic.answers else []
    things = [_count(topic.says, "thing to say", "things to say")]
    return ", ".join([*kinds, *things, one_line(next(iter((*topic.asks, *topic.keys))), max_chars=60)])


def _origin(found: FoundCharacter) -> str:
    """Say where a character comes from."""
    if found.is_shipped:
        return "a character that ships with mud-assistant"
    where = found.path.name if found.path.stem == found.name else f"{found.name}/{found.path.name}"
    return f"from the file {FOLDER}/{where}"


def _lore_count(pieces: Iterable[object]) -> str:
    return f"{_count(pieces, 'piece', 'pieces')} of lore"


def _joined(words: Sequence[str]) -> str:
    """Join words by commas, the last by "and"."""
    return " and ".join([*filter(None, [", ".join(words[:-1])]), *words[-1:]])


def _why(key: str) -> str:
    return "always" if key == "always" else f"by '{key}'"


def _lore(character: Character) -> list[str]:
    entries = character.lore.entries
    shown = [
        f"  {entry.title}: {'always' if entry.constant else one_line(', '.join(entry.keys), max_chars=_LINE)}"
        for entry in entries[:_MANY]
    ]
    return [*shown, f"  and {len(entries) - _MANY} more"] if len(entries) > _MANY else shown


def _dropped(preview: CardPreview) -> list[str]:
    if not preview.dropped:
        return ["Nothing is left out."]
    more = [f"  and {len(preview.dropped) - _MANY} more"] if len(preview.dropped) > _MANY else []
    sentences = (one_line(sentence, max_chars=300) for sentence in preview.dropped[:_MANY])
    return ["Left out or changed:", *(f"  {sentence}" for sentence in sentences), *more]


def _count(things: Iterable[object], one: str, many: str) -> str:
    number = len(list(things))
    return f"{number} {one if number == 1 else many}"
