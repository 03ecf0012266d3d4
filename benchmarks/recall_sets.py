"""Sets for the ablation of `benchmarks.recall`: talks of two people, and a village in which one talks too much.

Each is made anew every time, the same each time. The talks are of many days. In them people do the same kinds of thing
again and again, so that many lines mean nearly the same and none of them corrects another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random

from benchmarks.recall_worlds import Row

#: The parts of a message: so many, of so many characters.
_MOST_PARTS, _SHORTEST_PART, _LONGEST_PART = 8, 30, 250
_CODE = re.compile(r"```.*?(?:```|$)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
_MARKUP = " #*-\n"
_A_DAY, _A_MINUTE = 86_400, 60
#: The share of what is told in the talk that answers a question in few words.
_SHORT = 0.3
_PEOPLE = ("Mara", "Jonas")
#: What people do again and again: what is asked of it, what is said of it, and how a question names it.
_HABITS = (
    ("How was the pottery class?", "At the pottery class I made {thing} and gave it to {who}.", "at the pottery class"),
    ("Did you bake again?", "On Sunday I baked {thing} and took it to {who}.", "on Sunday"),
    ("What do you read?", "I read {thing} at last and lent the book to {who}.", "to read"),
    ("Were you at the market?", "At the flea market I found {thing} and kept it for {who}.", "at the flea market"),
    ("Is the garden growing?", "In the garden I picked {thing} and brought them to {who}.", "in the garden"),
    ("Do you still sew?", "I have sewn {thing} by hand and sent it to {who}.", "to sew"),
)
_THINGS = (
    ("a blue bowl", "a tall vase", "a mug with a fish", "a teapot", "a candle holder", "an oval plate", "a salt jar"),
    ("a plum cake", "rye bread", "a lemon tart", "cinnamon rolls", "a walnut loaf", "almond biscuits", "a cheese pie"),
    ("a ghost story", "a novel on whales", "the life of a queen", "a guide to moths", "old fables", "a spy thriller",
     "poems of the sea"),
    ("a brass lamp", "a wooden owl", "a silver spoon", "a cracked mirror", "a leather trunk", "a pocket watch",
     "a violin"),
    ("red tomatoes", "sweet peas", "early radishes", "yellow tulips", "three pumpkins", "wild strawberries",
     "young leeks"),
    ("a linen shirt", "a quilt with stars", "a velvet purse", "a woollen cap", "a silk scarf", "a striped apron",
     "a pair of curtains"),
)  # fmt: skip
_FRIENDS = (
    "my aunt", "the neighbour", "my old teacher", "our postman", "my sister", "the dentist", "a cousin of mine",
    "my uncle", "the landlady", "my godchild", "the choir master", "my grandmother", "a colleague", "the baker's son",
)  # fmt: skip
_SMALL_TALK = (
    "That sounds lovely, I would like to see it.",
    "I was so tired all week, but I can't complain.",
    "We should meet for coffee one of these days.",
    "You always have something nice to tell.",
    "The weather is good for it, isn't it?",
    "I wish I had the patience for that.",
    "Work was busy again and I came home late.",
    "I am glad to hear that it went well.",
)


def cut_messages(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of a world with each long message as the turns of a talk: its first sentences, without code."""
    cut: list[Row] = []
    for row in rows:
        if row["kind"] != "memory":
            cut.append(row)
            continue
        sentences = (part.strip(_MARKUP) for part in _SENTENCE.split(_CODE.sub(" ", row["text"])))
        parts = [part[:_LONGEST_PART] for part in sentences if len(part) >= _SHORTEST_PART]
        more = {"part_of": str(row["id"])}
        cut += [row | more | {"id": f"{row['id']}.{n}", "text": text} for n, text in enumerate(parts[:_MOST_PARTS])]
    return cut


def make_talk() -> list[Row]:
    """Return a talk of two people over some ninety days, and questions for one line among many like it."""
    chance = Random(32)  # noqa: S311 - the same talk each time
    rows: list[Row] = []
    questions: list[Row] = []
    told = [
        (person, habit, number)
        for person in _PEOPLE
        for habit in range(len(_HABITS))
        for number in range(len(_THINGS[habit]))
    ]
    chance.shuffle(told)
    for day, (person, habit, number) in enumerate(told):
        asks, tells, where = _HABITS[habit]
        other = _PEOPLE[person == _PEOPLE[0]]
        thing, friend = _THINGS[habit][number], _FRIENDS[(number + 7 * (person == "Mara")) % len(_FRIENDS)]
        is_short = chance.random() < _SHORT
        line = f"{thing}, for {friend}.".capitalize() if is_short else tells.format(thing=thing, who=friend)
        lines = [(other, asks), (person, line), *((who, chance.choice(_SMALL_TALK)) for who in (other, person, other))]
        for place, (who, text) in enumerate(lines):
            rows.append(_memory("talk", f"t{day}.{place}", day * _A_DAY + place * _A_MINUTE, who, text))
        if day % 2:
            relative = friend.replace("my ", "the ").replace("our ", "the ").replace(" of mine", "")
            asked = f"What did {person} make, find or bring for {relative} {where}?"
        else:
            asked = f"Who got {thing} from {person}?"
        questions.append(_question("talk", asked, [f"t{day}.1"], "short" if is_short else "told"))
    return rows + questions


def make_village() -> list[Row]:
    """Return what the people of a village say of its places, one of them more than all others, and questions."""
    chance = Random(33)  # noqa: S311 - the same village each time
    places = ("mill", "harbour", "chapel", "bridge", "quarry", "orchard")
    news = (
        "The {} was flooded and is closed", "Somebody stole the rope from the {}", "The {} is haunted by an old monk",
        "My father was born beside the {}", "There is gold hidden under the {}", "A fox had her cubs behind the {}",
    )  # fmt: skip
    people = [f"villager{number}" for number in range(12)]
    rows, questions = list[Row](), list[Row]()
    for place in places:
        ids = []
        for number, text in enumerate(chance.sample(news, 3)):
            ids.append(f"{place}{number}")
            line = f"{text.format(place)}, as I heard it {chance.choice(('at dawn', 'last night', 'from a friend'))}."
            rows.append(_memory("village", ids[-1], chance.randrange(_A_DAY * 30), chance.choice(people), line))
        for number in range(140):
            line = f"The {place}, the {place}! What of the {place} number {number}?"
            if number % 2:
                line = f"I know all there is to know of the {place}, hear the {place} tale {number}."
            rows.append(_memory("village", f"{place}x{number}", chance.randrange(_A_DAY * 30), "grubb", line))
        questions.append(_question("village", f"What is known of the {place}?", ids, "flooded"))
    return sorted(rows, key=lambda row: row["at"]) + questions


def _memory(world: str, row_id: str, at: int, who: str, text: str) -> Row:
    return {"world": world, "kind": "memory", "id": row_id, "at": at, "heard": "room", "who": who, "text": text}


def _question(world: str, text: str, evidence: list[str], category: str) -> Row:
    return {"world": world, "kind": "question", "asker": "", "text": text, "evidence": evidence, "category": category}
