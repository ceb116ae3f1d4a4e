"""Arguments of verbs and queries as JSON: what an API takes for each kind, and what a client sends for a record it has.

A value is read by its kind, from words, as in a chat: there is one reading, and JSON only says where each argument begins and ends.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from typing import Any, TypeVar, get_args, get_type_hints

from minion.protocol import Scope, ScopeError
from overlord.domain.access import AccessRight
from overlord.domain.conversation import access_argument
from overlord.domain.conversation.access_argument import AccessRightArgument, SpacesArgument
from overlord.domain.conversation.argument import (
    MOST_CHARS,
    MOST_PATTERNS,
    ApprovalArgument,
    Argument,
    CommandError,
    InitiativeArgument,
    JobArgument,
    PatternsArgument,
    SkillRef,
    TaskArgument,
    Typed,
    WordsArgument,
    arguments_of,
)
from overlord.domain.conversation.contract_argument import (
    MOST_TEXT,
    ContractTextArgument,
    JobOptionArgument,
    LastArgument,
)
from overlord.domain.conversation.look_argument import (
    CostOf,
    DaysArgument,
    DaySpan,
    FilterArgument,
    FlagArgument,
    HoursArgument,
    NamedArgument,
)
from overlord.domain.decision import ApprovalRef
from overlord.domain.text.reference import InitiativeRef, IssueRef, JobRef, TaskRef
from overlord.settings.assignment import SettingsArgument, assigned

Record = TypeVar("Record")
Schema = dict[str, Any]


class MisreadArgument(CommandError):
    """One argument is not understood; `field` is its name."""

    def __init__(self, field: str, error: CommandError) -> None:
        super().__init__(str(error), *error.examples)
        self.field = field


def record_of(record: type[Record], given: Mapping[str, object], typed: Typed) -> Record:
    """The record that some JSON values stand for, by the names of its fields. Raises CommandError."""
    values, kinds, named = dict[str, object](), dict(arguments_of(record)), enums_of(record)
    if unknown := [name for name in given if name not in kinds and name not in named]:
        known = ", ".join([*kinds, *named]) or "none"
        raise MisreadArgument(unknown[0][:40], CommandError(f"There is no such argument; there is {known}."))
    for name, kind in kinds.items():
        if given.get(name) is None and _has_default(record, name):
            continue
        try:
            values[name] = value_of(kind, given.get(name), typed)
        except CommandError as error:
            raise MisreadArgument(name, error) from None
    for name, choices in named.items():
        if (value := given.get(name)) is not None:
            if not isinstance(value, str) or value not in set(choices):
                raise MisreadArgument(name, CommandError(f"It is one of {', '.join(choices)}."))
            values[name] = choices(value)
    return record(**values)


def value_of(kind: Argument, given: object, typed: Typed) -> object:
    """One argument's value, from JSON. Raises CommandError."""
    most = MOST_TEXT if isinstance(kind, ContractTextArgument) else MOST_CHARS
    if isinstance(given, str) and len(given) > most:
        raise CommandError(f"That is too long: at most {most} characters.")
    match kind, given:
        case ContractTextArgument(), None | str():
            return given or ""
        case FlagArgument(), None | bool():
            return bool(given)
        case FlagArgument(), "true" | "1" | "on":
            return True
        case FlagArgument(), "false" | "0" | "off" | "":
            return False
        case FlagArgument(), _:
            raise CommandError("It is true or false.")
        case SettingsArgument(), None:
            return {}
        case SettingsArgument(), dict():
            return assigned(f"{key}={json.dumps(value)}" for key, value in given.items())
        case PatternsArgument(), list() | tuple():
            return _patterns(given)
    words = _words(kind, given)
    value, rest = kind.read(words, typed)
    if rest:
        raise typed.misread(f"That one takes nothing after {kind.noun}.")
    return value


def _words(kind: Argument, given: object) -> str:
    """A JSON value as it is typed. Raises CommandError for one that nothing is typed for."""
    match given:
        case None:
            return ""
        case str():
            said = given.strip()
        case bool():
            raise CommandError("It is a text.")
        case int() | float():
            said = str(given)
        case list() if isinstance(kind, SpacesArgument) and all(isinstance(one, str) for one in given):
            said = " ".join(given)
        case _:
            raise CommandError("It is a text.")
    if said and isinstance(kind, JobOptionArgument):
        return f"job {said}"
    if not said or not isinstance(kind, NamedArgument):
        return said
    return f"{kind.name}:{said}" if isinstance(kind, FilterArgument) else f"{kind.name} {said}"


def _patterns(given: Sequence[object]) -> tuple[str, ...]:
    items = [item.removeprefix("+") for item in given if isinstance(item, str)]
    if not items or len(items) != len(given) or len(items) > MOST_PATTERNS:
        raise CommandError(f"It is a list of patterns, as src/**; at most {MOST_PATTERNS}.")
    try:
        return Scope.parse(json.dumps(items)).patterns
    except ScopeError:
        raise CommandError("One of these patterns is none that a scope can have.") from None


def enums_of(record: type) -> dict[str, type[StrEnum]]:
    """The fields that nobody types and a program may say: an answer by its name."""
    typed, found = {name for name, _ in arguments_of(record)}, dict[str, type[StrEnum]]()
    for name, hint in get_type_hints(record).items():
        for choice in get_args(hint):
            if name not in typed and isinstance(choice, type) and issubclass(choice, StrEnum):
                found[name] = choice
    return found


def _has_default(record: type, name: str) -> bool:
    return _field(record, name).default is not MISSING


def _field(record: type, name: str) -> Field[Any]:
    return next(item for item in fields(record) if item.name == name)


# What a client sends


def json_of(arguments: Any) -> dict[str, Any]:
    """A record as the JSON that stands for it; what is not said is left out."""
    record = type(arguments)
    found = {name: _sent(kind, getattr(arguments, name)) for name, kind in arguments_of(record)}
    found |= {name: getattr(arguments, name) for name in enums_of(record)}
    return {name: value for name, value in found.items() if value not in (None, "", [])}


def _sent(kind: Argument, value: Any) -> Any:
    match value:
        case JobRef():
            return str(value.number)
        case IssueRef() | InitiativeRef() | TaskRef():
            return str(value)
        case ApprovalRef():
            return value.label
        case SkillRef():
            return f"{value.space} {value.name}" if value.space else value.name
        case CostOf():
            return f"job {_sent(kind, value.job)}" if value.job is not None else value.span
        case tuple():
            return list(value)
        case False:
            return None
        case _:
            return value


# How it is described


def schema_of(record: type) -> Schema:
    """A JSON schema of a record's arguments."""
    properties = {name: argument_schema(kind) for name, kind in arguments_of(record)}
    properties |= {
        name: {"type": "string", "enum": [choice.value for choice in choices]}
        for name, choices in enums_of(record).items()
    }
    needed = [name for name, kind in arguments_of(record) if is_needed(record, name, kind)]
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **({"required": needed} if needed else {}),
    }


def is_needed(record: type, name: str, kind: Argument) -> bool:
    """Whether an argument cannot be left out."""
    if _has_default(record, name):
        return False
    try:
        value_of(kind, None, Typed(name="", usage=""))
    except CommandError:
        return True
    return False


def argument_schema(kind: Argument) -> Schema:
    """A JSON schema of one argument."""
    return {"description": kind.help, **_type(kind)}


def _type(kind: Argument) -> Schema:
    match kind:
        case FlagArgument():
            return {"type": "boolean", "default": False}
        case HoursArgument():
            return {"type": "number", "minimum": 0, "maximum": kind.most, "default": kind.default}
        case DaysArgument():
            return {"type": "string", "enum": [span.value for span in DaySpan], "default": kind.default.value}
        case access_argument.DaysArgument():
            return {"type": "integer", "minimum": 1, "maximum": kind.most}
        case AccessRightArgument():
            return {"type": "string", "enum": [right.value for right in AccessRight], "default": kind.default}
        case LastArgument() | ContractTextArgument():
            return _type_about_contracts(kind)
        case NamedArgument() if kind.choices:
            return {"type": "string", "enum": list(kind.choices)}
        case SpacesArgument() | PatternsArgument():
            return {"type": "array", "items": {"type": "string"}}
        case SettingsArgument():
            return {"type": "object"}
        case JobArgument() | ApprovalArgument() | InitiativeArgument() | TaskArgument():
            return {"type": "string", "minLength": 1}
        case WordsArgument() if kind.missing:
            return {"type": "string", "minLength": 1, "maxLength": MOST_CHARS}
        case _:
            return {"type": "string", "maxLength": MOST_CHARS}


def _type_about_contracts(kind: LastArgument | ContractTextArgument) -> Schema:
    if isinstance(kind, ContractTextArgument):
        return {"type": "string", "maxLength": MOST_TEXT}
    return {"type": "integer", "minimum": 1, "maximum": kind.most, "default": kind.default}
