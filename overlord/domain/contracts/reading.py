"""A contract as a repository, an operator or Overlord wrote it: one file or two become a Contract, or every problem there is.

All problems are found before anything is said, so that one correction is enough: those of the schema, then those of the rules. No
message quotes a line of the document, which may hold a secret.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.document import Document
from overlord.domain.contracts.rules.registry import violations
from overlord.domain.contracts.version_1 import ContractVersion1
from overlord.domain.text.near import did_you_mean
from overlord.errors import ContractError, ContractProblem

CONTRACT_DIR = ".nebulus/contract"
"""Where a repository has its own contract, at base."""
CONTRACT_FILES = ("contract.yaml", "team.yaml", "phases.yaml")
"""Its files: the first alone, or the other two."""
VERSIONS = (1, 2)
"""The forms of a contract that are understood."""


def read_contract(files: Mapping[str, bytes], *, existing: Collection[str] | None = None) -> Contract:
    """The contract that files are, by their paths, held against the constitution. `existing`: the files at base, where they are known.
    Raises ContractError with every problem."""
    contract, document = _parsed(files)
    problems = []
    for item in violations(contract, existing):
        file, line = document.where(item.key)
        problems.append(
            ContractProblem(
                file=file,
                line=line,
                key=".".join(map(str, item.key)),
                rule=item.rule,
                message=item.message,
                counterexample=item.counterexample,
                fix=item.fix,
            )
        )
    if problems:
        raise ContractError(problems=problems)
    return contract


def parse_files(files: Mapping[str, bytes]) -> Contract:
    """What the files say, without a look at the rules. Raises ContractError with every problem."""
    return _parsed(files)[0]


def _parsed(files: Mapping[str, bytes]) -> tuple[Contract, Document]:
    document = Document.of(files)
    if not isinstance(document, Document):
        raise ContractError(problems=document)
    if not document.files:
        raise ContractError(f"there is no contract: {CONTRACT_DIR} has none of {', '.join(CONTRACT_FILES)}")
    if problem := _version_problem(document):
        raise ContractError(problems=[problem])
    model: type[BaseModel] = Contract if document.value["version"] == 2 else ContractVersion1
    try:
        read = model.model_validate(document.value)
        if isinstance(read, ContractVersion1):
            return Contract.model_validate(read.upgraded()), document
        assert isinstance(read, Contract)
        return read, document
    except ValidationError as error:
        raise ContractError(problems=list(_schema_problems(error, document, model))) from None


def _version_problem(document: Document) -> ContractProblem | None:
    version = document.value.get("version")
    if type(version) is int and version in VERSIONS:
        return None
    file, line = document.where(["version"])
    message = "is missing" if "version" not in document.value else "is none that is known"
    known = " and ".join(map(str, VERSIONS))
    return ContractProblem(
        file=file,
        line=line,
        key="version",
        rule="schema",
        message=message,
        fix=f"write `version: 2` (known: {known})",
    )


def _schema_problems(
    error: ValidationError, document: Document, model: type[BaseModel]
) -> Iterator[ContractProblem]:
    for item in error.errors(include_url=False, include_input=False):
        way = [part for part in item["loc"] if part != "[key]"]
        file, line = document.where(way)
        message, fix = _worded(item, model)
        yield ContractProblem(file=file, line=line, key=_key_of(way), rule="schema", message=message, fix=fix)


def _key_of(way: list[str | int]) -> str:
    """The way as people read it; a criterion's kind is there once."""
    parts = [str(part)[:100] for part in way]
    return ".".join(part for index, part in enumerate(parts) if parts[index - 1 : index] != [part])


def _worded(item: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    """What is wrong, and what to do where that is known."""
    if item["type"] == "extra_forbidden":
        known = _keys_at(model, item["loc"][:-1])
        meant = did_you_mean(str(item["loc"][-1])[:100], known).removeprefix("; ")
        return "unknown key", meant or (f"known: {', '.join(known)}" if known else "")
    if item["type"] == "missing":
        return "is missing", ""
    if item["loc"][-1:] == ("on",) and item["type"] == "string_pattern_mismatch":
        return (
            "is no transition",
            "write two phases as `plan->build`, without spaces; the last one goes to `end`",
        )
    if item["loc"][-1:] == ("[key]",) or "a-z][a-z0-9_-]" in item["msg"]:
        return "is no name", "use a-z, 0-9, _ and -, a letter first, at most 40 of them"
    message = item["msg"].removeprefix("Value error, ")
    message = re.sub(r"^(?:Input|String|Dictionary|Tuple|List) should", "must", message)
    return re.sub(r"<[\w.]+: ('[^']*')>", r"\1", message), ""


def _keys_at(model: type[BaseModel], way: tuple[str | int, ...]) -> list[str]:
    """The keys that a part of a contract may have."""
    found: Any = model
    for part in way:
        found = _step(found, part)
    return list(found.model_fields) if isinstance(found, type) and issubclass(found, BaseModel) else []


def _step(annotation: Any, part: str | int) -> Any:
    """What is at a key of a model or a mapping, or in a list, without what makes it optional."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(str(part))
        inside = None if field is None else field.annotation
    elif get_origin(annotation) in {dict, tuple}:
        inside = get_args(annotation)[1 if get_origin(annotation) is dict else 0]
    else:
        return None
    while get_origin(inside) in {Union, UnionType, Annotated}:
        inside = get_args(inside)[0]
    return inside
