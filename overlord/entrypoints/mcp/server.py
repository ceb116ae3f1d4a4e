"""The MCP server over a backend, with the protocol's own library. Only who serves imports this module: the library takes a second.

Schemas, checks and the words of errors are ours: the library's own are of its types, and name no fix. A tool's error is a result that
says so, which models read; only a tool that there is none of is an error of the protocol.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from itertools import count
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from overlord.domain.disciplines.arguments import ArgumentError, checked_by
from overlord.domain.text.plain import visible
from overlord.entrypoints.mcp.backend import Backend
from overlord.entrypoints.mcp.open_requests import Key, OpenRequests
from overlord.entrypoints.mcp.schemas import input_schema
from overlord.entrypoints.mcp.tool import Answer, Asked, Begin, Progress, Tool
from overlord.errors import OverlordError
from overlord.verbs.right import NotAllowed
from overlord.verbs.typed_words import typed_words

Context = ServerRequestContext[Any, Any]
BackendOf = Callable[[Context], Backend]
"""Whose view of an Overlord a request is answered from."""
NAME = "overlord"
INSTRUCTIONS = (
    "Disciplines are done by workers of Overlord in a sandbox, and their results are checked by code: trust `verified`, and read `why`."
    " A call that takes long answers with status `running` and a handle: call `wait` with it until it has ended."
    " Use the same session_id for what belongs together, so that each phase is told of those before it."
)


@dataclass(kw_only=True)
class McpServer:
    """The tools, and whoever asks for them."""

    backend_of: BackendOf
    tools: Sequence[Tool]
    leaving_cancels: bool
    """Whether a client that goes away cancels the calls it waits for, as one that withdraws its request does."""
    requests: OpenRequests = field(default_factory=OpenRequests)

    def library_server(self) -> Server[Any]:
        """What a transport runs."""
        server: Server[Any] = Server(
            NAME,
            version=version("overlord"),
            title="Overlord",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        server.middleware = [self._watch]
        return server

    async def _list(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._described)

    @cached_property
    def _described(self) -> list[types.Tool]:
        return [_described(tool) for tool in self.tools]

    async def _watch(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """See the notifications by which clients withdraw requests; the library ends the request itself."""
        if ctx.method == "notifications/cancelled" and ctx.request_id is None:
            await self.requests.withdraw(_key(ctx, (ctx.params or {}).get("requestId")))
        return await call_next(ctx)

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = next((item for item in self.tools if item.name == params.name), None)
        if tool is None:
            names = ", ".join(item.name for item in self.tools)
            said = f"there is no tool {visible(params.name)[:60]!r}; there are {names}"
            raise MCPError(types.INVALID_PARAMS, said)
        backend = self.backend_of(context)
        key = _key(context, context.request_id)
        request = self.requests.opened(key, backend)
        try:
            answer = await self._answered(tool, params.arguments or {}, context, request.begin)
        except anyio.get_cancelled_exc_class():
            if self.leaving_cancels:
                await request.withdraw()
            raise
        self.requests.answered(key, request)
        return answer

    async def _answered(
        self, tool: Tool, arguments: dict[str, Any], context: Context, begin: Begin
    ) -> types.CallToolResult:
        backend = self.backend_of(context)
        try:
            check_right(tool, backend)
            checked = checked_by(tool.name, tool.arguments, arguments)
            asked = Asked(backend=backend, arguments=checked, progress=_rising(context), begin=begin)
            return _result(await tool.act(asked))
        except ArgumentError as error:
            return _refusal(str(error))
        except OverlordError as error:
            return _refusal(error.worded(typed_words))
        except sqlite3.Error:
            return _refusal("the database is busy; ask again")


def check_right(tool: Tool, backend: Backend) -> None:
    """Raises NotAllowed for a caller who may not ask for a tool."""
    if not backend.right.covers(tool.right):
        raise NotAllowed(
            f"{tool.name} takes a token with the right {tool.right}, and this one may {backend.right} alone"
        )


def _key(context: Context, request_id: object) -> Key:
    """What a request is known by: its number counts in its own connection, which over HTTP a header names."""
    headers = getattr(context.request, "headers", None) or {}
    return headers.get("mcp-session-id", ""), str(request_id)


def _rising(context: Context) -> Progress:
    """Tells a client of progress, with a number that rises."""
    told = count(1)

    async def tell(words: str) -> None:
        await context.session.report_progress(next(told), message=words)

    return tell


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.meaning,
        input_schema=dict(input_schema(tool.arguments)),
        output_schema=dict(tool.output),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.is_read_only,
            destructive_hint=False,
            idempotent_hint=tool.is_idempotent or tool.is_read_only,
            open_world_hint=False,
        ),
    )


def _result(answer: Answer) -> types.CallToolResult:
    words = types.TextContent(type="text", text=answer.words)
    return types.CallToolResult(content=[words], structured_content=dict(answer.data))


def _refusal(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)], is_error=True)
