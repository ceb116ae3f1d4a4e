"""Records of ours as the protocol's library has them."""

import mcp_types as types

from overlord.entrypoints.mcp.listing import (
    PromptListing,
    PromptText,
    ResourceListing,
    ResourceText,
    ToolListing,
    ToolResult,
)
from overlord.entrypoints.mcp.schemas import input_schema
from overlord.entrypoints.mcp.tool import Answer, Tool


def own_tool(item: Tool) -> types.Tool:
    """A discipline, or a tool beside them. Every hint is said: what a client does not hear it takes for the worst."""
    return tool(
        ToolListing(
            name=item.name,
            title=item.title,
            description=item.meaning,
            input_schema=input_schema(item.arguments),
            output_schema=item.output,
            is_read_only=item.is_read_only,
            is_idempotent=item.is_idempotent or item.is_read_only,
        )
    )


def tool(item: ToolListing) -> types.Tool:
    """Any tool."""
    return types.Tool(
        name=item.name,
        title=item.title,
        description=item.description,
        input_schema=dict(item.input_schema),
        output_schema=dict(item.output_schema) if item.output_schema is not None else None,
        annotations=types.ToolAnnotations(
            title=item.title,
            read_only_hint=item.is_read_only,
            destructive_hint=item.is_destructive,
            idempotent_hint=item.is_idempotent,
            open_world_hint=item.is_open_world,
        ),
    )


def own_answer(answer: Answer) -> types.CallToolResult:
    """What a tool of ours answers: as its schema says, and the same as text."""
    return types.CallToolResult(content=_text(answer.words), structured_content=dict(answer.data))


def answer(result: ToolResult) -> types.CallToolResult:
    """What a look or a verb answers."""
    structured = dict(result.structured) if result.structured is not None else None
    return types.CallToolResult(
        content=_text(result.text), structured_content=structured, is_error=result.is_error
    )


def refusal(words: str) -> types.CallToolResult:
    """What a tool cannot do, and why."""
    return types.CallToolResult(content=_text(words), is_error=True)


def resource(item: ResourceListing) -> types.Resource:
    """One that can be read."""
    return types.Resource(
        uri=item.uri, name=item.name, title=item.title, description=item.description, mime_type=item.mime_type
    )


def template(item: ResourceListing) -> types.ResourceTemplate:
    """Many of one form."""
    return types.ResourceTemplate(
        uri_template=item.uri,
        name=item.name,
        title=item.title,
        description=item.description,
        mime_type=item.mime_type,
    )


def contents(found: ResourceText) -> types.ReadResourceResult:
    """One that was read."""
    text = types.TextResourceContents(uri=found.uri, mime_type=found.mime_type, text=found.text)
    return types.ReadResourceResult(contents=[text])


def prompt(item: PromptListing) -> types.Prompt:
    """One that can be asked for."""
    arguments = [
        types.PromptArgument(name=one.name, description=one.description, required=one.is_required)
        for one in item.arguments
    ]
    return types.Prompt(name=item.name, title=item.title, description=item.description, arguments=arguments)


def prompt_text(found: PromptText) -> types.GetPromptResult:
    """One that was asked for."""
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=found.text))
    return types.GetPromptResult(description=found.description, messages=[message])


def _text(words: str) -> list[types.ContentBlock]:
    return [types.TextContent(type="text", text=words)]
