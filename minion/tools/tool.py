"""A tool: its name, its parameters as JSON schema, and the check of what a model sends for them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from minion.errors import ToolError
from minion.protocol import Outcome


class Kind(StrEnum):
    """What a parameter holds."""

    TEXT = "text"
    NUMBER = "number"
    FLAG = "flag"
    TEXTS = "texts"
    TEXTS_BY_NAME = "texts by name"
    DOCUMENT = "document"
    """An object of a given schema. Where a model sends it as a text that is no JSON, that text is its value."""
    OBJECTS = "objects"
    """A list of objects of a given schema."""


_TYPES = {
    Kind.TEXT: "string",
    Kind.NUMBER: "integer",
    Kind.FLAG: "boolean",
    Kind.TEXTS: "array",
    Kind.TEXTS_BY_NAME: "object",
    Kind.DOCUMENT: "object",
    Kind.OBJECTS: "array",
}
"""The JSON type of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a tool."""

    name: str
    meaning: str
    kind: Kind = Kind.TEXT
    required: bool = False
    choices: Sequence[str] = ()
    least: int | None = None
    most: int | None = None
    of: Mapping[str, Any] = field(default_factory=dict)
    """The JSON schema of a document, or of each of the objects."""

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": _TYPES[self.kind], "description": self.meaning}
        if self.kind is Kind.DOCUMENT:
            schema = {**self.of, **schema}
        if self.kind is Kind.OBJECTS:
            schema["items"] = {**self.of, "type": "object"}
        if self.kind is Kind.TEXTS:
            schema["items"] = {"type": "string"}
        if self.kind is Kind.TEXTS_BY_NAME:
            schema["additionalProperties"] = {"type": "string"}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.least is not None:
            schema["minimum"] = self.least
        if self.most is not None:
            schema["maximum"] = self.most
        return schema

    def read(self, value: object) -> object:
        """The value in this parameter's type, forgiving what models commonly get wrong. Raises ToolError."""
        if self.kind is Kind.DOCUMENT:
            return self._document(value)
        if self.kind is Kind.OBJECTS:
            return self._objects(value)
        if self.kind is Kind.NUMBER:
            return self._number(value)
        if self.kind is Kind.TEXTS:
            return self._texts(value)
        if self.kind is Kind.TEXTS_BY_NAME:
            return self._texts_by_name(value)
        if self.kind is Kind.FLAG:
            return self._flag(value)
        if not isinstance(value, str):
            raise ToolError(f"{self.name} must be a string, not {_type(value)}.")
        if self.choices and value not in self.choices:
            raise ToolError(f"{self.name} must be one of {', '.join(self.choices)}, not {value!r}.")
        return _encodable(self.name, value)

    def _number(self, value: object) -> int:
        if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ToolError(f"{self.name} must be an integer, not {_type(value)}.")
        if self.least is not None and value < self.least:
            raise ToolError(f"{self.name} must be at least {self.least}, not {value}.")
        return value if self.most is None else min(value, self.most)

    def _flag(self, value: object) -> bool:
        if isinstance(value, str):
            value = {"true": True, "false": False}.get(value.strip().lower(), value)
        if not isinstance(value, bool):
            raise ToolError(f"{self.name} must be true or false.")
        return value

    def _texts(self, value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            value = _list_in(value)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ToolError(f"{self.name} must be a list of strings.")
        return tuple(_encodable(self.name, item) for item in value)

    def _document(self, value: object) -> dict[str, Any] | str:
        read = _json_in(_without_fence(value)) if isinstance(value, str) else value
        if isinstance(read, dict):
            return read
        if isinstance(value, str) and value.strip():
            return _encodable(self.name, _without_fence(value))
        raise ToolError(f"{self.name} must be an object, not {_type(value)}.")

    def _objects(self, value: object) -> tuple[dict[str, Any], ...]:
        if isinstance(value, str):
            value = _json_in(value)
        if isinstance(value, dict):
            value = [value]
        if not isinstance(value, list):
            raise ToolError(f"{self.name} must be a list of objects, not {_type(value)}.")
        return tuple(self._object(number, item) for number, item in enumerate(value, 1))

    def _object(self, number: int, value: object) -> dict[str, Any]:
        value = _json_in(value) if isinstance(value, str) else value
        if not isinstance(value, dict):
            raise ToolError(f"{self.name} must be a list of objects; item {number} is {_type(value)}.")
        return value

    def _texts_by_name(self, value: object) -> dict[str, str]:
        if isinstance(value, str):
            value = _list_in(value)
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise ToolError(f"{self.name} must be an object whose values are strings.")
        return {_encodable(self.name, str(name)): _encodable(self.name, item) for name, item in value.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A tool's result that ends the session."""

    outcome: Outcome
    summary: str
    replies: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()
    result: str = "done"
    event: str = ""
    answer: str = ""
    """The last three as in a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """What the model sees, and the function that does it: `run(session, **arguments)`."""

    name: str
    meaning: str
    run: Callable[..., str | Submission]
    parameters: Sequence[Parameter] = ()

    def schema(self) -> dict[str, Any]:
        """The tool as chat completions list it."""
        parameters = {
            "type": "object",
            "properties": {parameter.name: parameter.schema() for parameter in self.parameters},
            "required": [parameter.name for parameter in self.parameters if parameter.required],
            "additionalProperties": False,
        }
        function = {"name": self.name, "description": self.meaning, "parameters": parameters}
        return {"type": "function", "function": function}

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Check a call's arguments. Raises ToolError with what is wrong and what is known."""
        known = {parameter.name: parameter for parameter in self.parameters}
        if unknown := sorted(set(values) - set(known)):
            takes = ", ".join(known) or "no arguments"
            raise ToolError(f"{self.name} has no argument {', '.join(unknown)}; it takes {takes}.")
        present = {name: value for name, value in values.items() if value is not None}
        missing = [name for name, parameter in known.items() if parameter.required and name not in present]
        if missing:
            raise ToolError(f"{self.name} needs {', '.join(missing)}.")
        return {name: known[name].read(value) for name, value in present.items()}


def _list_in(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return [text]


def _json_in(text: str) -> object:
    """What a text holds as JSON; the text itself where it is none."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text


def _without_fence(text: str) -> str:
    """A text without the marks that Markdown puts round code."""
    lines = text.strip().splitlines(keepends=True)
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```":
        return "".join(lines[1:-1])
    return text


def _encodable(name: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"{name} holds a lone surrogate, which no file can hold.") from None
    return text


def _type(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        bool: "a boolean",
        str: "a string",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "null")
