"""What a session may ask over Google's wire. Only functions are offered to a model, which the client runs itself: search, code and maps
would be run by Google, and kept content or files would be read from there. They are refused with their names.
"""

import re
from collections.abc import Mapping
from typing import Any

from overlord.domain.wires.translation.event_stream import (
    check_model,
    list_of,
    object_of,
    text_of,
    write_json,
)
from overlord.domain.wires.wire import ModelRequest, Wire, WireError

PASSED_ON = frozenset(
    {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"}
)
"""What of a request reaches the endpoint."""
DROPPED = frozenset({"model", "labels", "serviceTier", "store"})
"""What no session may decide: left out without a word."""
CONFIG = frozenset(
    {
        "temperature",
        "topP",
        "topK",
        "stopSequences",
        "seed",
        "presencePenalty",
        "frequencyPenalty",
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
        "thinkingConfig",
        "mediaResolution",
    }
)
"""Settings of the reply that are passed on as they are."""
OURS = frozenset({"maxOutputTokens", "candidateCount", "responseModalities"})
"""Settings of the reply that are checked here; the gateway writes the limit itself."""
DECLARATION = frozenset(
    {
        "name",
        "description",
        "parameters",
        "parametersJsonSchema",
        "response",
        "responseJsonSchema",
        "behavior",
    }
)
PARTS = frozenset({"text", "inlineData", "functionCall", "functionResponse"})
"""Kinds of content; data only as an image."""
BESIDE = frozenset({"thought", "thoughtSignature"})
"""What a part may have beside its content."""
MODES = frozenset({"MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"})
_NUMBERS = ("temperature", "topP", "topK", "seed", "presencePenalty", "frequencyPenalty")
_IMAGE = re.compile(r"image/[A-Za-z0-9.+-]{1,50}")


def read_request(
    body: Mapping[str, Any], *, names: frozenset[str], completion: int, model: str, stream: bool
) -> ModelRequest:
    """Check a request of a session that may use the models of these names alone; the model is named in its address. Raises WireError."""
    check_model(model, names)
    for key in body.keys() - PASSED_ON - DROPPED:
        raise WireError(f"{key[:100]!r} is not passed on; known: {', '.join(sorted(PASSED_ON))}")
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        raise WireError("a request needs contents: a list of what was said")
    for content in contents:
        _check_content(content)
    system = body.get("systemInstruction")
    if system is not None:
        _check_content(system, only_text=True)
    _check_tools(body.get("tools"))
    _check_tool_config(body.get("toolConfig"))
    _check_safety(body.get("safetySettings"))
    limit = _checked_config(body.get("generationConfig"))
    passed = {key: value for key, value in body.items() if key in PASSED_ON and value is not None}
    config = object_of(passed.get("generationConfig"))
    if config:
        passed["generationConfig"] = {k: v for k, v in config.items() if k in CONFIG and v is not None}
    return ModelRequest(
        wire=Wire.GEMINI,
        body=passed,
        stream=stream,
        completion=min(completion, limit or completion),
        messages=[*([{"role": "system", **system}] if system else []), *contents],
    )


def write_request(request: ModelRequest) -> bytes:
    """The request as an endpoint of this wire gets it; the model's name is in the address."""
    config = {**object_of(request.body.get("generationConfig")), "maxOutputTokens": request.completion}
    return write_json({**request.body, "generationConfig": config})


def declarations_of(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The functions of a checked request."""
    return [one for tool in list_of(body.get("tools")) for one in list_of(tool.get("functionDeclarations"))]


def _known_keys(value: Mapping[str, Any], known: frozenset[str], what: str) -> None:
    for key in value.keys() - known:
        raise WireError(f"{key[:100]!r} of {what} is not passed on; known: {', '.join(sorted(known))}")


def _check_content(content: object, *, only_text: bool = False) -> None:
    if not isinstance(content, dict) or not isinstance(content.get("parts"), list):
        raise WireError("each of the contents is an object with a role and a list of parts")
    _known_keys(content, frozenset({"role", "parts"}), "a content")
    if text_of(content.get("role", "user")) not in {"user", "model", "function", "system"}:
        raise WireError("the role of a content is user or model")
    for part in content["parts"]:
        _check_part(part)
        if only_text and "text" not in part:
            raise WireError("the systemInstruction is text alone")


def _check_part(part: object) -> None:
    if not isinstance(part, dict):
        raise WireError("each part of a content is an object")
    _known_keys(part, PARTS | BESIDE, "a part")
    kinds = part.keys() & PARTS
    if len(kinds) != 1 and not (not kinds and part.keys() & BESIDE):
        raise WireError(f"a part holds one of {', '.join(sorted(PARTS))}")
    if not isinstance(part.get("text", ""), str):
        raise WireError("the text of a part is text")
    if "inlineData" in part:
        check_image(part["inlineData"])
    for kind in kinds & {"functionCall", "functionResponse"}:
        _check_called(part[kind], kind)


def check_image(data: object) -> None:
    """Raises WireError for data that is no image."""
    known = object_of(data)
    if not isinstance(known.get("data"), str) or not _IMAGE.fullmatch(text_of(known.get("mimeType"))):
        kind = text_of(known.get("mimeType"))[:100]
        raise WireError(f"inlineData of type {kind!r} is not passed on; only data of an image is")
    _known_keys(known, frozenset({"mimeType", "data", "displayName"}), "inlineData")


def _check_called(called: object, kind: str) -> None:
    value = "args" if kind == "functionCall" else "response"
    if not isinstance(called, dict) or not text_of(called.get("name")):
        raise WireError(f"a {kind} is an object with a name")
    extra = {"parts"} if kind == "functionResponse" else set()
    _known_keys(called, frozenset({"id", "name", value, *extra}), f"a {kind}")
    if not isinstance(called.get(value), dict | None):
        raise WireError(f"the {value} of a {kind} is an object")
    if not isinstance(called.get("id"), str | None):
        raise WireError(f"the id of a {kind} is text")
    if not isinstance(called.get("parts"), list | None):
        raise WireError("the parts of a functionResponse are a list")
    for part in called.get("parts") or ():
        if not isinstance(part, dict) or part.keys() != {"inlineData"}:
            raise WireError("a part of a functionResponse is inlineData")
        check_image(part["inlineData"])


def _check_tools(tools: object) -> None:
    if not isinstance(tools, list | None):
        raise WireError("tools must be a list")
    named: set[str] = set()
    for tool in tools or ():
        if not isinstance(tool, dict):
            raise WireError("each of the tools is an object")
        for key in tool.keys() - {"functionDeclarations"}:
            raise WireError(f"tool {key[:100]!r} is not passed on; only functionDeclarations are")
        declared = tool.get("functionDeclarations")
        if not isinstance(declared, list | None):
            raise WireError("functionDeclarations must be a list")
        for one in declared or ():
            _check_declaration(one)
            if one["name"] in named:
                raise WireError(f"function {one['name'][:100]!r} is declared twice")
            named.add(one["name"])


def _check_declaration(one: object) -> None:
    if not isinstance(one, dict) or not text_of(one.get("name")):
        raise WireError("each of the functionDeclarations is an object with a name")
    _known_keys(one, DECLARATION, "a function's declaration")
    if not isinstance(one.get("description"), str | None):
        raise WireError("a function's description is text")
    for key in ("parameters", "parametersJsonSchema"):
        if not isinstance(one.get(key), dict | None):
            raise WireError(f"a function's {key} is an object")


def _check_tool_config(config: object) -> None:
    if config is None:
        return
    calling = object_of(config).get("functionCallingConfig")
    if not isinstance(config, dict) or not isinstance(calling, dict | None):
        raise WireError("toolConfig is an object with a functionCallingConfig")
    _known_keys(config, frozenset({"functionCallingConfig"}), "toolConfig")
    if calling is None:
        return
    _known_keys(calling, frozenset({"mode", "allowedFunctionNames"}), "functionCallingConfig")
    if text_of(calling.get("mode", "AUTO")) not in MODES:
        raise WireError(f"the mode of functionCallingConfig is one of {', '.join(sorted(MODES))}")
    allowed = calling.get("allowedFunctionNames")
    if not isinstance(allowed, list | None) or not all(isinstance(name, str) for name in allowed or ()):
        raise WireError("allowedFunctionNames is a list of names")


def _check_safety(settings: object) -> None:
    if not isinstance(settings, list | None) or not all(isinstance(one, dict) for one in settings or ()):
        raise WireError("safetySettings must be a list of objects")


def _checked_config(config: object) -> int | None:
    """The limit on the reply, where one is asked for."""
    if not isinstance(config, dict | None):
        raise WireError("generationConfig must be an object")
    given = object_of(config)
    _known_keys(given, CONFIG | OURS, "generationConfig")
    if given.get("candidateCount") not in (None, 1):
        raise WireError("candidateCount must be 1: one reply a request")
    if given.get("responseModalities") not in (None, [], ["TEXT"]):
        raise WireError("responseModalities may only be TEXT")
    for key in _NUMBERS:
        if isinstance(given.get(key), bool) or not isinstance(given.get(key), int | float | None):
            raise WireError(f"{key} must be a number")
    stops = given.get("stopSequences")
    if not isinstance(stops, list | None) or not all(isinstance(stop, str) for stop in stops or ()):
        raise WireError("stopSequences is a list of texts")
    for key in ("responseSchema", "responseJsonSchema", "thinkingConfig"):
        if not isinstance(given.get(key), dict | None):
            raise WireError(f"{key} must be an object")
    if not isinstance(given.get("responseMimeType"), str | None):
        raise WireError("responseMimeType must be text")
    limit = given.get("maxOutputTokens")
    if limit is not None and not (type(limit) is int and limit > 0):
        raise WireError("maxOutputTokens must be a whole number above 0")
    return limit
