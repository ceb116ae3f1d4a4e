"""The model of a coding agent that calls Overlord: over the agent's own wire it calls one tool after the other, and then says that it is done."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from overlord.domain.wires import chat_reply
from overlord.domain.wires.registry import DIALECTS
from overlord.domain.wires.wire import Wire

MODEL = "scripted"
HOSTED = {"web_search", "image_generation", "local_shell"}
"""Tools that Codex's maker runs."""
_PATHS = {
    "/v1/messages": Wire.MESSAGES,
    "/v1/responses": Wire.RESPONSES,
    "/v1/chat/completions": Wire.CHAT,
}


@dataclass(slots=True, kw_only=True)
class OuterModel:
    """What it calls, and what it heard."""

    calls: Sequence[tuple[str, Mapping[str, Any]]]
    """Tools of Overlord's with their arguments, in order."""
    heard: list[str] = field(default_factory=list)
    """What each tool answered, in the last request."""
    missing: list[str] = field(default_factory=list)
    """Tools that the agent did not offer."""

    @property
    def app(self) -> Starlette:
        routes = [Route(path, self._answer, methods=["POST"]) for path in _PATHS]
        return Starlette(
            routes=[*routes, Route("/{rest:path}", self._nothing, methods=["GET", "HEAD", "POST"])]
        )

    async def _nothing(self, _request: Request) -> Response:
        return JSONResponse({"data": []})

    async def _answer(self, request: Request) -> Response:
        body = json.loads(await request.body())
        dialect = DIALECTS[_PATHS[request.url.path]]
        body["tools"] = [tool for tool in body.get("tools") or () if tool.get("type") not in HOSTED]
        asked = dialect.read(body, names=frozenset({body["model"]}), completion=32_000)
        chat = dialect.to_chat(asked)
        offered = [str(tool["function"]["name"]) for tool in chat.body.get("tools", ())]
        told = [item for item in chat.messages if item.get("role") == "tool"]
        reply = json.dumps(self._reply(offered, told)).encode()
        if not asked.stream:
            return Response(dialect.reply_of_chat(asked, reply, model=MODEL), media_type="application/json")
        translator = dialect.translator(asked, model=MODEL)
        stream = translator.feed(chat_reply.as_stream(reply)) + translator.end()
        return Response(stream, media_type="text/event-stream")

    def _reply(self, offered: Sequence[str], told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "It is done."}
        if offered:  # agents ask for titles beside
            self.heard = [json.dumps(item.get("content")) for item in told]
            if len(told) < len(self.calls):
                name, arguments = self.calls[len(told)]
                found = next(
                    (item for item in offered if "overlord" in item and item.endswith(f"_{name}")), ""
                )
                if not found:
                    self.missing.append(name)
                function = {"name": found or name, "arguments": json.dumps(arguments)}
                call = {"id": f"call_{len(told)}", "type": "function", "function": function}
                message = {"role": "assistant", "content": None, "tool_calls": [call]}
        finish = "tool_calls" if "tool_calls" in message else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return {
            "id": f"chatcmpl-{len(told)}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": usage,
        }
