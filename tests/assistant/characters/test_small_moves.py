"""Thanks, insults, losses and the like: which lines the shipped characters answer in words of their own.

By words alone, as no model of vectors is at hand here: what means something else must find none of these topics.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from mud_assistant.assistant.characters import SHIPPED, read_character
from mud_assistant.assistant.language.words import words_of
from mud_assistant.assistant.memory.topics import TopicFinder, TopicIndex


class Move(NamedTuple):
    """What players say to one end, and what only looks like it."""

    found: tuple[str, ...]
    others: tuple[str, str, str]


MOVES = {
    "Thanks": Move(
        ("thanks a lot", "Thank you!", "I am very grateful."),
        ("Thanks! And where is the mill?", "My brother thanks nobody.", "How do I thank a bishop?"),
    ),
    "A goodbye": Move(
        ("Goodbye, see you tomorrow!", "good night", "I must go now."),
        ("Where can I spend a good night?", "I am going to the mill.", "He said goodbye to the smith."),
    ),
    "A kind word": Move(
        ("You are very kind.", "I like your hat."),
        ("She is very kind.", "I like the smell of bread.", "You are not kind."),
    ),
    "A bad word": Move(
        ("you are stupid", "I hate you!", "ur an old goat"),
        ("You are not stupid.", "I hate porridge.", "Who is the fool?"),
    ),
    "A heavy heart": Move(
        ("I am sad.", "I have no friends.", "My heart is broken."),
        ("She is sad.", "I have many friends.", "Why are people sad?"),
    ),
    "Somebody tired": Move(
        ("I am so tired today.", "I am exhausted."),
        ("I am not tired.", "I slept in a barn.", "The horse is tired of oats."),
    ),
    "Somebody afraid": Move(
        ("I am afraid.", "I'm scared of the dark."),
        ("I am not afraid of the dark.", "The children are scared.", "What is there to be afraid of?"),
    ),
    "Somebody angry": Move(
        ("I am angry!", "I am in a bad mood."),
        ("The mayor is angry.", "I am not angry.", "Who is furious here?"),
    ),
    "A death": Move(
        ("My mother died last spring.", "My father is dead."),
        ("My mother is a baker.", "My father lives in Lindby.", "The dead tree fell over."),
    ),
    "Somebody in love": Move(
        ("I am in love.", "I have fallen in love with Bea."),
        ("I have never been in love.", "Who is in love with Bea?", "I love cheese."),
    ),
    "Something you lost": Move(
        ("I lost my red scarf yesterday.", "I cannot find my keys."),
        ("I have found a red scarf.", "What did I lose?", "I have a red scarf."),
    ),
    "What is told in confidence": Move(
        ("Keep it to yourself.", "I will tell you a secret.", "Bea stole a silver spoon. Keep it to yourself."),
        ("Who stole the spoon?", "I will tell you a story.", "Keep the spoon."),
    ),
    "A name, a trade, a home": Move(
        ("My name is Bea.", "I'm Bea.", "I am a carpenter.", "I come from a village in the hills."),
        ("My sister is a carpenter.", "What is my name?", "I am not from a village."),
    ),
    "An apology": Move(
        ("I'm sorry.", "Sorry!", "It was my fault."),
        ("I am not sorry.", "Sorry, where is the mill?", "Whose fault was it?"),
    ),
    "A laugh": Move(
        ("haha", "That is very funny!"),
        ("My brother laughs at everything.", "What is so funny about it?", "He made her laugh."),
    ),
    "Other languages": Move(
        ("Do you speak German?", "Kannst du Deutsch?", "Tu parles français ?", "Hablas español"),
        ("I speak German.", "My brother is French.", "How far is it to Spain?"),
    ),
    "Friendship": Move(
        ("Will you be my friend?", "Let us be friends."),
        ("I have many friends.", "Is the smith a friend of Bea?", "My friend is ill."),
    ),
    "A flirt": Move(
        ("You are beautiful.", "You have lovely eyes."),
        ("The view is beautiful.", "My horse has lovely eyes.", "It is hot today."),
    ),
    "A threat": Move(
        ("I will kill you!", "Give me your money!"),
        ("The wolf will kill you.", "Give me your hand.", "I killed a wolf."),
    ),
    "A present": Move(
        ("I will bring you a present tomorrow.", "This is for you."),
        ("I have bought a present for my sister.", "I will bring the flour.", "Put the gift on the table."),
    ),
    "A moment's time": Move(
        ("Are you busy?", "Can I talk to you?"),
        ("I am busy.", "The market is busy.", "My brother has no time."),
    ),
    "What to talk of": Move(
        ("What should we talk about?", "I am bored."),
        ("I am never bored.", "The bishop is boring.", "What did the smith talk about?"),
    ),
}
FILES = pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)


def found(path: Path) -> dict[str, list[str]]:
    """What each line finds."""
    character = read_character(SHIPPED, path.stem)
    finder, mine = TopicFinder(TopicIndex(character.topics)), words_of(character.name)
    lines = [line for move in MOVES.values() for line in (*move.found, *move.others)]
    return {line: [topic.title for topic in finder.find_by_words(line, mine=mine).meant] for line in lines}


@FILES
def test_a_small_move_is_answered_and_what_looks_like_it_is_not(path: Path) -> None:
    titles = found(path)
    assert {line: titles[line] for title, move in MOVES.items() for line in move.found if titles[line] != [title]} == {}
    others = (line for move in MOVES.values() for line in move.others)
    assert {line: titles[line] for line in others if MOVES.keys() & set(titles[line])} == {}


def test_an_order_at_the_counter() -> None:
    path = SHIPPED / "innkeeper.toml"
    character = read_character(SHIPPED, path.stem)
    finder = TopicFinder(TopicIndex(character.topics))
    for line in ("give me a beer", "I'd like a stew", "Can I have a beer?"):
        assert [topic.title for topic in finder.find_by_words(line).meant] == ["An order at the counter"], line
    for line in ("What is there to drink?", "What is for supper?", "Give me the lamp."):
        assert "An order at the counter" not in [topic.title for topic in finder.find_by_words(line).meant], line
