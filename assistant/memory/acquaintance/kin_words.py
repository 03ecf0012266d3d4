"""Knows the words for kin, animals and trades. Pure data, in English."""

from __future__ import annotations

_RELATIONS_TEXT = """
    mother father mum mom mama mam dad papa pa ma parent sister brother sibling twin son daughter child baby wife
    husband spouse partner betrothed fiance fianc\u00e9 fiancee fianc\u00e9e bride groom girlfriend boyfriend sweetheart
    lover aunt auntie uncle cousin niece nephew grandmother grandfather grandma grandpa granny gran grandad granddad nan
    grandson granddaughter grandchild grandparent stepmother stepfather stepsister stepbrother stepson stepdaughter
    godmother godfather godson goddaughter foster-mother foster-father mother-in-law father-in-law sister-in-law
    brother-in-law friend neighbour neighbor master mistress teacher mentor apprentice boss captain landlord landlady
    companion rival ward servant children kin widow ex boy girl lad lass missus wives twins
"""
_ANIMALS_TEXT = """
    dog hound puppy pup terrier cat kitten tomcat horse mare stallion pony foal colt donkey mule cow ox calf bull goat
    kid sheep lamb ram ewe pig sow piglet hen rooster cockerel goose duck swan turkey falcon hawk owl raven crow jackdaw
    magpie parrot bird canary pigeon dove ferret rabbit hare mouse rat squirrel hedgehog fox wolf bear monkey snake
    turtle tortoise lizard frog toad fish pet familiar camel llama yak reindeer bee spider dragon beast
"""
RELATIONS: frozenset[str] = frozenset(_RELATIONS_TEXT.split())
ANIMALS: frozenset[str] = frozenset(_ANIMALS_TEXT.split())
_TRADES_TEXT = """
    smith blacksmith goldsmith cook clerk scribe priest monk nun nurse midwife guard guardsman knight squire page maid
    judge thief spy bard poet minstrel piper harpist witch wizard mage apothecary physician surgeon cobbler cooper
    fletcher mason thatcher chandler tanner dyer fuller tinker sailor soldier tailor author doctor inventor actor
    merchant peddler pedlar lawyer mayor bailiff steward butler groom shepherd shepherdess cowherd goatherd swineherd
    student scholar apprentice journeyman herbalist mercenary smuggler pirate courier messenger porter pilot captain
    architect chef engineer secretary artist dancer singer actress seamstress waitress housewife ferryman fisherman
    fishwife huntress hunter alchemist astronomer cartographer acrobat juggler bookbinder clockmaker glassblower
"""
_TRADES = frozenset(_TRADES_TEXT.split())
_ENDINGS = (
    "smith", "wright", "monger", "maker", "herd", "keeper", "ist", "ician", "grapher", "logist", "eer", "ress", "man",
    "woman", "master", "worker", "blower", "binder", "er", "or",
)  # fmt: skip
#: Words with such an ending that are no trade.
_NO_TRADE_TEXT = """
    mother father sister brother daughter neighbour neighbor stranger foreigner newcomer traveller traveler wanderer
    visitor beginner member winner loser lover believer liar coward sinner survivor prisoner outsider islander villager
    customer other better older younger former later never ever her over under after another number letter matter
    supper dinner water winter summer river corner pair chair year player bit sleeper riser eater drinker talker speaker
    dreamer singer-along man woman gentleman human elder bachelor spinster owner reader listener
"""
_NO_TRADE = frozenset(_NO_TRADE_TEXT.split())
_SHORTEST = 5


def is_trade(word: str) -> bool:
    """Tell whether a word names what somebody does for a living."""
    word = word.removesuffix("s") if word.removesuffix("s") in _TRADES else word
    if word in _NO_TRADE:
        return False
    return word in _TRADES or (len(word) >= _SHORTEST and word.endswith(_ENDINGS))
