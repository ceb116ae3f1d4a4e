"""The paths of the wires that a session's model is asked over, and what clients ask beside: how large a request is, which models
there are, whether there is anybody. Those cost nothing and are answered here.
"""

import re
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from minion.protocol import COMPLETIONS_PATH, GEMINI_PATH, MESSAGES_API_PATH, RESPONSES_PATH
from overlord.domain.session import Session
from overlord.domain.wires import gemini as gemini_wire
from overlord.domain.wires import messages as messages_wire
from overlord.domain.wires.wire import Wire
from overlord.session_api import wire as http
from overlord.session_api.gateway import gateway
from overlord.session_api.gateway.client_request import ClientRequest, names_of, parsed
from overlord.session_api.parts import SessionApiParts

COUNT_PATH = f"{MESSAGES_API_PATH}/count_tokens"
_WORDS = re.compile(r"[A-Za-z0-9-]{1,100}(?: ?, ?[A-Za-z0-9-]{1,100}){0,30}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_PASSED_ON = {"anthropic-beta": _WORDS, "anthropic-version": _DATE}
"""Headers that say how a body is to be read, each with what it may be."""
_DEARER = ("context-1m", "fast-mode")
"""What betas begin with that make a token cost more than its price in the settings."""


def unknown(method: str, path: str) -> HTTPException:
    """What is said of a path that no wire has."""
    return HTTPException(
        404,
        f"{method} {path[:200]} is no route here: a session's model is asked at {COMPLETIONS_PATH}, {MESSAGES_API_PATH},"
        f" {RESPONSES_PATH} or {GEMINI_PATH}/NAME:streamGenerateContent",
    )


async def completions(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /v1/chat/completions`."""
    return await gateway.ask(request, parts, session, Wire.CHAT)


async def messages(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /v1/messages`."""
    headers = {
        name: value
        for name, pattern in _PASSED_ON.items()
        if pattern.fullmatch(value := _without_dearer(request.headers.get(name, "")))
    }
    return await gateway.ask(request, parts, session, Wire.MESSAGES, headers=headers)


def _without_dearer(value: str) -> str:
    words = [word for word in map(str.strip, value.split(",")) if not word.startswith(_DEARER)]
    return ",".join(words)


async def responses(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /v1/responses`."""
    return await gateway.ask(request, parts, session, Wire.RESPONSES)


async def gemini(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /v1beta/models/NAME:generateContent`, `:streamGenerateContent` and `:countTokens`. A stream is server-sent events."""
    model, _, method = request.path_params["call"].rpartition(":")
    model = model.removeprefix("models/")
    if method == "countTokens":
        return await _count_gemini(request, parts, session, model)
    if method not in {"generateContent", "streamGenerateContent"}:
        raise unknown(request.method, request.url.path)
    stream = method == "streamGenerateContent"
    return await gateway.ask(request, parts, session, Wire.GEMINI, model=model, stream=stream)


async def count_tokens(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /v1/messages/count_tokens`: an estimate that errs on the dear side."""
    account = gateway.account_of(request, session)
    raw = await http.read_bytes(request, limit=gateway.MAX_REQUEST_BYTES)

    def counted() -> int:
        body = parsed(raw)
        ClientRequest.read(parts.settings, account, body, Wire.MESSAGES)
        return messages_wire.count_tokens(body)

    return JSONResponse({"input_tokens": await parts.beside(account.id, counted)})


async def _count_gemini(request: Request, parts: SessionApiParts, session: Session, model: str) -> Response:
    account = gateway.account_of(request, session)
    raw = await http.read_bytes(request, limit=gateway.MAX_REQUEST_BYTES)

    def counted() -> Mapping[str, Any]:
        body = parsed(raw)
        inner = body.get("generateContentRequest", body)
        content = inner if isinstance(inner, dict) else {}
        content = {key: value for key, value in content.items() if key != "model"}
        ClientRequest.read(parts.settings, account, content, Wire.GEMINI, model=model)
        return gemini_wire.count_tokens(body)

    return JSONResponse(await parts.beside(account.id, counted))


async def models(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`GET /v1/models`, and one of them: the session's own model by each of its names, in a shape that clients of all wires read."""
    account = gateway.account_of(request, session)
    found = [_described(name) for name in names_of(parts.settings, account)]
    if name := request.path_params.get("name"):
        return _one(found, "id", name)
    ids = {"first_id": found[0]["id"], "last_id": found[-1]["id"], "has_more": False}
    return JSONResponse({"object": "list", "data": found, **ids})


async def gemini_models(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`GET /v1beta/models`, and one of them."""
    account = gateway.account_of(request, session)
    limit = parts.settings.space(account.space).budget.completion_tokens
    found = [
        {
            "name": f"models/{name}",
            "displayName": name,
            "outputTokenLimit": limit,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
        for name in names_of(parts.settings, account)
    ]
    if name := request.path_params.get("call"):
        return _one(found, "name", f"models/{name}")
    return JSONResponse({"models": found})


def _described(name: str) -> dict[str, Any]:
    openai = {"object": "model", "created": 0, "owned_by": "overlord"}
    return {"id": name, **openai, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}


def _one(found: list[dict[str, Any]], key: str, name: str) -> Response:
    known: Mapping[str, Any] | None = next((item for item in found if item[key] == name), None)
    if known is None:
        raise HTTPException(404, f"model {name[:100]!r} is not offered to this session; ask for 'default'")
    return JSONResponse(known)


async def present(_request: Request, _parts: SessionApiParts, _session: Session) -> Response:
    """`HEAD /`: Claude Code looks whether there is anybody."""
    return Response()
