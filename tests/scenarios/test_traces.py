"""Spans of whole stories, as a collector on loopback is sent them by OTLP."""

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from overlord.embedded.play import edit, run, submit
from overlord.embedded.server import serve
from overlord.entrypoints.fact_log import chronicled
from overlord.entrypoints.tracing import traced
from tests.quick import made_quick_world
from tests.world import FIX, REPO, World

TOKEN = "canary-collector"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One span, as it arrived."""

    trace: bytes
    id: bytes
    parent: bytes
    name: str
    start: int
    end: int
    attributes: dict[str, Any]
    is_error: bool
    is_client: bool


@dataclass
class Collector:
    """What speaks OTLP over HTTP."""

    spans: list[Seen] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    status: int = 200

    async def take(self, request: Request) -> Response:
        body = await request.body()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        if self.status == 200:
            self.spans += _read(ExportTraceServiceRequest.FromString(body))
        answer = ExportTraceServiceResponse().SerializeToString()
        return Response(answer, self.status, media_type="application/x-protobuf")

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/traces", self.take, methods=["POST"])])

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.spans if span.name == name]

    def inside(self, parent: Seen) -> list[str]:
        return [span.name for span in self.spans if span.parent == parent.id]


def _read(request: ExportTraceServiceRequest) -> Sequence[Seen]:
    [group] = request.resource_spans
    resource = {item.key: item.value.string_value for item in group.resource.attributes}
    assert resource["service.name"] == "overlord" and resource["service.instance.id"]
    return [
        Seen(
            trace=span.trace_id,
            id=span.span_id,
            parent=span.parent_span_id,
            name=span.name,
            start=span.start_time_unix_nano,
            end=span.end_time_unix_nano,
            attributes={
                item.key: getattr(item.value, item.value.WhichOneof("value") or "string_value")
                for item in span.attributes
            },
            is_error=span.status.code == 2,
            is_client=span.kind == 3,
        )
        for scope in group.scope_spans
        for span in scope.spans
    ]


@contextlib.asynccontextmanager
async def collecting(**overrides: Any) -> AsyncIterator[tuple[World, Collector]]:
    """A world whose spans go to a collector."""
    collector = Collector()
    async with serve(collector.app()) as url:
        given = {"endpoint": url, "headers": {"authorization": f"Bearer {TOKEN}"}}
        async with made_quick_world(tracing=given, **overrides) as world:
            yield world, collector


@contextlib.asynccontextmanager
async def watched(world: World) -> AsyncIterator[None]:
    await world.make_due()
    async with traced(world.overlord) as hear, chronicled(world.overlord, hear):
        yield


async def test_a_job_is_one_trace_from_its_claim_to_its_merge() -> None:
    async with collecting() as (world, collector):
        async with watched(world):
            await world.issue("add() subtracts", "Words of the issue.")
            world.model_will(run("false"), edit(*FIX), submit("Words of the Minion."))
            await world.settle()
            await world.forge.merge(REPO, 2)
            await world.settle()
        [job] = collector.named("job")
        assert {span.trace for span in collector.spans} == {job.trace} and job.parent == b""
        assert len({span.id for span in collector.spans}) == len(collector.spans)
        assert job.attributes == {
            "overlord.job.id": 1,
            "overlord.job.state": "completed",
            "vcs.repository.name": REPO,
            "vcs.change.id": "2",
        }
        assert sorted(collector.inside(job)) == [
            *("check integrity", "check scope", "session check", "session review", "session work"),
        ]
        [work], [check], [review] = (
            collector.named(f"session {name}") for name in ("work", "check", "review")
        )
        assert collector.inside(work) == ["turn 1", "turn 2", "turn 3"]
        assert sorted(collector.inside(check)) == ["check lint", "check tests"]
        assert sorted(collector.inside(review)) == ["chat scripted", "check review"]
        turns = [collector.inside(collector.named(f"turn {number}")[0]) for number in (1, 2, 3)]
        tools = ("run_command", "edit_file", "task_complete")
        assert turns == [["chat scripted", f"execute_tool {tool}"] for tool in tools]


async def test_spans_say_how_it_came_out_in_the_names_there_are_for_it() -> None:
    async with collecting() as (world, collector):
        async with watched(world):
            await world.issue("add() subtracts")
            world.model_will(
                edit("calc.py", "there is no such line", "x"), edit("calc.py", "a * 2", "a * 3"), submit()
            )
            world.model_will(edit("calc.py", "a * 3", "a * 2"), edit(*FIX), submit())
            await world.settle()
        by_name: dict[str, list[Seen]] = defaultdict(list)
        for span in collector.spans:
            by_name[span.name].append(span)
        call = by_name["chat scripted"][0]
        assert call.is_client and not call.is_error
        assert {name: type(value) for name, value in call.attributes.items()} == {
            "gen_ai.operation.name": str,
            "gen_ai.provider.name": str,
            "gen_ai.request.model": str,
            "gen_ai.usage.input_tokens": int,
            "gen_ai.usage.output_tokens": int,
            "gen_ai.usage.cache_read.input_tokens": int,
            "http.response.status_code": int,
        }
        edits = by_name["execute_tool edit_file"]
        assert [span.is_error for span in edits] == [True, False, False, False]
        assert edits[0].attributes == {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "edit_file",
        }
        assert [
            (span.is_error, span.attributes["overlord.check.score"]) for span in by_name["check tests"]
        ] == [
            (True, "needs_revision"),
            (False, "pass"),
        ]
        assert [span.attributes["overlord.session.id"] for span in by_name["session work"]] == [
            "j1-work-1",
            "j1-work-2",
        ]
        assert all(span.start <= span.end for span in collector.spans)


async def test_no_word_of_a_prompt_and_no_secret_is_sent_but_for_the_collectors_own() -> None:
    async with collecting() as (world, collector):
        async with watched(world):
            await world.issue("A telling title", "A telling text")
            secrets = [world.forge.token, world.model.key]
            world.model_will(run(f"echo {secrets[0]} telling"), edit(*FIX), submit(f"telling {secrets[1]}"))
            await world.settle()
        assert len(collector.spans) > 10
        sent = b"".join(collector.bodies)
        assert [words for words in [*secrets, TOKEN, "telling"] if words.encode() in sent] == []
        assert {given["authorization"] for given in collector.headers} == {f"Bearer {TOKEN}"}
        assert world.files_with(TOKEN) == []


async def test_spans_before_and_after_a_restart_are_of_one_trace() -> None:
    async with collecting() as (world, collector):
        async with watched(world):
            await world.issue("add() subtracts")
            world.model_will(edit("calc.py", "a * 2", "a * 3"), submit())
            world.model_will(world.hold(), edit("calc.py", "a * 3", "a * 2"), edit(*FIX), submit())
            await world.until_holding("j1-work-2")
        await world.stop()
        before = {span.trace for span in collector.spans}
        async with watched(world):
            world.let_go("j1-work-2")
            await world.settle()
            await world.forge.merge(REPO, 2)
            await world.settle()
        assert {span.trace for span in collector.spans} == before and len(before) == 1
        assert len(collector.named("session work")) == 2 and len(collector.named("job")) == 1


async def test_a_collector_that_is_not_well_keeps_nobody_from_working() -> None:
    async with collecting() as (world, collector):
        collector.status = 400
        async with watched(world):
            await world.issue("add() subtracts")
            world.model_will(edit(*FIX), submit())
            await world.settle()
        assert [job.state for job in await world.jobs()] == ["in_review"]
        assert collector.bodies and collector.spans == []


async def test_without_an_endpoint_nothing_is_told_of_tools() -> None:
    async with made_quick_world() as world:
        async with watched(world):
            await world.issue("add() subtracts")
            world.model_will(edit(*FIX), submit())
            await world.settle()
        turned, called = world.overlord.session_api.parts.journal.take("j1-work-1")
        assert called == () and len(turned) == 2


async def test_an_endpoint_without_the_libraries_is_a_sentence_that_names_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(
        __import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None
    )
    async with collecting() as (world, _):
        await world.start()
        with pytest.raises(Exception, match=r"pip install 'overlord\[tracing\]'"):
            async with traced(world.overlord):
                pass
