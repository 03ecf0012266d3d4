"""Virtual keys: what a program that uses the gateway shows, and what it may then use.

virtual_key.py   what a key is, and what stands for its secret (READ FIRST)
store.py         the file of keys, which commands and servers change at the same time
ring.py          decides whether a request is admitted
admission.py     a request that was admitted: who pays for it, what its key has left
spending.py      what keys may spend in a day and in a month
answers.py       for whom a provider keeps answers
pace.py          how fast keys ask, and who tries wrong ones
headers.py       says in headers what a key has left
wording.py       says in words what keys may do
"""

from mud_assistant.assistant.gateway.keys.admission import Admission
from mud_assistant.assistant.gateway.keys.headers import limit_headers
from mud_assistant.assistant.gateway.keys.ring import KeyRing, ring_of
from mud_assistant.assistant.gateway.keys.store import KeyStore, StoredKeys, key_store
from mud_assistant.assistant.gateway.keys.virtual_key import ANYONE, GatewayKeyError, KeyLimits, VirtualKey

__all__ = [
    "ANYONE",
    "Admission",
    "GatewayKeyError",
    "KeyLimits",
    "KeyRing",
    "KeyStore",
    "StoredKeys",
    "VirtualKey",
    "key_store",
    "limit_headers",
    "ring_of",
]
