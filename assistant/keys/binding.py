"""Binds keys to servers: a key is for one origin, and a changed address voids it until it is entered again.

Pure. The caller stores what is remembered, in the journal. A binding holds a reference and an origin, and nothing of
the key.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from mud_assistant.resilience import origin_of


class KeyBinding(Struct, frozen=True):
    """The fact that the key of this reference goes to this origin."""

    reference: str
    origin: str

    @classmethod
    def of(cls, reference: str, url: str) -> KeyBinding:
        """Return the binding of a reference to the server of a URL."""
        return cls(reference, origin_of(url))


class Bound(Struct, frozen=True):
    """The key may go there: this binding is remembered, or there is no key."""


class Unbound(Struct, frozen=True):
    """A reference that is new: none is remembered. Once `binding` is remembered the key may go there."""

    binding: KeyBinding


class Voided(Struct, frozen=True):
    """The key was given for other origins, so it goes nowhere until it is entered again."""

    binding: KeyBinding
    given_for: tuple[str, ...]

    def __str__(self) -> str:
        """Return the sentence for the owner."""
        return (
            f"the key {self.binding.reference} was given for {' and '.join(self.given_for)} and is not sent to "
            f"{self.binding.origin}: enter the key again for the new address, or set the old address"
        )


BindingState = Bound | Unbound | Voided


def binding_state(reference: str, origin: str, remembered: Collection[KeyBinding]) -> BindingState:
    """Tell whether the key of a reference may go to an origin (`origin_of` makes one), by what is remembered.

    Entering a key again means remembering the new binding and forgetting the others of its reference (`rebind`).
    """
    binding = KeyBinding(reference, origin)
    if not reference or binding in remembered:
        return Bound()
    others = tuple(sorted(known.origin for known in remembered if known.reference == reference))
    return Voided(binding, others) if others else Unbound(binding)


def rebind(binding: KeyBinding, remembered: Collection[KeyBinding]) -> frozenset[KeyBinding]:
    """Return what is remembered after the owner entered a key again for another origin."""
    return frozenset(known for known in remembered if known.reference != binding.reference) | {binding}
