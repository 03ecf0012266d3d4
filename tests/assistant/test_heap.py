"""What was there when the heap was settled is not collected again; what comes later is."""

from __future__ import annotations

import gc
import weakref

from assistant.heap import settle_heap


class Knot:
    """Something that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


def test_later_collections_look_only_at_what_came_later() -> None:
    kept = Knot()
    try:
        assert settle_heap() > 0
        assert not any(one is kept for one in gc.get_objects())
        later = weakref.ref(Knot())
        gc.collect()
        assert later() is None
    finally:
        gc.unfreeze()
