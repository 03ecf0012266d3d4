"""Finds things that are asked for, or said to be here, and are not there. English. Pure.

A word is listed here when it names something one could point at in a room, and hardly ever means anything else. Words
that are often figures of speech or parts of bodies and landscapes (hand, heart, sea, road, light) are left out.
"""

from __future__ import annotations

import re

from mud_assistant.assistant.language.words import sentences_of, singular, words_of

_THINGS_TEXT = """
    accordion altar amulet anchor anvil apple apron aquarium armchair armor armour arrow axe badge bag bagpipe
    balcony ball balloon banjo banner barrel basin basket bat bath bathtub beaker bear bed bee beehive beer bell
    bellows belt bench bicycle bike bin binoculars bird blanket boat bomb bone book bookcase bookshelf boot bottle
    boulder bow bowl box bracelet branch bread brick bridge briefcase brooch broom brush bucket buckle bull bush
    butter butterfly button cabinet cage cake calendar camel camera campfire candelabra candle candlestick cane
    cannon cape car card carpet carriage cart carving cask casket castle cat cauldron chain chair chalice chalk
    chariot cheese cherry chess chessboard chest chicken chimney cloak clock closet cloth clothes coat coffin coin
    collar comb compass computer cooker cookie cork corpse couch cow cradle crane crate crow crown crystal cup
    cupboard curtain cushion dagger deer desk diamond diary dice dictionary dish dog doll dolphin donkey dragon
    drawer dress drum duck dummy eagle egg elephant envelope feather fence ferret fiddle file fireplace firewood
    fixture flag flask flower flute fork fountain fox frog furniture gem ghost glove goat goblet goose grape grave
    gravestone guitar gun hammer hammock harness harp hat hawk helmet hen horn horse horseshoe hourglass jar jewel
    jewellery jewelry jug juice keg kettle key kite kitten knife lace ladder ladle lamb lamp lance lantern laptop
    lemon letter lily lion lock lute lyre machine manuscript map mask mat microscope mirror money monkey mouse mug
    mule mushroom necklace needle nest net newspaper notebook onion orange organ oven owl ox painting pan paper
    parasol parchment parrot pearl pebble pen pencil pepper phone photo photograph piano picture pie pig pillow
    pin pipe pistol pitcher plate platter poker pond pony pool portrait poster pot potato potion pouch purse rabbit
    radio raven ribbon rifle ring robe robot rope rose ruby rug saddle safe sandwich satchel saw scale scarf
    scroll sculpture shawl sheep shelf shell shield shirt shoe shovel sink skeleton skull slipper soap sock sofa
    spade spear spectacles spider spoon staircase statue stool stove sundial sword table tank tapestry tea teapot
    telephone telescope television tent throne tie tiger toilet tomb torch towel toy train treasure trinket truck
    trumpet trunk tub tunnel umbrella vase vessel vine violin wagon wallet wand wardrobe watch weapon wheel whip
    whistle windmill window wine wolf yard
"""
THINGS: frozenset[str] = frozenset(_THINGS_TEXT.split())
#: How a line points at a thing as if it were there: "the old piano", "your cat", "how many swords".
_POINTED_AT = frozenset({"the", "your", "that", "this", "those", "these", "many"})
#: How a line asks for one that is here, or tells that there is one: "why do you keep a piano up here".
_ONE_OF_THEM = frozenset({"a", "an", "any", "some"})
_BEING_HERE = frozenset({"here", "there", "behind", "beside"})


def absent_things(line: str, known: frozenset[str]) -> list[str]:
    """Return the things `line` points at as if they were here and that are not `known`, in the order of mention."""
    words = words_of(line)
    pointers = _POINTED_AT | _ONE_OF_THEM if _BEING_HERE.intersection(words) else _POINTED_AT
    named = [(at, name) for at, name in enumerate(map(singular, words)) if name in THINGS and name not in known]
    return list(dict.fromkeys(name for at, name in named if pointers.intersection(words[max(0, at - 3) : at])))


def known_words(*texts: str) -> frozenset[str]:
    """Return the words of all `texts` in the singular."""
    return frozenset(singular(word) for text in texts for word in words_of(text))


DENIES = re.compile(r"(?i)\b(?:no|not|none|nothing|nor|never|without|cannot|isn|aren|don|doesn)\b|n['\u2019]t")
#: How a sentence says that something is here, where it can be seen.
_HERE = re.compile(
    r"(?i)\bhere (?:is|are|lies?|stands?|hangs?|sits?)\b|\bI (?:can )?see\b"
    r"|\b(?:is|are|lies?|stands?|hangs?|sits?) (?:right |over )?(?:here|there|in (?:this|the) (?:room|corner))\b"
)
_THEIRS = re.compile(r"(?i)\b(?:my|your|his|her|their)\b(?: \w+){1,2}|\b\w+['\u2019]s \w+")
_IS_TOLD = re.compile(
    r"(?i)\b(?:if|would|could|dream\w*|once|when|used to|story|song|sometimes|often|every|always|like)\b"
)


def things_said_to_be_here(answer: str, known: frozenset[str]) -> frozenset[str]:
    """Return the things that `answer` says to be here and that are not `known`.

    A story, a price or a wish may tell of any thing, and so may who speaks of what somebody wears or owns.
    """
    here = [one for one in sentences_of(answer) if _HERE.search(one) and not DENIES.search(one)]
    return (known_words(*(_THEIRS.sub("", one) for one in here if not _IS_TOLD.search(one))) & THINGS) - known
