"""A contract as an architect proposes it: read like a repository's own, and every problem told so that a model can act on it.

The value comes from a model, so it is anything at all: it is made plain within limits before any of it is written as YAML. What the
model says becomes canonical text, and that text is read, so that what people confirm is exactly what is committed.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from overlord.domain.contracts.contract import END, PEOPLE, Contract, is_plan, own_plan
from overlord.domain.contracts.document import Document
from overlord.domain.contracts.part import NAME
from overlord.domain.contracts.reading import CONTRACT_DIR, CONTRACT_FILES, parse_files, read_contract
from overlord.domain.contracts.rules.registry import NAMES, RULES, USABLE
from overlord.domain.contracts.schema import contract_schema
from overlord.domain.event import OVERLORD
from overlord.domain.text.plain import visible
from overlord.domain.text.untrusted_yaml import MAX_DEPTH
from overlord.errors import ContractError, ContractProblem

PATH = f"{CONTRACT_DIR}/{CONTRACT_FILES[0]}"
"""Where the contract is in the repository."""
HEADING = "# Proposed by an architect's session. Overlord's documentation says what each key means: docs/contracts.md\n"
MOST_BYTES = 200_000
"""Of the text of a proposal."""
MOST_PROBLEMS = 30
MOST_PROBLEM_CHARS = 800
MOST_VALUES = 10_000
"""Values in a proposal: a contract of a page has some hundreds."""
MOST_INPUTS = 400
"""Inputs of phases and gates together: each is looked for among all files."""
MOST_SCHEMA_CHARS = 14_100
"""Of the schema of the tool, which each turn of a session carries."""
_LARGEST = 10**15
_TITLES = {
    "yaml": "the text can be read",
    "schema": "the form of a contract",
    "init": "what a first contract has to have",
    **{rule.number: rule.title.rstrip(".") for rule in (NAMES, USABLE, *RULES)},
}
_REQUIRED = ("name", "version", "lifetime", "roles", "phases", "gates")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What was proposed, and what is held against it."""

    text: str
    """As YAML; empty where it cannot be written as such."""
    contract: Contract | None
    """None while there is a problem."""
    problems: tuple[str, ...]
    """At most `MOST_PROBLEMS`, and how many more there are."""


class _NotPlainError(ValueError):
    """A value that no contract has; the message says where."""


def propose(value: object, *, existing: Collection[str]) -> Proposal:
    """Read what the tool was given: the contract as a JSON object, or as YAML in a string. `existing`: the files at base. It never
    raises: whatever the value is, there is a problem to tell."""
    try:
        if isinstance(value, str):
            document = Document.of({PATH: _content(value)})
            if not isinstance(document, Document):
                return Proposal(text=value, contract=None, problems=_told(document))
            return review_text(_canonical(document.value), existing=existing)
        return review_text(_canonical(value), existing=existing)
    except _NotPlainError as error:
        return Proposal(text="", contract=None, problems=(_line(str(error)),))


def review_text(text: str, *, existing: Collection[str] | None) -> Proposal:
    """A contract's text as it stands, as after a person edited it, held against the rules and what a first contract has to have.
    `existing` is None where the files at base are not known."""
    try:
        document = Document.of({PATH: _content(text)})
    except _NotPlainError as error:
        return Proposal(text="", contract=None, problems=(_line(str(error)),))
    if isinstance(document, Document) and document.value.get("version") == 1:
        problems = [_own("version", "a new contract is written as version 2", fix="write `version: 2`")]
        return Proposal(text=text, contract=None, problems=_told(problems))
    contract, problems = _held(text.encode(), existing)
    return Proposal(text=text, contract=None if problems else contract, problems=_told(problems))


def _content(text: str) -> bytes:
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise _NotPlainError("the proposal has characters that are no text; write it in UTF-8") from None
    if len(content) > MOST_BYTES:
        raise _NotPlainError(f"the proposal is larger than {MOST_BYTES:,} bytes; a contract is a page or two")
    return content


def _held(content: bytes, existing: Collection[str] | None) -> tuple[Contract | None, list[ContractProblem]]:
    """What the rules say, then what is asked of a first contract. Too many inputs are not looked for among the files."""
    files = {PATH: content}
    try:
        contract = parse_files(files)
    except ContractError as error:
        return None, list(error.problems)
    own = [*_first_contract_problems(contract), *_plan_problems(contract, existing or ())]
    too_many = any(problem.key == "phases" for problem in own)
    try:
        return read_contract(files, existing=None if too_many else existing), own
    except ContractError as error:
        people_missing = any(problem.rule == "5.5" for problem in error.problems)
        return None, [*error.problems, *(item for item in own if item.key != "gates" or not people_missing)]


def _canonical(value: object) -> str:
    """The value as YAML in block style, top-level keys in the order of the documentation. Raises _NotPlainError."""
    if not isinstance(value, Mapping):
        keys = ", ".join(_REQUIRED)
        raise _NotPlainError(f"the proposal is no object: give one with the keys of a contract, as {keys}")
    left = [MOST_VALUES]
    plain = _plain(value, (), left)
    order = {name: index for index, name in enumerate(Contract.model_fields)}
    document = dict(sorted(plain.items(), key=lambda item: order.get(item[0], len(order))))
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=False, width=100)
    return f"{HEADING}{text}"


def _plain(value: object, way: tuple[str, ...], left: list[int]) -> Any:
    """The same made anew of what JSON has, so that nothing in it is met twice and YAML needs no anchors."""
    left[0] -= 1
    if left[0] < 0:
        raise _NotPlainError(
            f"the proposal has more than {MOST_VALUES:,} values; a contract is a page or two"
        )
    if len(way) >= MAX_DEPTH and isinstance(value, Mapping | list | tuple):
        raise _NotPlainError(f"{_place(way[:4])}…: nothing in a contract is so deep")
    if isinstance(value, Mapping):
        return {_key(key, way): _plain(item, (*way, key), left) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, (*way, str(index)), left) for index, item in enumerate(value)]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value, way)
    if isinstance(value, str):
        return _text(value, way)
    raise _NotPlainError(f"{_place(way)}: is no value of JSON; write a text, a number, a list or an object")


def _key(key: object, way: tuple[str, ...]) -> str:
    if not isinstance(key, str):
        raise _NotPlainError(f"{_place(way)}: a key of it is no text; write each key as a string")
    return _text(key, way)


def _text(value: str, way: tuple[str, ...]) -> str:
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise _NotPlainError(f"{_place(way)}: has characters that are no text; write it in UTF-8")
    return str(value)


def _number(value: int | float, way: tuple[str, ...]) -> int | float:
    if not math.isfinite(value) if isinstance(value, float) else abs(value) > _LARGEST:
        raise _NotPlainError(f"{_place(way)}: is no number that a contract has; write a small one")
    return float(value) if isinstance(value, float) else int(value)


def _place(way: Sequence[str]) -> str:
    return ".".join(part[:100] for part in way) or "the proposal"


def _first_contract_problems(contract: Contract) -> Iterator[ContractProblem]:
    """What is no rule of the constitution, and held for a contract that Overlord commits."""
    if OVERLORD in contract.roles:
        message = f"a role cannot be called {OVERLORD}: it is the name of what code does"
        yield _own(f"roles.{OVERLORD}", message, fix="give it another name")
    if (inputs := _inputs(contract)) > MOST_INPUTS:
        message = f"its phases and gates name {inputs:,} inputs, and {MOST_INPUTS} are looked at"
        yield _own("phases", message, fix="write patterns of directories, as src/**")
    for source, _, target in contract.edges():
        found = contract.gate_on(source, END)
        if target == END and (found is None or found[1].audience not in PEOPLE):
            yield _own(
                "gates",
                "no gate of a person is right before the end",
                counterexample=f"{source}->{END}",
                fix=f"add `merge: {{on: {source}->{END}, audience: person, approve: merged, reject: pr_closed}}`",
            )


def _plan_problems(contract: Contract, existing: Collection[str]) -> Iterator[ContractProblem]:
    """A plan has no place where the repository has files of its own there: such a contract could never be gone by."""
    if contract.has_plan and (taken := own_plan(existing)):
        first = next(
            name for name, phase in contract.phases.items() if any(map(is_plan, phase.outputs or ()))
        )
        yield _own(
            f"phases.{first}.outputs",
            "the repository has files of its own under plan/, where a job's plan would be",
            counterexample=taken,
            fix="write no patterns under plan/ as outputs, as a contract without a plan does",
        )


def _inputs(contract: Contract) -> int:
    phases = sum(len(phase.inputs or ()) for phase in contract.phases.values())
    return phases + sum(len(gate.inputs) for gate in contract.gates.values())


def _own(key: str, message: str, *, counterexample: str = "", fix: str) -> ContractProblem:
    return ContractProblem(
        file=PATH, line=None, key=key, rule="init", message=message, counterexample=counterexample, fix=fix
    )


def _told(problems: Sequence[ContractProblem]) -> tuple[str, ...]:
    """Each in one line, as far as they are told."""
    lines = tuple(_line(_sentence(item)) for item in problems[:MOST_PROBLEMS])
    more = len(problems) - MOST_PROBLEMS
    return lines if more <= 0 else (*lines, f"and {more:,} more")


def _sentence(problem: ContractProblem) -> str:
    """The rule in a few words, the place, what is wrong, what shows it, and what to do."""
    rule = f"rule {problem.rule}" if problem.rule[:1].isdigit() else problem.rule
    head = f"{rule} ({_TITLES.get(problem.rule, problem.rule)})"
    place = f" {problem.key}" if problem.key else ""
    if problem.rule == "yaml" and problem.line is not None:
        place = f" line {problem.line}"
    example = f". Counterexample: {problem.counterexample}" if problem.counterexample else ""
    fix = f". Fix: {problem.fix}" if problem.fix else ""
    return (
        f"{head}:{place}: {problem.message}{example}{fix}"
        if place
        else f"{head}: {problem.message}{example}{fix}"
    )


def _line(text: str) -> str:
    line = " ".join(visible(text).split())
    return line if len(line) <= MOST_PROBLEM_CHARS else f"{line[: MOST_PROBLEM_CHARS - 1].rstrip()}…"


@cache
def tool_schema() -> str:
    """The JSON Schema of the argument: the published one without what a model can do nothing with. What is said often is said once."""
    schema: dict[str, Any] = _compact(contract_schema())
    definitions = schema["$defs"]
    either = definitions["Phase"]["properties"]["criteria"]["items"]["anyOf"]
    words = [item for item in either if "enum" in item]
    kinds = [kind for item in either for kind in item.get("oneOf", ())]
    definitions["Criteria"] = {"type": "array", "items": {"anyOf": [*words, *kinds]}}
    definitions["Name"] = {"type": "string", "pattern": NAME}
    for part, keys in (("Phase", ("preconditions", "criteria")), ("Role", ("verification",))):
        for key in keys:
            found = definitions[part]["properties"][key]
            found_words = {"description": found["description"]}
            definitions[part]["properties"][key] = {"$ref": "#/$defs/Criteria"} | found_words
    schema["required"] = list(_REQUIRED)
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


_DROPPED = frozenset({"$schema", "title", "default", "minLength", "maxLength", "maxItems", "maxProperties"})
_NAME = {"pattern": NAME, "type": "string"}


def _compact(schema: Any) -> Any:
    """Without titles, sizes and `null` for what may be absent. A mapping by name says what its values are: names are checked later."""
    if isinstance(schema, list):
        return [_compact(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in _DROPPED}
    choices = [item for item in kept.get("anyOf", ()) if item != {"type": "null"}]
    if len(choices) == 1:
        kept = {key: value for key, value in (kept | choices[0]).items() if key not in {*_DROPPED, "anyOf"}}
    elif choices:
        kept["anyOf"] = choices
    if by_name := kept.pop("patternProperties", None):
        kept["additionalProperties"] = by_name[NAME]
    if kept.get("pattern") == NAME:
        kept = {key: value for key, value in kept.items() if key not in _NAME} | {"$ref": "#/$defs/Name"}
    for names in {"properties", "$defs"} & kept.keys():
        kept[names] = {name: _compact(item) for name, item in kept[names].items()}
    for item in kept.get("properties", {}).values():
        if item.get("description") == kept.get("description"):
            item.pop("description", None)  # a criterion's one key means what the criterion does
    words = {"description", "properties", "$defs", "required", "enum", "const"}
    return {key: value if key in words else _compact(value) for key, value in kept.items()}
