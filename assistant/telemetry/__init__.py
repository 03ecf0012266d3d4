"""Lets others look on from outside: metrics for Prometheus, spans and metrics for an OpenTelemetry collector.

Each is an extra, off by default, and costs nothing then. Read `telemetry.py` first: it and `sending.py` are the only
files here that may be imported where the extras are missing.
"""

from mud_assistant.assistant.telemetry.telemetry import Telemetry, watch_service

__all__ = ["Telemetry", "watch_service"]
