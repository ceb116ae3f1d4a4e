"""Spans on their way to a collector, by OTLP over HTTP. What cannot be sent is lost, and nothing waits for it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from overlord.domain.trace import Span
from overlord.errors import SettingsError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

PATH = "/v1/traces"


class OtlpExporter:
    """One collector. `send` waits for it: call it in a thread. Raises SettingsError where the libraries are missing."""

    def __init__(self, endpoint: str, *, headers: Mapping[str, str], timeout_s: float, instance: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
        except ImportError:
            raise SettingsError(
                "tracing.endpoint is set (OTEL_EXPORTER_OTLP_ENDPOINT), and what sends spans is not installed:"
                " run `pip install 'overlord[tracing]'`, or take the endpoint away"
            ) from None
        self._exporter = OTLPSpanExporter(
            endpoint=endpoint if endpoint.endswith(PATH) else f"{endpoint}{PATH}",
            headers=dict(headers),
            timeout=timeout_s,
        )
        self._resource = Resource(
            {
                "service.name": "overlord",
                "service.version": version("overlord"),
                "service.instance.id": instance,
            }
        )

    def send(self, spans: Sequence[Span]) -> bool:
        """Whether the collector took them."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        return self._exporter.export([self._written(span) for span in spans]) is SpanExportResult.SUCCESS

    def close(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _written(self, span: Span) -> "ReadableSpan":
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

        def context(number: int) -> SpanContext:
            flags = TraceFlags(TraceFlags.SAMPLED)
            return SpanContext(span.trace_id, number, is_remote=False, trace_flags=flags)

        return ReadableSpan(
            name=span.name,
            context=context(span.id),
            parent=context(span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes=dict(span.attributes),
            kind=SpanKind.CLIENT if span.is_call else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if span.failed else StatusCode.OK),
            start_time=_nanoseconds(span.start),
            end_time=_nanoseconds(span.end),
        )


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1000
