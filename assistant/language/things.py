"""Finds things that are asked for, or said to be here, and are not there. English. Pure.

A word is listed here when it names something one could point at in a room, and hardly ever means anything else. Words
that are often figures of speech or parts of bodies and landscapes (hand, heart, sea, road, light) are left out.
"""

from __future__ import annotations

import re

from assistant.language.words import sentences_of, singular, words_of

_THINGS_TEXT = """
    abacus accordion altar amulet anchor anklet anvil apple apron aquarium armchair armor armour arrow ashtray
    axe backpack badge bagpipe balcony ball balloon bandage banjo banner barrel basin basket bat bath bathtub
    battery bead beaker bear bed bee beehive beer bell bellows belt bench bicycle bike binoculars bird birdcage
    blanket boat bomb bone bonnet book bookcase bookshelf boot bottle boulder bow bowl box bracelet branch bread
    brick bridge briefcase brooch broom brush bucket buckle bugle bull bush butter butterfly button cabinet cage
    cake calendar camel camera campfire canary candle candelabra candlestick cane cannon canoe cape car card
    carpet carriage cart carving cask casket castle cat cauldron cello chain chair chalice chalk chandelier
    chariot cheese cherry chess chessboard chest chicken chimney chisel cigar cigarette cloak clock closet coat
    cobweb coffin coin collar comb compass computer cookie cooker cork corkscrew corpse couch cow cradle crane
    crate crayon crocodile crossbow crow crown crucifix crystal cup cupboard curtain cushion dagger deer desk
    diamond diary dice dictionary dish dog doll dolphin donkey doorbell doormat dragon drawer dress drum dummy
    duck eagle earring easel egg elephant emerald envelope feather fiddle fig figurine file fireplace firewood
    flag flask flower flute fork fountain fox fridge frog furnace gargoyle garland gemstone ghost giraffe glove
    globe goat goblet goggles gong goose grape grave gravestone guitar gun hairbrush hammer hammock handkerchief
    harness harp harpsichord hat hatchet helmet hen herring hookah horn horse horseshoe hourglass icon idol
    jacket jar javelin jewel jug juice kayak keg kettle key kite kitten knife lace ladder ladle lamb lamp lance
    lantern laptop leash lemon letter lever lily lion lipstick lizard locket lock lute lyre mace machine magnet
    magnifier mandolin manuscript map marble mask mat mattress medal microscope mirror mitten money monkey moose
    mortar mousetrap mouse moustache mug mule mummy mushroom napkin necklace needle nest net newspaper notebook
    oar octopus onion orange organ oven owl ox padlock painting pan pancake panther paper parachute parasol
    parchment parrot peacock pearl pebble pen pencil pendant pepper phone phonograph photo photograph piano
    picture pie pig pigeon pillow pin pipe pistol pitcher pitchfork pizza plate platter plough plow pony
    portrait poster pot potato potion pouch printer puppet puppy purse pyramid quill rabbit radio raft rag rake
    raven razor ribbon rifle ring robe robot rocket rope rosary rose rowboat ruby rug ruler saddle safe sandal
    sandwich sapphire saucepan saw scale scarab scarecrow scarf sceptre scissors screwdriver scroll sculpture
    scythe seashell shawl sheep shelf shell shield shirt shoe shovel shrine sickle sieve skeleton skirt skull
    sled sledge sleigh slipper snail snake snowman soap sock sofa spade spear spectacles sphinx spider spoon
    squirrel stamp statue statuette stocking stool stove submarine suitcase sundial sunglasses swan sword
    syringe table tablecloth tambourine tank tapestry tea teacup teapot telephone telescope television tent
    throne tiara tie tiger toaster toilet tomb tombstone tongs toothbrush torch towel tractor train trampoline
    treasure tricycle tripod trombone trophy trousers truck trumpet trunk tub turtle typewriter umbrella unicorn
    urn vase vial vine violin waistcoat wagon wallet wand wardrobe washtub watch wheel wheelbarrow whip whistle
    aeroplane airplane bus falcon ferret goldfish hamster hawk helicopter microwave penguin shark smartphone tortoise
    whale wig windmill wine wolf wrench xylophone yacht zebra zither
"""
THINGS: frozenset[str] = frozenset(_THINGS_TEXT.split())
_TOLD_TEXT = """
    acorn bag bathroom bin bobbin cloth clothes corridor fence fixture furniture gazebo gem hallway jewellery jewelry
    lamppost lighthouse magazine pantry pond pool satchel shoelace sink staircase thimble toy trinket tunnel vessel
    volcano walnut weapon window yak yard
"""
#: Things that a line may well speak of though they are not here, and that an answer has no reason to make up. The
#: nouns of the examples (`loop/talk/question.py`) are among them.
_TOLD: frozenset[str] = frozenset(_TOLD_TEXT.split())
#: The things that an answer must not make up.
_INVENTED = THINGS | _TOLD
#: How a line points at a thing as if it were there: "the old piano", "your cat", "how many swords".
_POINTED_AT = frozenset({"the", "your", "that", "this", "those", "these", "many"})
#: How a line asks for one that is here, or tells that there is one: "why do you keep a piano up here".
_ONE_OF_THEM = frozenset({"a", "an", "any", "some"})
_BEING_HERE = frozenset({"here", "there", "behind", "beside"})


def absent_things(line: str, known: frozenset[str]) -> list[str]:
    """Return the things `line` points at as if they were here and that are not `known`, in the order of mention."""
    words = words_of(line)
    pointers = _POINTED_AT | _ONE_OF_THEM if _BEING_HERE.intersection(words) else _POINTED_AT
    found: dict[str, None] = {}
    for at, word in enumerate(words):
        name = singular(word)
        if name in THINGS and name not in known and pointers.intersection(words[max(0, at - 3) : at]):
            found[name] = None
    return list(found)


def known_words(*texts: str) -> frozenset[str]:
    """Return the words of all `texts` in the singular."""
    return frozenset(singular(word) for text in texts for word in words_of(text))


DENIES = re.compile(
    r"\b(?:no|not|none|nothing|nor|never|without|cannot|isn|aren|don|doesn)\b|n['\u2019]t", re.IGNORECASE
)


#: How a sentence says that something is here, where it can be seen.
_HERE = re.compile(
    r"\bhere (?:is|are|lies?|stands?|hangs?|sits?)\b|\bI (?:can )?see\b"
    r"|\b(?:is|are|lies?|stands?|hangs?|sits?) (?:right |over )?(?:here|there|in (?:this|the) (?:room|corner))\b",
    re.IGNORECASE,
)


_THEIRS = re.compile(r"\b(?:my|your|his|her|their)\b(?: \w+){1,2}|\b\w+['\u2019]s \w+", re.IGNORECASE)
_IS_TOLD = re.compile(
    r"\b(?:if|would|could|dream\w*|once|when|used to|story|song|sometimes|often|every|always|like)\b", re.IGNORECASE
)


def things_said_to_be_here(answer: str, known: frozenset[str]) -> frozenset[str]:
    """Return the things that `answer` says to be here and that are not `known`.

    A story, a price or a wish may tell of any thing, and so may who speaks of what somebody wears or owns.
    """
    here = [one for one in sentences_of(answer) if _HERE.search(one) and not DENIES.search(one)]
    return things_in(*(_THEIRS.sub("", one) for one in here if not _IS_TOLD.search(one))) - known


def things_in(*texts: str) -> frozenset[str]:
    """Return the things that the texts name, in the singular."""
    return known_words(*texts) & _INVENTED
