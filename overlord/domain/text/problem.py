"""What a schema or YAML itself holds against a document, in one line that names the key or the line."""

import yaml
from pydantic import ValidationError


def first_problem(error: ValidationError) -> str:
    """The first thing pydantic holds against an input, as `key: what is wrong`."""
    problem = error.errors(include_url=False, include_context=False)[0]
    key = ".".join(str(part) for part in problem["loc"]) or "the document"
    if problem["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return f"unknown key {key!r}"
    return f"{key}: {problem['msg'].removeprefix('Value error, ')}"


def yaml_problem(error: yaml.YAMLError) -> str:
    """What is wrong with a YAML document and on which line; never the line itself, which may hold a secret."""
    problem = "an unknown tag or alias, or a character YAML does not allow"
    if isinstance(error, yaml.scanner.ScannerError | yaml.parser.ParserError) and error.problem:
        problem = error.problem
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return f"line {mark.line + 1}: {problem}" if mark is not None else problem
