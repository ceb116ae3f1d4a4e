"""An OpenAI-shaped model that plays scripts: `/v1/chat/completions` and `/v1/models`, behind a key.

A conversation is known by its first two messages; how far it is, by the number of assistant messages in the
request. So a repeated request gets the same answer, and a session that starts over plays from the start.
"""

import hashlib
import json
import re
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from overlord.embedded.completion import Completion
from overlord.embedded.play import Misbehaviour, Play, Turn, say
from overlord.embedded.reviewer import (
    is_debug,
    is_plain_language,
    is_retrospective,
    is_review,
    no_hypotheses,
    nothing_found,
    nothing_learned,
    nothing_understood,
)
from overlord.embedded.server import cut_connection, serve, until_disconnected

MODEL = "scripted"
RANDOM_RUNS = re.compile(r"[0-9a-f]{16,}")
"""A mission's fence and ids differ from session to session; they are not what makes a conversation."""


class _Message(BaseModel):
    role: str
    content: Any = None


class _StreamOptions(BaseModel):
    include_usage: bool = False


class CompletionRequest(BaseModel):
    """What we read of a request; the rest is the caller's business."""

    model: str
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    messages: list[_Message] = Field(min_length=1)
    tools: list[dict[str, Any]] = []
    stream: bool = False
    stream_options: _StreamOptions | None = None

    def opening(self) -> str:
        """The first two messages, as text."""
        return "\n".join(_message_text(message.content) for message in self.messages[:2])

    def is_trial(self) -> bool:
        """Whether one token is asked for: to see that there is somebody, and no conversation that a play is for."""
        return 1 in {self.max_tokens, self.max_completion_tokens}

    def answered(self) -> int:
        """How many turns the model has had."""
        return sum(message.role == "assistant" for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """One request the model has had, for the transcript. Turn -1: it was refused. `tokens`: what a whole reply to it cost."""

    status: int
    tokens: int = 0
    conversation: str = ""
    turn: int = -1
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer that is no reply, as an endpoint gives it that is busy or does not like the account."""

    status: int
    message: str
    code: str | None = None
    retry_after_s: int | None = None

    def response(self) -> Response:
        headers = {} if self.retry_after_s is None else {"retry-after": str(self.retry_after_s)}
        return _error(self.status, self.message, "scripted", self.code, headers)


@dataclass(slots=True, kw_only=True)
class _Performance:
    """A play in one conversation: which of its one-time failures have happened."""

    play: Play
    spent: set[int] = field(default_factory=set)

    def turn(self, answered: int) -> Turn:
        """The turn after `answered` replies: failures that stand before the next reply come first, once each."""
        replies = 0
        for position, turn in enumerate(self.play.turns):
            if turn.is_reply and replies == answered:
                return turn
            replies += turn.is_reply
            if not turn.is_reply and replies == answered and position not in self.spent:
                self.spent.add(position)
                return turn
        return self.play.turns[-1]


class EmbeddedModel:
    """The scripted model. It is an ASGI application; `serve` puts it on a port."""

    def __init__(
        self, plays: Iterable[Play] = (), *, key: str | None = None, names: Sequence[str] = ()
    ) -> None:
        """`names`: the only models there are; without them, any name will do, and one is listed."""
        self.key = key or f"sk-{secrets.token_hex(16)}"
        self.names = tuple(names)
        self.refusal: Refusal | None = None
        """What every request is answered with while it is set, whatever is played."""
        self.requests: list[RecordedRequest] = []
        self._waiting = list(plays)
        self._played: list[Play] = []
        self._performances: dict[str, _Performance] = {}
        self._app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/models", self._models),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def serve(self, *, host: str = "127.0.0.1", port: int = 0) -> AbstractAsyncContextManager[str]:
        """Serve while the block lasts; gives the address without `/v1`."""
        return serve(self, host=host, port=port)

    def will(self, *turns: Turn, when: str | None = None) -> None:
        """Play these turns in the next new conversation (whose first two messages hold `when`)."""
        self._waiting.append(Play(turns=turns, when=when))

    def forget(self) -> None:
        """Take every conversation for a new one from now on."""
        self._performances.clear()

    @property
    def unplayed(self) -> Sequence[Play]:
        """Plays no conversation has started yet."""
        return tuple(self._waiting)

    def messages(self, index: int = -1) -> list[dict[str, Any]]:
        """The messages of a request, the last one's by default."""
        found: list[dict[str, Any]] = json.loads(self.requests[index].body)["messages"]
        return found

    async def _models(self, request: Request) -> Response:
        if self.refusal is not None:
            return self.refusal.response()
        if not self._is_signed(request):
            return _error(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key")
        described = {"object": "model", "created": 0, "owned_by": "overlord"}
        return JSONResponse(
            {"object": "list", "data": [{"id": name, **described} for name in self.names or (MODEL,)]}
        )

    async def _complete(self, request: Request) -> Response:
        body = await request.body()
        if self.refusal is not None:
            return self._noted(self.refusal.response(), body)
        if not self._is_signed(request):
            refused = _error(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key")
            return self._noted(refused, body)
        try:
            asked = CompletionRequest.model_validate_json(body)
        except ValidationError as error:
            return self._noted(_error(400, str(error), "invalid_request_error"), body)
        if self.names and asked.model not in self.names:
            unknown = f"The model `{asked.model}` does not exist or you do not have access to it."
            return self._noted(_error(404, unknown, "invalid_request_error", "model_not_found"), body)
        if asked.is_trial():
            word = Completion(say("Yes"), conversation="0" * 32, index=0, model=asked.model, prompt_chars=0)
            return self._noted(_response(word, asked), body)
        conversation = hashlib.sha256(RANDOM_RUNS.sub("", asked.opening()).encode()).hexdigest()
        performance = self._performances.get(conversation) or self._cast(conversation, asked.opening())
        if performance is None:
            nothing = _error(
                400, "No play is left for this conversation.", "invalid_request_error", "no_play"
            )
            return self._noted(nothing, body, conversation)
        index = asked.answered()
        completion = Completion(
            performance.turn(index),
            conversation=conversation,
            index=index,
            model=asked.model,
            prompt_chars=len(body),
        )
        tokens = completion.usage()["total_tokens"] if completion.turn.is_reply else 0
        return self._noted(_response(completion, asked), body, conversation, index, tokens)

    def _cast(self, conversation: str, opening: str) -> _Performance | None:
        """The first play that waits for a conversation like this one; or one for such, played before."""
        play = next((play for play in self._waiting if _fits(play, opening)), None)
        if play is not None:
            self._waiting.remove(play)
            self._played.append(play)
        elif is_review(opening):
            play = nothing_found(opening)
        elif is_plain_language(opening):
            play = nothing_understood()
        elif is_retrospective(opening):
            play = nothing_learned()
        elif is_debug(opening):
            play = no_hypotheses()
        else:
            play = next((play for play in reversed(self._played) if play.when and _fits(play, opening)), None)
        if play is None:
            return None
        return self._performances.setdefault(conversation, _Performance(play=play))

    def _is_signed(self, request: Request) -> bool:
        presented = request.headers.get("authorization", "").encode()
        return secrets.compare_digest(presented, f"Bearer {self.key}".encode())

    def _noted(
        self, response: Response, body: bytes, conversation: str = "", turn: int = -1, tokens: int = 0
    ) -> Response:
        status, opening = response.status_code, conversation[:16]
        self.requests.append(
            RecordedRequest(status=status, tokens=tokens, conversation=opening, turn=turn, body=body)
        )
        return response


class _Cut(Response):
    """Breaks the connection after whatever was said."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        super().__init__()
        self._said = list(chunks)

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._said:
            await send({"type": "http.response.start", "status": 200, "headers": [EVENT_STREAM]})
        for piece in self._said:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await cut_connection(scope, receive, flush=True)


class _Silence(Response):
    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await until_disconnected(receive)


EVENT_STREAM = (b"content-type", b"text/event-stream; charset=utf-8")


def _response(completion: Completion, asked: CompletionRequest) -> Response:
    turn = completion.turn
    if turn.misbehaviour is Misbehaviour.STATUS:
        headers = {} if turn.retry_after_s is None else {"retry-after": str(turn.retry_after_s)}
        message = turn.text or f"The scripted model answers {turn.status}."
        return _error(turn.status, message, "scripted", headers=headers)
    if turn.misbehaviour is Misbehaviour.GARBAGE:
        return Response(b'<html>{"choices": [{"mess', media_type="application/json")
    if turn.misbehaviour is Misbehaviour.SILENCE:
        return _Silence()
    if turn.misbehaviour is Misbehaviour.CUT:
        chunks = list(completion.chunks(with_usage=False))
        return _Cut(_event(chunk) for chunk in chunks[: len(chunks) // 2] if asked.stream)
    if not asked.stream:
        return JSONResponse(completion.whole())
    with_usage = asked.stream_options is not None and asked.stream_options.include_usage
    return StreamingResponse(_events(completion, with_usage), media_type="text/event-stream")


async def _events(completion: Completion, with_usage: bool) -> AsyncIterator[bytes]:
    for chunk in completion.chunks(with_usage=with_usage):
        yield _event(chunk)
    yield b"data: [DONE]\n\n"


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def _error(
    status: int, message: str, kind: str, code: str | None = None, headers: dict[str, str] | None = None
) -> Response:
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return JSONResponse(body, status, headers)


def _fits(play: Play, opening: str) -> bool:
    """A play for anything is not for a call without tools: that one has to be named; nor is one that calls tools."""
    has_no_tools = (
        is_review(opening) or is_plain_language(opening) or is_retrospective(opening) or is_debug(opening)
    )
    if has_no_tools and (play.when is None or any(turn.calls for turn in play.turns)):
        return False
    return play.when is None or play.when in opening


def _message_text(content: Any) -> str:
    """A message's text, also when it comes in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
