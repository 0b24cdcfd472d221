"""OpenTelemetry spans and durations of requests, and trace context for upstreams.

Names and attributes follow the semantic conventions for MCP and for generative AI. Without an OpenTelemetry SDK nothing
is created: the caller's trace context passes through in `_meta` unchanged. With one, Assent's span replaces it, so that
the upstream's spans become its children. No text of a caller becomes a name or an attribute.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

from assent.mcp.protocol import CLIENT_METHODS
from assent.web.asgi import Headers

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Span, SpanKind, TracerProvider

CARRIED = ("traceparent", "tracestate", "baggage")
LONGEST = 8192
TOOL_ERROR = "tool_error"
"""The `error.type` of a result that the tool itself calls an error."""
_BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
_current: ContextVar[dict[str, Any] | None] = ContextVar("assent_operation", default=None)


def can_trace() -> bool:
    """Whether spans may be collected. Whoever collects them has imported OpenTelemetry, or names a provider."""
    return "opentelemetry.trace" in sys.modules or "OTEL_PYTHON_TRACER_PROVIDER" in os.environ


class Tracing:
    """Creates spans for requests, if spans are collected."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider

    @cached_property
    def is_on(self) -> bool:
        """Whether spans are collected. An SDK is set up before the first call or never, so this is read once."""
        if self._provider is None and not can_trace():
            return False
        from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

        return not isinstance(self._provider or get_tracer_provider(), ProxyTracerProvider)

    @cached_property
    def _durations(self) -> Histogram:
        from opentelemetry.metrics import get_meter

        return get_meter("assent").create_histogram(
            "mcp.server.operation.duration", "s", "How long requests take.", explicit_bucket_boundaries_advisory=_BOUNDS
        )

    @contextmanager
    def request(
        self, method: str, meta: Any, headers: Headers, request_id: object = None, version: str | None = None
    ) -> Iterator[Span]:
        """A span and a duration of one request, as a child of the caller's span."""
        from opentelemetry import propagate

        known = method if method in CLIENT_METHODS else "other"
        attributes: dict[str, Any] = {"mcp.method.name": known, "rpc.system": "jsonrpc"}
        if known == "tools/call":
            attributes["gen_ai.operation.name"] = "execute_tool"
        if version:
            attributes["mcp.protocol.version"] = version
        measured = dict(attributes)
        if isinstance(request_id, int) or (isinstance(request_id, str) and len(request_id) <= 64):
            attributes["jsonrpc.request.id"] = str(request_id)
        token, begun = _current.set(measured), perf_counter()
        try:
            with self._span(known, propagate.extract(_carrier(meta, headers)), "SERVER", attributes) as span:
                yield span
        finally:
            _current.reset(token)
            self._durations.record(perf_counter() - begun, measured)

    @contextmanager
    def _span(self, name: str, parent: Any, kind: str, attributes: dict[str, Any]) -> Iterator[Span]:
        from opentelemetry import trace

        tracer = (self._provider or trace.get_tracer_provider()).get_tracer("assent")
        kinds: Mapping[str, SpanKind] = trace.SpanKind.__members__
        with tracer.start_as_current_span(
            name, parent, kinds[kind], attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except Exception as error:
                _mark(span, type(error).__name__)
                raise

    def upstream(self, method: str, upstream: str, tool: str | None) -> AbstractContextManager[Span | None]:
        """A span of one request to an upstream. `tool` is the name in the catalogue."""
        if not self.is_on:
            return nullcontext()
        attributes = {"mcp.method.name": method, "rpc.system": "jsonrpc", "server.address": upstream}
        if tool is not None:
            attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
        return self._span(f"{method} {tool}" if tool else method, None, "CLIENT", attributes)


TRACING = Tracing()
"""What the process traces with."""


def describe_call(tool: str | None, outcome: str, error: str | None) -> None:
    """Sets the tool and the outcome of a call on the current span; `error` is the code of what went wrong."""
    from opentelemetry.trace import get_current_span

    span = get_current_span()
    measured = _current.get() or {}
    if tool is not None:
        span.update_name(f"tools/call {tool}")
        span.set_attribute("gen_ai.tool.name", tool)
        measured["gen_ai.tool.name"] = tool
    span.set_attribute("assent.outcome", outcome)
    if error is not None:
        fail(span, error)


def fail(span: Span, error: str) -> None:
    """Marks the span and the duration of a request as failed, with the type of the error."""
    measured = _current.get()
    if measured is not None and measured.setdefault("error.type", error) != error:
        return  # The first reason is the more exact one.
    _mark(span, error)


def _mark(span: Span, error: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", error)
    span.set_status(Status(StatusCode.ERROR, error))


def fail_current(error: str) -> None:
    """Marks the current span as failed."""
    from opentelemetry.trace import get_current_span

    fail(get_current_span(), error)


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
