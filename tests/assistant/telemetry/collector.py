"""A collector of OpenTelemetry on loopback: decodes what arrives with the official messages, and can fail."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from twisted.web.http import Request
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from tests.assistant.living import reactor


def plain(attributes: Any) -> dict[str, Any]:
    """Attributes of a span or a resource as values of Python."""

    def value(of: Any) -> Any:
        kind = of.WhichOneof("value")
        return [value(each) for each in of.array_value.values] if kind == "array_value" else getattr(of, kind)

    return {each.key: value(each.value) for each in attributes}


@dataclass(eq=False)
class Collector(Resource):
    """What arrived. It answers with `status`; 0 is no answer at all."""

    status: int = 200
    spans: list[Span] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    resources: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    channels: set[Any] = field(default_factory=set)
    url: str = ""
    isLeaf = True

    def __post_init__(self) -> None:
        Resource.__init__(self)

    def render_POST(self, request: Request) -> int | bytes:
        self.channels.add(request.channel)
        assert request.content is not None
        body = request.content.read()
        if request.getHeader("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.bodies.append(body)
        self.authorizations.append(request.getHeader("authorization") or "")
        if self.status == 0:
            return NOT_DONE_YET
        request.setResponseCode(self.status)
        if self.status == 200:
            self._take(request.path, body)
        return b""

    def _take(self, path: bytes, body: bytes) -> None:
        if path == b"/v1/traces":
            for traces in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(plain(traces.resource.attributes))
                self.spans += [span for scope in traces.scope_spans for span in scope.spans]
        elif path == b"/v1/metrics":
            for metrics in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics |= {each.name: each for scope in metrics.scope_metrics for each in scope.metrics}

    def named(self, beginning: str) -> list[Span]:
        """The spans whose names begin so, in the order of their ends."""
        return sorted(
            (span for span in self.spans if span.name.startswith(beginning)), key=lambda it: it.end_time_unix_nano
        )


@asynccontextmanager
async def collecting(status: int = 200) -> AsyncIterator[Collector]:
    """A collector that listens, and closes every connection at the end."""
    collector = Collector(status)
    site = Site(collector, timeout=60)
    site.displayTracebacks = False
    port = reactor.listenTCP(0, site, interface="127.0.0.1")
    collector.url = f"http://127.0.0.1:{port.getHost().port}"
    try:
        yield collector
    finally:
        for channel in collector.channels:
            if channel.transport is not None:
                channel.transport.abortConnection()
        await port.stopListening()
