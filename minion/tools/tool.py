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
    NUMBERS = "numbers"
    REFERENCE = "reference"
    """A text that names something by its number, as `n12`. A model may send the number alone."""
    REFERENCES = "references"
    FLAG = "flag"
    TEXTS = "texts"
    TEXTS_BY_NAME = "texts by name"
    DOCUMENT = "document"
    """An object of a given schema. Where a model sends it as a text that is no JSON, that text is its value."""
    JSON_TEXT = "json text"
    """A text, which may be JSON. What a model sends as an object or a list is taken as its text."""
    OBJECTS = "objects"
    """A list of objects of a given schema."""


_TYPES = {
    Kind.TEXT: "string",
    Kind.NUMBER: "integer",
    Kind.NUMBERS: "array",
    Kind.REFERENCE: "string",
    Kind.REFERENCES: "array",
    Kind.FLAG: "boolean",
    Kind.TEXTS: "array",
    Kind.TEXTS_BY_NAME: "object",
    Kind.DOCUMENT: "object",
    Kind.JSON_TEXT: "string",
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
        if self.kind in (Kind.TEXTS, Kind.REFERENCES):
            schema["items"] = {"type": "string"}
        if self.kind is Kind.NUMBERS:
            schema["items"] = {"type": "integer"}
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
        reading: dict[Kind, Callable[[object], object]] = {
            Kind.DOCUMENT: self._document,
            Kind.JSON_TEXT: self._json_text,
            Kind.OBJECTS: self._objects,
            Kind.NUMBER: self._number,
            Kind.NUMBERS: self._numbers,
            Kind.REFERENCE: self._reference,
            Kind.REFERENCES: self._references,
            Kind.TEXTS: self._texts,
            Kind.TEXTS_BY_NAME: self._texts_by_name,
            Kind.FLAG: self._flag,
        }
        return reading.get(self.kind, self._text)(value)

    def _text(self, value: object) -> str:
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

    def _numbers(self, value: object) -> tuple[int, ...]:
        return tuple(self._number(item) for item in self._items(value))

    def _reference(self, value: object) -> str:
        return self._text(
            str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        ).strip()

    def _references(self, value: object) -> tuple[str, ...]:
        return tuple(self._reference(item) for item in self._items(value))

    def _items(self, value: object) -> list[object]:
        """A list; a text may hold one as JSON, and anything else is the one item of it."""
        value = _json_in(value) if isinstance(value, str) else value
        return value if isinstance(value, list) else [value]

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

    def _json_text(self, value: object) -> str:
        return self._text(json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value)

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
        parameters = object_schema(self.parameters)
        # A schema refers to its definitions from the root, which is here.
        definitions = {
            name: of
            for schema in parameters["properties"].values()
            for name, of in schema.pop("$defs", {}).items()
        }
        if definitions:
            parameters["$defs"] = definitions
        function = {"name": self.name, "description": self.meaning, "parameters": parameters}
        return {"type": "function", "function": function}

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Check a call's arguments. Raises ToolError with what is wrong and what is known."""
        return read_values(self.name, self.parameters, values)


def read_values(what: str, parameters: Sequence[Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as these parameters take them; `what` has them. Raises ToolError with what is wrong and what is known."""
    known = {parameter.name: parameter for parameter in parameters}
    if unknown := sorted(set(values) - set(known)):
        takes = ", ".join(known) or "no arguments"
        raise ToolError(f"{what} has no argument {', '.join(unknown)}; it takes {takes}.")
    present = {name: value for name, value in values.items() if value is not None}
    missing = [name for name, parameter in known.items() if parameter.required and name not in present]
    if missing:
        raise ToolError(f"{what} needs {', '.join(missing)}.")
    return {name: known[name].read(value) for name, value in present.items()}


def object_schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of an object with these parameters as its keys."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema() for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


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
