"""The chat on the wire: whose token it is, which fault was ordered, what was answered; connections and response addresses."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from overlord.embedded.chat import fault as faults
from overlord.embedded.chat.delivery import Deliveries
from overlord.embedded.chat.interaction import Interactions
from overlord.embedded.chat.link import PATH as LINK_PATH
from overlord.embedded.chat.method import METHODS, STRUCTURED, Call, Method
from overlord.embedded.chat.problem import Problem, wrong_field
from overlord.embedded.chat.record import Json, RecordedCall
from overlord.embedded.chat.workspace import Workspace
from overlord.embedded.fault import EVERY_OPERATION, Fault

API, RESPONSE = "/api/", "/response/"
RESPONSE_METHOD = "response"
"""What an answer to a response address is called among the methods."""
KNOWN_METHODS = frozenset({EVERY_OPERATION, RESPONSE_METHOD, *METHODS})
MOST_BODY_BYTES = 1024 * 1024
MOST_FIELDS = 100
FORM = "application/x-www-form-urlencoded"


class _Ascii(JSONResponse):
    """JSON in which every letter beyond ASCII is escaped, as Slack writes it."""

    @override
    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode()


class Wire:
    """What answers everything but the page."""

    def __init__(self, workspace: Workspace, interactions: Interactions, deliveries: Deliveries) -> None:
        self.workspace = workspace
        self.interactions = interactions
        self.deliveries = deliveries
        self.faults = faults.faults()
        self.requests: list[RecordedCall] = []
        self.tokens: dict[str, bool] = {}
        """Every token that is good; whether it is the app's."""
        self.revoked: set[str] = set()
        self.base_url = ""
        self.per_channel_s = 0.0
        """How much time there is between two posts to a channel; 0 for any."""
        self.last_posts: dict[str, float] = {}

    def link_url(self) -> str:
        """Where one connection may be opened."""
        ticket = self.deliveries.links.ticket()
        return f"{self.base_url.replace('http', 'ws', 1)}{LINK_PATH}?ticket={ticket}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self.deliveries.links.serve(scope, receive, send)
            return
        request = Request(scope, receive)
        path = request.url.path
        if path.startswith(RESPONSE):
            response = await self._response(request, path.removeprefix(RESPONSE))
        elif path.startswith(API):
            response = await self._api(request, path.removeprefix(API))
        else:
            response = PlainTextResponse("Not Found", 404)
        await response(scope, receive, send)

    # The Web API

    async def _api(self, request: Request, name: str) -> Response:
        fault = self.faults.take(name)
        arguments: dict[str, Any] = {}
        problem: Problem | None = None
        body: Json = {}
        try:
            arguments = await _arguments(request)
            if fault is None or fault.is_after:
                body = {"ok": True, **await self._answer(name, request, arguments)}
        except Problem as refused:
            problem, body = refused, refused.body()
        reply = self._reply(name, body, problem, fault, arguments)
        if body.get("ok") and name in METHODS and not METHODS[name].is_for_apps:
            reply.headers["x-oauth-scopes"] = ",".join(sorted(self.workspace.scopes))
        return reply

    async def _answer(self, name: str, request: Request, arguments: dict[str, Any]) -> Json:
        if request.method not in ("GET", "POST"):
            raise Problem("invalid_arguments", status=405)
        token = _bearer(request) or str(arguments.pop("token", ""))
        method = METHODS.get(name)
        if method is None:
            raise Problem("unknown_method", req_method=name)
        self._admit(token, method)
        return await method.answer(Call(self, arguments))

    def _admit(self, token: str, method: Method) -> None:
        if not token:
            raise Problem("not_authed")
        if token in self.revoked:
            raise Problem("token_revoked")
        if token not in self.tokens:
            raise Problem("invalid_auth")
        if self.tokens[token] != method.is_for_apps:
            raise Problem("not_allowed_token_type")
        scopes = self.workspace.scopes
        if method.scopes and not scopes.intersection(method.scopes):
            provided = ",".join(sorted(scopes))
            raise Problem("missing_scope", needed=",".join(method.scopes), provided=provided)

    # Response addresses

    async def _response(self, request: Request, token: str) -> Response:
        fault = self.faults.take(RESPONSE_METHOD)
        problem: Problem | None = None
        body: Any = {}
        try:
            body = _document(await _body(request))
            if fault is None or fault.is_after:
                self.interactions.answer(token, body)
        except Problem as refused:
            problem = refused if refused.status != 200 else Problem(str(refused), status=400)
        arguments = body if isinstance(body, dict) else {}
        reply = self._reply(
            RESPONSE_METHOD, problem.body() if problem else {"ok": True}, problem, fault, arguments
        )
        return PlainTextResponse("ok") if reply.status_code == 200 and fault is None else reply

    def _reply(
        self,
        name: str,
        body: Json,
        problem: Problem | None,
        fault: Fault | None,
        arguments: Mapping[str, Any],
    ) -> Response:
        if fault is not None:
            response, error = faults.answer(fault), faults.word_of(fault)
        elif problem is not None:
            response = _Ascii(body, problem.status, problem.headers())
            error = problem.error
        else:
            response, error = _Ascii(body), ""
        shown = {key: value for key, value in arguments.items() if key != "token"}
        self.requests.append(
            RecordedCall(
                method=name,
                status=response.status_code,
                error=error,
                arguments=shown,
                at=self.workspace.now(),
            )
        )
        return response


def _bearer(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            raise Problem("request_too_large", status=413)
    return bytes(body)


async def _arguments(request: Request) -> dict[str, Any]:
    """What a call carries: in its address, and in a form or a JSON document."""
    found: dict[str, Any] = _form(request.url.query)
    body = await _body(request)
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and content_type == "application/json":
        document = _document(body)
        if not isinstance(document, dict):
            raise Problem("json_not_object")
        found |= {key: _structure(key, value) for key, value in document.items()}
    elif body and content_type == FORM:
        found |= _form(body.decode(errors="replace"))
    elif body:
        raise Problem("invalid_post_type" if content_type else "missing_post_type")
    return found


def _form(text: str) -> dict[str, Any]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Problem("invalid_form_data") from None
    return {key: _structure(key, value) for key, value in pairs}


def _structure(key: str, value: Any) -> Any:
    """An argument that is JSON within JSON or within a form, read."""
    if key not in STRUCTURED or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        if key == "blocks":
            raise Problem("invalid_blocks_format") from None
        raise wrong_field(key, "must be valid JSON") from None


def _document(body: bytes) -> Any:
    """JSON whose every text can be written down."""
    try:
        document = json.loads(body)
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Problem("invalid_json", status=400 if not body else 200) from None
    return document
