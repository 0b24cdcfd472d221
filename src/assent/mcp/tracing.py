"""OpenTelemetry spans of requests, and trace context for upstreams.

Without an OpenTelemetry SDK nothing is created: the caller's trace context passes through in `_meta` unchanged.
With one, Assent's span replaces it, so that the upstream's spans become its children.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from assent.web.asgi import Headers

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

CARRIED = ("traceparent", "tracestate", "baggage")
LONGEST = 8192


def can_trace() -> bool:
    """Whether spans may be collected. Whoever collects them has imported OpenTelemetry, or names a provider."""
    return "opentelemetry.trace" in sys.modules or "OTEL_PYTHON_TRACER_PROVIDER" in os.environ


class Tracing:
    """Creates spans for governed requests, if spans are collected."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider

    @cached_property
    def is_on(self) -> bool:
        """Whether spans are collected. An SDK is set up before the first call or never, so this is read once."""
        if self._provider is None and not can_trace():
            return False
        from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

        return not isinstance(self._provider or get_tracer_provider(), ProxyTracerProvider)

    @contextmanager
    def span(self, method: str, meta: Any, headers: Headers) -> Iterator[Span]:
        """A span around one request, as a child of the caller's span."""
        from opentelemetry import propagate, trace

        parent = propagate.extract(_carrier(meta, headers))
        tracer = (self._provider or trace.get_tracer_provider()).get_tracer("assent")
        attributes = {"mcp.method.name": method, "rpc.system": "jsonrpc"}
        with tracer.start_as_current_span(
            method, parent, trace.SpanKind.SERVER, attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            yield span


def describe(span: Span | None, tool: str | None, outcome: str, failed: bool) -> None:
    """Sets the tool and the outcome on a span, without any text from outside."""
    if span is None:
        return
    if tool is not None:
        span.set_attribute("gen_ai.tool.name", tool)
    span.set_attribute("assent.outcome", outcome)
    if failed:
        from opentelemetry.trace import Status, StatusCode

        span.set_status(Status(StatusCode.ERROR, outcome))


def inject_trace_context(meta: dict[str, Any]) -> dict[str, Any]:
    """The `_meta` of a request to an upstream, with the current span's context if there is one."""
    from opentelemetry import propagate, trace

    if not trace.get_current_span().get_span_context().is_valid:
        return meta
    ours: dict[str, str] = {}
    propagate.inject(ours)
    return {**{name: value for name, value in meta.items() if name not in CARRIED}, **ours}


def _carrier(meta: Any, headers: Headers) -> dict[str, str]:
    """The caller's trace context from `_meta`, or from the headers if `_meta` has none."""
    found: Mapping[str, Any] = meta if isinstance(meta, Mapping) else {}
    if "traceparent" not in found:
        found = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers if name != b"authorization"}
    return {name: value for name in CARRIED if isinstance(value := found.get(name), str) and len(value) <= LONGEST}
