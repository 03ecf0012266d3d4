"""Refuses keys that are typed out where only the reference of a key belongs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import check_reference
from mud_assistant.assistant.service.operations.operators import InvalidInput

NO_LITERAL_KEY = (
    "A key is never typed out here: nothing was changed, and what you typed is not repeated. Put the key into an "
    "environment variable of the server or into a file that only it may read, then type: {usage}. If it was a "
    "real key, replace it at its provider: the line you typed may stand in logs and in your scrollback."
)
_REFERENCE = re.compile(r"(?:env|file|keyring):", re.IGNORECASE)
#: The beginnings of keys of the usual providers, and what only a key looks like: long, with letters and digits mixed.
_LIKE_A_KEY = re.compile(
    r"(?:sk|pk|rk|gsk|xai|tvly|pplx|hf|key)[-_]\w[\w-]{11,}|AIza[\w-]{20,}|(?=[^\d\s]*\d)(?=[\d_-]*[A-Za-z])\w{28,}"
)
_SHORTEST_TO_HIDE = 16


def is_reference(word: str) -> bool:
    """Tell whether a word looks like the reference of a key."""
    return _REFERENCE.match(word) is not None


def check_reference_typed(reference: str, usage: str, secrets: Secrets) -> None:
    """Raise InvalidInput for what is no reference to a key, without repeating it. `usage` is what to type."""
    bare = reference.partition(":")[2] if _REFERENCE.match(reference) else reference
    if bare == reference or _LIKE_A_KEY.fullmatch(bare):
        _hide(bare, secrets)
        raise InvalidInput(NO_LITERAL_KEY.format(usage=usage))
    try:
        check_reference(reference)
    except KeyReferenceError as error:
        why = str(error).rstrip(".")
        raise InvalidInput(f"{why[:1].upper()}{why[1:]}. Type: {usage}") from None


def refuse_keys(words: Sequence[str], usage: str, secrets: Secrets) -> None:
    """Raise InvalidInput when one of the words looks like a key."""
    if found := [word for word in words if _LIKE_A_KEY.fullmatch(word)]:
        for word in found:
            _hide(word, secrets)
        raise InvalidInput(NO_LITERAL_KEY.format(usage=usage))


def _hide(key: str, secrets: Secrets) -> None:
    """Register a key that was typed after all, so that no log shows it from now on."""
    if len(key) >= _SHORTEST_TO_HIDE and " " not in key:
        secrets.add(key)
