"""What an owner does with assistants, written once: each verb checks the right, does it, logs it and says what came.

operators.py     who does it, which role they have, and why it is refused (READ FIRST)
operated.py      what they work on: the service, and the store of settings of its world
approving.py     allow or refuse the exact call that was shown
life.py          stop, start, lift the emergency stop, try again what was put aside, clear a mind
listed_promises.py what assistants have promised, and letting one of it be
planning.py      what impulses would cost, before they are switched on
quiet.py         who is to do nothing of itself, and whom a player does not want to be spoken to by first
players.py       a player's rights: not be heard, see what is remembered of them, be forgotten
personas.py      who an assistant is
lore_pieces.py   what its character knows
typed_keys.py    refuses a key where only its reference belongs
matching.py      the one name that a text means

The game's commands, the page with its API, and the trial call these and show the sentence. What differs between a game
and a file of settings is behind what the verb is handed.
"""
