"""A request of the Messages API as a chat completion. Text, images, tools, calls, results and stop sequences are all kept.

Chat has no place for four things. A model's thoughts can be read by their provider alone and are left out, and so are marks for
a cache, `top_k`, and how much to think: an endpoint that does not think refuses a word about it, and Claude Code always says one.
An image in a tool's result becomes a part of the user's message that follows the results. A PDF becomes a sentence that says it is
missing: it stays in the conversation, so a refusal would end the session. What the system says in the middle becomes a marked part
of the user's message, as Claude Code has it for older models: templates of many open models allow system messages at the start alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from overlord.domain.wires.messages_request import write_json
from overlord.domain.wires.wire import ModelRequest, Wire, WireError

_BILLING = "x-anthropic-billing-header:"
"""So begins a block of the system's words that Claude Code writes for the provider, and not for the model."""
_NO_TEXT = "(no text)"
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def to_chat(request: ModelRequest) -> ModelRequest:
    """Raises WireError for a tool that has no schema, and for values that are nested too deeply."""
    body = request.body
    conversation = _Conversation()
    for message in body["messages"]:
        conversation.add(message)
    messages = conversation.finished()
    if words := _text_of(body.get("system"), leave_out=_BILLING):
        messages.insert(0, {"role": "system", "content": words})
    chat: dict[str, Any] = {"messages": messages}
    if tools := [_tool(tool) for tool in conversation.offered(body.get("tools") or ())]:
        chat["tools"] = tools
        chat |= _choice(body.get("tool_choice"))
    if body.get("stop_sequences"):
        chat["stop"] = body["stop_sequences"]
    chat |= {key: body[key] for key in ("temperature", "top_p") if key in body}
    wanted = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    if wanted.get("type") == "json_schema" and isinstance(wanted.get("schema"), dict):
        schema = {"name": "reply", "schema": wanted["schema"], "strict": True}
        chat["response_format"] = {"type": "json_schema", "json_schema": schema}
    return ModelRequest(
        wire=Wire.CHAT,
        body=chat,
        stream=request.stream,
        completion=request.completion,
        messages=messages,
    )


@dataclass(slots=True)
class _Conversation:
    """Messages as they become chat's, and which tools they make known or take back."""

    _messages: list[dict[str, Any]] = field(default_factory=list)
    _known: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    """Tools that a message made known, by name; with what they are where the message said so."""
    _removed: set[str] = field(default_factory=set)

    def add(self, message: Mapping[str, Any]) -> None:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        match message["role"]:
            case "assistant":
                self._add_reply(blocks)
            case "system":
                self._add_system(blocks)
            case _:
                self._add_user(blocks)

    def offered(self, tools: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The tools a model sees: one that is to be loaded later counts once a message has named it."""
        found = {
            tool["name"]: tool
            for tool in tools
            if not tool.get("defer_loading") or tool["name"] in self._known
        }
        found |= {name: tool for name, tool in self._known.items() if tool is not None}
        return [tool for name, tool in found.items() if name not in self._removed]

    def _add_reply(self, blocks: list[dict[str, Any]]) -> None:
        text = "\n\n".join(block["text"] for block in blocks if block["type"] == "text" and block["text"])
        calls = [
            {
                "id": block["id"],
                "type": "function",
                "function": {"name": block["name"], "arguments": write_json(block["input"])},
            }
            for block in blocks
            if block["type"] == "tool_use"
        ]
        if text or calls:
            reply: dict[str, Any] = {"role": "assistant", "content": text or None}
            self._messages.append(reply | ({"tool_calls": calls} if calls else {}))

    def _add_system(self, blocks: list[dict[str, Any]]) -> None:
        for block in blocks:
            if block["type"] == "text":
                self._say([_text(f"<system-reminder>\n{block['text']}\n</system-reminder>")])
                continue
            tool = block["tool"]
            definition = tool.get("definition")
            name = tool["name"] if definition is None else definition["name"]
            if block["type"] == "tool_removal":
                self._removed.add(name)
            else:
                self._removed.discard(name)
                self._known[name] = definition

    def _add_user(self, blocks: list[dict[str, Any]]) -> None:
        shown: list[dict[str, Any]] = []
        for block in blocks:
            if block["type"] == "tool_result":
                shown += self._add_result(block)
        for block in blocks:
            if block["type"] in {"text", "image", "document"}:
                shown += _parts(block)
        if shown:
            self._say(shown)

    def _add_result(self, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Add what a tool gave; return its images, which are to follow."""
        content = block.get("content") or ""
        inner = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for item in inner:
            if item["type"] == "tool_reference":
                self._known.setdefault(item["tool_name"], None)
        parts = [part for item in inner for part in _parts(item)]
        images = [part for part in parts if part["type"] == "image_url"]
        texts = ["Error:"] if block.get("is_error") is True else []
        texts += [part["text"] for part in parts if part["type"] == "text"]
        if images:
            texts.append("(The images of this result are in the next message.)")
        self._messages.append(
            {
                "role": "tool",
                "tool_call_id": block["tool_use_id"],
                "content": "\n".join(texts) or _NO_TEXT,
            }
        )
        return [_text(f"Images of the result of {block['tool_use_id']}:"), *images] if images else []

    def _say(self, parts: list[dict[str, Any]]) -> None:
        """Add to the user's words. Messages of the user that follow each other are one: many models' templates allow no others."""
        if self._messages and self._messages[-1]["role"] == "user":
            self._messages[-1]["content"] += parts
        else:
            self._messages.append({"role": "user", "content": parts})

    def finished(self) -> list[dict[str, Any]]:
        """All messages; those of the user as plain text where they are nothing else."""
        return [
            {**message, "content": _joined(message["content"])}
            if isinstance(message["content"], list)
            else message
            for message in self._messages
        ]


def _joined(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _parts(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    match block["type"]:
        case "text":
            return [_text(block["text"])]
        case "image":
            source = block["source"]
            url = f"data:{source['media_type']};base64,{source['data']}"
            return [{"type": "image_url", "image_url": {"url": url}}]
        case "document":
            return _document(block["source"])
        case _:
            return [_text(f"The tool {block['tool_name']} can be called now.")]


def _document(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    match source["type"]:
        case "text":
            return [_text(source["data"])]
        case "content":
            content = source.get("content") or ""
            return (
                [_text(content)]
                if isinstance(content, str)
                else [part for item in content for part in _parts(item)]
            )
        case _:
            return [
                _text("(A document is left out here: this model can be given text and images, and no PDF.)")
            ]


def _text_of(content: object, *, leave_out: str) -> str:
    if not isinstance(content, list):
        return str(content or "")
    return "\n\n".join(block["text"] for block in content if not block["text"].startswith(leave_out))


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    if "input_schema" not in tool:
        raise WireError(
            f"the tool {tool['type']!r} has no schema, and this model's endpoint speaks chat completions, which needs one; "
            "offer a tool with an input_schema"
        )
    function = {"name": tool["name"], "parameters": tool["input_schema"]}
    function |= {key: tool[key] for key in ("description", "strict") if tool.get(key) is not None}
    return {"type": "function", "function": function}


def _choice(choice: Mapping[str, Any] | None) -> dict[str, Any]:
    if choice is None:
        return {}
    kind = choice["type"]
    said = _CHOICES.get(kind) or {"type": "function", "function": {"name": choice["name"]}}
    alone = {"parallel_tool_calls": False} if choice.get("disable_parallel_tool_use") else {}
    return {"tool_choice": said, **alone}
