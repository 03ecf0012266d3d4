"""Makes a value once for all who ask for it meanwhile, and keeps it until it expires."""

from resilience.cache.cache import Cache, CacheStats
from resilience.cache.ttl_store import TtlStore

__all__ = ["Cache", "CacheStats", "TtlStore"]
