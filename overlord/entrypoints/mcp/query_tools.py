"""Looks over MCP: a tool for each query that MCP has, read-only, with the caller's rights. All comes from the declarations."""

import json
from collections.abc import Mapping
from functools import cache

from overlord.domain.interface import Interface
from overlord.domain.text.json_text import json_text
from overlord.domain.view.markdown import markdown
from overlord.entrypoints.mcp.backend import Backend
from overlord.entrypoints.mcp.caller import TOLD, check_given, cut, look_of, refusal, visitor_of, word
from overlord.entrypoints.mcp.listing import Schema, ToolListing, ToolResult
from overlord.queries import registry
from overlord.queries.look import Look
from overlord.queries.registry import Question
from overlord.verbs.argument_json import record_of, schema_of
from overlord.verbs.right import OF_TOKEN

MOST_JSON = 1_000_000
"""Bytes of one answer's JSON; of a longer one the text alone is sent."""
_ANSWERED: Schema = {
    "type": "object",
    "description": "As the HTTP API answers; a list is in `items`. docs/schemas has the whole schema of each.",
}


@cache
def names() -> Mapping[str, str]:
    """The queries by the names of their tools."""
    return {name.replace("-", "_"): name for name in registry.offered(Interface.MCP)}


def listed(backend: Backend) -> tuple[ToolListing, ...]:
    """Those that the caller may use."""
    return tuple(
        ToolListing(
            name=tool,
            title=registry.find(name).means.partition(":")[0].replace("`", ""),
            description=registry.help_of(name),
            input_schema=_schema(name),
            output_schema=_ANSWERED,
            is_read_only=True,
        )
        for tool, name in names().items()
        if backend.right.covers(registry.find(name).right)
    )


@cache
def _schema(name: str) -> Schema:
    return schema_of(registry.find(name).arguments)


async def called(backend: Backend, tool: str, arguments: Mapping[str, object]) -> ToolResult:
    """What a look shows. Raises KeyError for a tool that is none of these."""
    name = names()[tool]
    query = registry.find(name)
    try:
        check_given(tool, _schema(name), arguments)
        record: object = record_of(query.arguments, arguments, query.typed(name, Interface.MCP))
        question = Question(name=name, arguments=record)
        return await backend.read(lambda connection: _answer(backend, question, look_of(backend, connection)))
    except TOLD as error:
        return refusal(backend, error)


def _answer(backend: Backend, question: Question, look: Look) -> ToolResult:
    """Raises NotFound, Refused, NotAllowed."""
    query, space, visitor = registry.find(question.name), question.space(look), visitor_of(backend)
    if space or not query.is_narrowed or not visitor.may(OF_TOKEN[query.right]):
        visitor.check_may(OF_TOKEN[query.right], space)
    text = cut(markdown(question.view(look), word))
    found = json_text(question.value(look))
    if len(found) > MOST_JSON:
        left_out = f"[the JSON of this is left out: it has {len(found):,} bytes, and {MOST_JSON:,} are sent]"
        return ToolResult(text=f"{text}\n\n{left_out}", structured={"left_out": left_out})
    value = json.loads(found)
    return ToolResult(text=text, structured=value if isinstance(value, dict) else {"items": value})
