"""Sends spans and durations to an OpenTelemetry collector.

Sending happens in threads of the OpenTelemetry SDK. A collector that is slow or gone delays no call: what does not fit
into the queue is dropped, and the SDK says so in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from assent.config.model import TelemetrySettings

_WAIT = 5
"""Seconds that one request to the collector, and the last one at shutdown, may take."""


def start_telemetry(settings: TelemetrySettings) -> Callable[[], None]:
    """Begins to collect and send; returns what sends the rest and ends it."""
    address = str(settings.otlp).rstrip("/")
    resource = Resource.create({"service.name": "assent", "service.version": version("assent")})
    spans = OTLPSpanExporter(f"{address}/v1/traces", headers=settings.headers, timeout=_WAIT)
    points = OTLPMetricExporter(f"{address}/v1/metrics", headers=settings.headers, timeout=_WAIT)
    tracer = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracer.add_span_processor(BatchSpanProcessor(spans))
    reader = PeriodicExportingMetricReader(points, settings.every * 1000, _WAIT * 1000)
    meter = MeterProvider([reader], resource, shutdown_on_exit=False)
    trace.set_tracer_provider(tracer)
    metrics.set_meter_provider(meter)

    def stop() -> None:
        tracer.force_flush(_WAIT * 1000)
        tracer.shutdown()
        meter.shutdown(_WAIT * 1000)

    return stop
