"""The MCP server over a backend, with the protocol's own library. Only who serves imports this module: the library takes a second.

Schemas, checks and the words of errors are ours: the library's own are of its types, and name no fix. A tool's error is a result that
says so, which models read; only a tool that there is none of is an error of the protocol.

Overlord's own looks and verbs are loaded when a client asks for the list: a client that only begins need not wait for them.
"""

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
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
from overlord.entrypoints.mcp import wire
from overlord.entrypoints.mcp.backend import Backend
from overlord.entrypoints.mcp.open_requests import Key, OpenRequests
from overlord.entrypoints.mcp.tool import Asked, Begin, Progress, Tool
from overlord.errors import OverlordError, Refused
from overlord.verbs.right import NotAllowed

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams | None
BackendOf = Callable[[Context], Backend]
"""Whose view of an Overlord a request is answered from."""
NAME = "overlord"
_HALF = re.compile("[\ud800-\udfff]")
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
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        server.middleware = [self._watch]
        return server

    async def _list(self, context: Context, _params: Page) -> types.ListToolsResult:
        from overlord.entrypoints.mcp import query_tools, verb_tools

        backend = self.backend_of(context)
        own = (made for tool, made in self._described if backend.right.covers(tool.right))
        others = (*query_tools.listed(backend), *verb_tools.listed(backend))
        return types.ListToolsResult(tools=[*own, *map(wire.tool, others)])

    @cached_property
    def _described(self) -> list[tuple[Tool, types.Tool]]:
        return [(tool, wire.own_tool(tool)) for tool in self.tools]

    async def _list_resources(self, context: Context, _params: Page) -> types.ListResourcesResult:
        from overlord.entrypoints.mcp import resources

        found = await resources.listed(self.backend_of(context))
        return types.ListResourcesResult(resources=[*map(wire.resource, found)])

    async def _list_templates(self, _context: Context, _params: Page) -> types.ListResourceTemplatesResult:
        from overlord.entrypoints.mcp import resources

        found = resources.templates()
        return types.ListResourceTemplatesResult(resource_templates=[*map(wire.template, found)])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        from overlord.entrypoints.mcp import resources

        with _told():
            return wire.contents(await resources.called(self.backend_of(context), str(params.uri)))

    async def _list_prompts(self, context: Context, _params: Page) -> types.ListPromptsResult:
        from overlord.entrypoints.mcp import prompts

        found = prompts.listed(self.backend_of(context))
        return types.ListPromptsResult(prompts=[*map(wire.prompt, found)])

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        from overlord.entrypoints.mcp import prompts

        with _told():
            check_unicode(params.arguments)
            return wire.prompt_text(
                prompts.called(self.backend_of(context), params.name, params.arguments or {})
            )

    async def _watch(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """See the notifications by which clients withdraw requests; the library ends the request itself."""
        if ctx.method == "notifications/cancelled" and ctx.request_id is None:
            await self.requests.withdraw(_key(ctx, (ctx.params or {}).get("requestId")))
        return await call_next(ctx)

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = next((item for item in self.tools if item.name == params.name), None)
        backend = self.backend_of(context)
        try:
            check_unicode(params.arguments)
        except Refused as error:
            return wire.refusal(str(error))
        if tool is None:
            return await self._call_other(backend, params.name, params.arguments or {})
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

    async def _call_other(
        self, backend: Backend, name: str, arguments: dict[str, Any]
    ) -> types.CallToolResult:
        """A look or a verb of Overlord's own."""
        from overlord.entrypoints.mcp import query_tools, verb_tools

        for module in (query_tools, verb_tools):
            if name in module.names():
                return wire.answer(await module.called(backend, name, arguments))
        names = ", ".join((*(item.name for item in self.tools), *query_tools.names(), *verb_tools.names()))
        raise MCPError(types.INVALID_PARAMS, f"there is no tool {visible(name)[:60]!r}; there are {names}")

    async def _answered(
        self, tool: Tool, arguments: dict[str, Any], context: Context, begin: Begin
    ) -> types.CallToolResult:
        backend = self.backend_of(context)
        try:
            check_right(tool, backend)
            checked = checked_by(tool.name, tool.arguments, arguments)
            asked = Asked(backend=backend, arguments=checked, progress=_rising(context), begin=begin)
            return wire.own_answer(await tool.act(asked))
        except ArgumentError as error:
            return wire.refusal(str(error))
        except NotAllowed as error:
            return await _not_allowed(backend, tool, error)
        except OverlordError as error:
            return wire.refusal(_worded(error))
        except sqlite3.Error:
            return wire.refusal("the database is busy; ask again")


async def _not_allowed(backend: Backend, tool: Tool, error: NotAllowed) -> types.CallToolResult:
    """Who tried is written down, as for every verb."""
    from overlord.entrypoints.mcp.verb_tools import note_refusal

    with contextlib.suppress(sqlite3.Error, OverlordError):
        await note_refusal(backend, tool.name, str(error))
    return wire.refusal(_worded(error))


def check_right(tool: Tool, backend: Backend) -> None:
    """Raises NotAllowed for a caller who may not ask for a tool."""
    if not backend.right.covers(tool.right):
        raise NotAllowed(
            f"{tool.name} takes a token with the right {tool.right}, and this one may {backend.right} alone"
        )


def check_unicode(given: object) -> None:
    """Raises Refused for half a character: JSON can say one, and nothing can keep it."""
    left: list[object] = [given]
    while left:
        match left.pop():
            case str() as text:
                if _HALF.search(text):
                    raise Refused(
                        f"there is half a character (a lone surrogate) in {visible(text)[:60]!r}; send whole ones"
                    )
            case dict() as items:
                left += [*items.keys(), *items.values()]
            case list() as items:
                left += items


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


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What is refused of a resource or a prompt, as an error of the protocol: neither has another way to say it."""
    try:
        yield
    except OverlordError as error:
        raise MCPError(types.INVALID_PARAMS, _worded(error)) from None
    except sqlite3.Error:
        raise MCPError(types.INTERNAL_ERROR, "the database is busy; ask again") from None


def _worded(error: OverlordError) -> str:
    """With what can be done about it, as a caller of tools does it."""
    from overlord.entrypoints.mcp.caller import word

    return error.worded(word)
