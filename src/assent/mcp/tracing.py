"""Which trace does a call belong to?

Without an OpenTelemetry SDK nothing is made and nothing is touched: the caller's trace context passes through in
`_meta` as it came. With one, our span takes its place, so that the upstream's spans hang below ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from opentelemetry import propagate, trace
from opentelemetry.trace import ProxyTracerProvider, Span, SpanKind, Status, StatusCode, TracerProvider

from assent.web.asgi import Headers

CARRIED = ("traceparent", "tracestate", "baggage")
LONGEST = 8192


class Tracing:
    """Spans of governed requests, where somebody collects them."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider

    @cached_property
    def is_on(self) -> bool:
        """Whether anybody collects spans. An SDK is set up before the first call or not at all, so it is asked once."""
        return not isinstance(self._provider or trace.get_tracer_provider(), ProxyTracerProvider)

    @contextmanager
    def span(self, method: str, meta: Any, headers: Headers) -> Iterator[Span]:
        """A span around one request, below the caller's."""
        parent = propagate.extract(_carrier(meta, headers))
        tracer = (self._provider or trace.get_tracer_provider()).get_tracer("assent")
        attributes = {"mcp.method.name": method, "rpc.system": "jsonrpc"}
        with tracer.start_as_current_span(
            method, parent, SpanKind.SERVER, attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            yield span


def describe(span: Span | None, tool: str | None, outcome: str, failed: bool) -> None:
    """What became of the request, in our words only."""
    if span is None:
        return
    if tool is not None:
        span.set_attribute("gen_ai.tool.name", tool)
    span.set_attribute("assent.outcome", outcome)
    if failed:
        span.set_status(Status(StatusCode.ERROR, outcome))


def inject_trace_context(meta: dict[str, Any]) -> dict[str, Any]:
    """The `_meta` of a request to an upstream: with the span we are in, where there is one."""
    if not trace.get_current_span().get_span_context().is_valid:
        return meta
    ours: dict[str, str] = {}
    propagate.inject(ours)
    return {**{name: value for name, value in meta.items() if name not in CARRIED}, **ours}


def _carrier(meta: Any, headers: Headers) -> dict[str, str]:
    """The caller's context, from `_meta`, or from the headers where `_meta` has none."""
    said: Mapping[str, Any] = meta if isinstance(meta, Mapping) else {}
    if "traceparent" not in said:
        said = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers if name != b"authorization"}
    return {name: value for name in CARRIED if isinstance(value := said.get(name), str) and len(value) <= LONGEST}
