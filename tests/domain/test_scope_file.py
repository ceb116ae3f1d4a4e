"""`.nebulus/scope.yaml`: what it may say, and that anything else is refused with a sentence."""

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from overlord.config_files import packaged
from overlord.domain.scope.file import ScopeFile, ScopeFileError, parse_scope_file, scope_file_schema
from overlord.domain.text.untrusted_yaml import MAX_BYTES

WHOLE = """
labels:
  "area: cli": [src/cli/**, tests/cli/**]
  docs: docs/**
always: CHANGELOG.md
"""


def test_a_whole_file() -> None:
    assert parse_scope_file(WHOLE.encode()) == ScopeFile(
        labels={"area: cli": ("src/cli/**", "tests/cli/**"), "docs": ("docs/**",)}, always=("CHANGELOG.md",)
    )


@pytest.mark.parametrize("content", [None, b"", b"# nothing yet\n", b"{}"])
def test_no_file_and_an_empty_one_say_nothing(content: bytes | None) -> None:
    assert parse_scope_file(content) == ScopeFile()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("label: {}", "unknown key 'label'"),
        ("labels: [cli]", "labels: "),
        ("labels: {cli: []}", "labels.cli: "),
        ("labels: {cli: 7}", "labels.cli: "),
        ("labels: {cli: [7]}", "labels.cli.0: "),
        ("labels: {'': src/**}", "labels"),
        ("labels: {cli: ['']}", "labels.cli.0: "),
        ("labels: {cli: ['!src']}", "'!src' is no pattern of paths inside the repository"),
        ("labels: {cli: [../other/**]}", "is no pattern of paths"),
        ("labels: {cli: ['src/[z-a]']}", "is no pattern of paths"),
        ('labels: {cli: ["src\\u0007"]}', "control characters"),
        ("always: [.nebulus/scope.yaml]", "only a person's grant opens it"),
        ("always: /.git/config", "only a person's grant opens it"),
        ("labels: {ci: .GitHub/workflows/**}", "only a person's grant opens it"),
        ("- labels", "the document"),
        ("labels: [", "cannot be read as YAML"),
        ("labels: &a {x: y}\nalways: *a", "aliases"),
        ("#" * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ScopeFileError, match=r"scope\.yaml") as refused:
        parse_scope_file(text.encode())
    assert sentence in str(refused.value)


def test_the_published_schema_is_this_model() -> None:
    published = packaged("scope.schema.json")
    assert published == json.dumps(scope_file_schema(), indent=2) + "\n"


@pytest.mark.parametrize(
    ("document", "is_valid"),
    [
        (yaml.safe_load(WHOLE), True),
        ({"always": ["a", "b"]}, True),
        ({"labels": {"cli": 7}}, False),
        ({"labels": {"cli": []}}, False),
        ({"other": 1}, False),
    ],
)
def test_editors_are_told_the_same(document: dict[str, Any], is_valid: bool) -> None:
    assert Draft202012Validator(scope_file_schema()).is_valid(document) is is_valid
