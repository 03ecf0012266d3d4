"""What happens now: the live events of all assistants, and the requests their models were sent last."""

from assistant.page.live.asked import AskedRequests
from assistant.page.live.hub import LiveHub, Subscriber, TooManyStreams
from assistant.page.live.ring import Published

__all__ = ["AskedRequests", "LiveHub", "Published", "Subscriber", "TooManyStreams"]
