"""Spans of a job, made of facts: what it did, when, inside of what, and how it came out. No word of a prompt or an issue.

Ids are hashes of what a span is about, so that spans of one job belong together whichever daemon sent them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

Attribute = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """A reply of the model that a session began to act on."""

    turn: int
    at: datetime
    exchanges: frozenset[int] = frozenset()
    """The requests that came to this reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """One use of a tool."""

    turn: int
    tool: str
    start: datetime
    end: datetime
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to a model."""

    id: int
    model: str
    start: datetime
    end: datetime
    status: int
    prompt: int
    cached: int
    completion: int

    @property
    def failed(self) -> bool:
        return self.status >= 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What OpenTelemetry calls one. Ids are numbers; a parent of 0 is none."""

    trace_id: int
    id: int
    parent_id: int
    name: str
    start: datetime
    end: datetime
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    failed: bool = False
    is_call: bool = False
    """Whether it is a request to somebody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The trace of one job of one Overlord."""

    instance: str
    job_id: int

    @property
    def id(self) -> int:
        return _number(f"{self.instance} job {self.job_id}", 16)

    @property
    def root(self) -> int:
        return self._id("job")

    def span(
        self,
        key: str,
        name: str,
        start: datetime,
        end: datetime,
        *,
        within: int,
        attributes: Mapping[str, Attribute],
        failed: bool = False,
        is_call: bool = False,
    ) -> Span:
        """`key` tells it from every other of the job; what it `says` goes by the names of `_NAMES`."""
        return Span(
            trace_id=self.id,
            id=self._id(key),
            parent_id=within,
            name=name,
            start=start,
            end=max(start, end),
            attributes={_NAMES[name]: value for name, value in attributes.items()},
            failed=failed,
            is_call=is_call,
        )

    def within_session(
        self,
        session: str,
        asked: Sequence[ModelCall],
        turned: Sequence[Turned],
        called: Sequence[Called],
    ) -> Iterator[Span]:
        """The turns of a session, each with its requests to models and its uses of tools. A request that no turn is
        known for, because nobody saw it begin, stands in the session itself."""
        for turn in turned:
            own = [one for one in asked if one.id in turn.exchanges]
            tools = [one for one in called if one.turn == turn.turn]
            key = f"{session} turn {turn.turn}"
            ends = [turn.at, *(one.end for one in own), *(one.end for one in tools)]
            start = own[0].start if own else turn.at
            yield self.span(
                key,
                f"turn {turn.turn}",
                start,
                max(ends),
                within=self._id(session),
                attributes={"turn": turn.turn},
            )
            yield from (self._asked(one, within=self._id(key)) for one in own)
            for number, one in enumerate(tools):
                yield self.span(
                    f"{key} tool {number}",
                    f"execute_tool {one.tool}",
                    one.start,
                    one.end,
                    within=self._id(key),
                    failed=one.failed,
                    attributes={"operation": "execute_tool", "tool": one.tool},
                )
        known = frozenset[int]().union(*(turn.exchanges for turn in turned))
        alone = (one for one in asked if one.id not in known)
        yield from (self._asked(one, within=self._id(session)) for one in alone)

    def session(self, session: str, kind: str, start: datetime, end: datetime, *, ending: str) -> Span:
        """Where what happened in it is."""
        return self.span(
            session,
            f"session {kind}",
            start,
            end,
            within=self.root,
            failed=not ending.startswith("exited") and kind not in {"review", "draft"},
            attributes={"session": session, "kind": kind, "ending": ending.partition(":")[0]},
        )

    def inside(self, session: str) -> int:
        """The id of a session's span."""
        return self._id(session)

    def _asked(self, one: ModelCall, *, within: int) -> Span:
        attributes: dict[str, Attribute] = {
            "operation": "chat",
            "provider": "openai",
            "model": one.model,
            "status": one.status,
            "input_tokens": one.prompt,
            "cached_tokens": one.cached,
            "output_tokens": one.completion,
        }
        return self.span(
            f"exchange {one.id}",
            f"chat {one.model}",
            one.start,
            one.end,
            within=within,
            failed=one.failed,
            is_call=True,
            attributes={**attributes, "error": str(one.status)} if one.failed else attributes,
        )

    def _id(self, key: str) -> int:
        return _number(f"{self.instance} job {self.job_id} span {key}", 8)


_NAMES = {
    "operation": "gen_ai.operation.name",
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "input_tokens": "gen_ai.usage.input_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "tool": "gen_ai.tool.name",
    "error": "error.type",
    "status": "http.response.status_code",
    "repository": "vcs.repository.name",
    "change": "vcs.change.id",
    "job": "overlord.job.id",
    "state": "overlord.job.state",
    "session": "overlord.session.id",
    "kind": "overlord.session.kind",
    "ending": "overlord.session.ending",
    "turn": "overlord.turn",
    "check": "overlord.check.name",
    "score": "overlord.check.score",
}
"""OpenTelemetry's own names where it has them."""


def _number(text: str, size: int) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:size]) or 1
