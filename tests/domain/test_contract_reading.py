"""Contracts as files: one or two, every mistake at once, each with its file, its line and its key, and nothing quoted."""

from typing import Any

import pytest

from overlord.domain.contracts.reading import CONTRACT_DIR, CONTRACT_FILES, parse_files, read_contract
from overlord.domain.text.untrusted_yaml import MAX_BYTES
from overlord.errors import ContractError
from tests.domain.contract_texts import CREW, SMALL, changed, written

CANARY = "canary-3141"


def refused(files: dict[str, bytes]) -> list[str]:
    with pytest.raises(ContractError) as error:
        read_contract(files)
    assert str(error.value).splitlines() == [str(problem) for problem in error.value.problems[:50]] + (
        [f"and {len(error.value.problems) - 50} more"] if len(error.value.problems) > 50 else []
    )
    assert CANARY not in str(error.value)
    return str(error.value).splitlines()


def test_two_files_are_one_contract() -> None:
    head, _, tail = CREW.partition("phases:\n")
    whole = read_contract({"contract.yaml": CREW.encode()})
    team, phases = head.encode(), f"phases:\n{tail}".encode()
    assert read_contract({"team.yaml": team, "phases.yaml": phases}) == whole
    assert read_contract({"phases.yaml": phases, "team.yaml": team}) == whole
    assert whole.start == "plan"


def test_a_key_in_both_files_is_refused_with_both() -> None:
    files = {"team.yaml": written(SMALL), "phases.yaml": b"# mine\nname: small\nphases: {}\n"}
    assert refused(files) == [
        "phases.yaml:2: name: the key is in team.yaml too; keep it in one of the files",
        "phases.yaml:3: phases: the key is in team.yaml too; keep it in one of the files",
    ]


def test_problems_of_two_files_have_each_its_own_lines() -> None:
    head, _, tail = CREW.partition("phases:\n")
    team = head.replace("agent: native", "agent: 'no agent'").encode()
    phases = f"# the way\nphases:\n{tail}".replace("outputs: [tests/**]", "output: [tests/**]").encode()
    assert refused({"team.yaml": team, "phases.yaml": phases}) == [
        "team.yaml:22: roles.backend.agent: 'no agent' is no agent's name; known: native, claude-code, codex, opencode, aider, cursor,"
        " gemini, acp:COMMAND",
        "phases.yaml:6: phases.red.output: unknown key; did you mean outputs?",
    ]


def test_every_mistake_of_the_schema_is_said_at_once() -> None:
    text = f"""\
name: [7]
version: 2
lifetme: {{hours: 24}}
lifetime: {{hours: {CANARY}}}
roles:
  Coder: {{}}
  coder:
    scope: {{mode: anywhere}}
    budget: {{iterations: 21, usd: 0, dollars: 3}}
    verification:
      - diff_non_empty
      - artifact_exist: plan/x
phases: {{}}
"""
    assert refused({"mine.yaml": text.encode()}) == [
        "mine.yaml:1: name: must be a valid string",
        "mine.yaml:4: lifetime.hours: must be a valid number, unable to parse string as a number",
        "mine.yaml:6: roles.Coder: is no name; use a-z, 0-9, _ and -, a letter first, at most 40 of them",
        "mine.yaml:8: roles.coder.scope.mode: must be 'unrestricted', 'directory' or 'explicit'",
        "mine.yaml:12: roles.coder.verification.1: no criterion is called 'artifact_exist'; known: artifact_exists, command_fails, command_succeeds, delegation_coverage, diff_non_empty, diff_within_budget, evaluation_passed, http_answers, markdown_has_headings, script, tests_fail. Is artifact_exists meant?",
        "mine.yaml:9: roles.coder.budget.iterations: must be less than or equal to 20",
        "mine.yaml:9: roles.coder.budget.usd: must be greater than 0",
        "mine.yaml:9: roles.coder.budget.dollars: unknown key; known: iterations, minutes, turns, tokens, usd, diff_files, diff_lines, exhausted",
        "mine.yaml:13: phases: must have at least 1 item after validation, not 0",
        "mine.yaml:3: lifetme: unknown key; did you mean lifetime?",
    ]


def test_every_broken_rule_is_said_at_once() -> None:
    document = changed(
        ("lifetime", None),
        ("roles", "coder", "budget", None),
        ("roles", "coder", "scope", ["src/**", "docs/**"]),
        ("gates", "merge", "reject", None),
        ("phases", "build", "next", {"done": "shipp"}),
    )
    with pytest.raises(ContractError) as error:
        read_contract({"mine.yaml": written(document)})
    assert {item.rule for item in error.value.problems} == {"names", "1.3", "3.3", "3.4", "4.1", "4.3"}
    assert all(item.file == "mine.yaml" and item.fix for item in error.value.problems)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", ["mine.yaml: the document: must have keys and values, and has none"]),
        (b"# nothing\n\n[a]", ["mine.yaml:3: the document: must have keys and values, and has none"]),
        (f"a: &a {CANARY}".encode(), ["mine.yaml:1: anchors (&name) are not allowed"]),
        (f"a: 1\nb: !!python/name:{CANARY} x".encode(), ["mine.yaml:2: tags (!name) are not allowed"]),
        (b"a: !!str x", ["mine.yaml:1: tags (!name) are not allowed"]),
        (b"a: *a", ["mine.yaml: aliases (*name) are not allowed"]),
        (b"a: 1\nb: 2\na: 3", ["mine.yaml:3: the key 'a' is there twice"]),
        (f"a: [{CANARY}".encode(), ["mine.yaml:1: cannot be read as YAML: expected ',' or ']', but got '<stream end>'"]),
        (f'a: "{CANARY}\n'.encode(), ["mine.yaml:2: cannot be read as YAML: found unexpected end of stream"]),
        (b"{" * 5000, ["mine.yaml: nothing in it is so deep"]),
        (b"name: \xff", ["mine.yaml: cannot be read as YAML: 'utf-8' codec can't decode byte 0xff in position 6: invalid start byte"]),
        (b"#" * (MAX_BYTES + 1), ["mine.yaml: is larger than 65,536 bytes"]),
        (b"name: x\n" * 125_000, ["mine.yaml: is larger than 65,536 bytes"]),
        (b"name: x", ["mine.yaml: version: is missing; write `version: 2` (known: 1 and 2)"]),
        (b"version: true", ["mine.yaml:1: version: is none that is known; write `version: 2` (known: 1 and 2)"]),
        (b"x: 1\nversion: '2'", ["mine.yaml:2: version: is none that is known; write `version: 2` (known: 1 and 2)"]),
        (b"version: 7", ["mine.yaml:1: version: is none that is known; write `version: 2` (known: 1 and 2)"]),
        (b"? [a]\n: 1\nversion: 7", ["mine.yaml:3: version: is none that is known; write `version: 2` (known: 1 and 2)"]),
    ],
)  # fmt: skip
def test_what_is_no_contract_is_refused_with_its_line_and_not_quoted(text: bytes, said: list[str]) -> None:
    assert refused({"mine.yaml": text}) == said


def test_no_files_are_no_contract() -> None:
    with pytest.raises(ContractError, match=CONTRACT_DIR) as error:
        read_contract({})
    assert all(name in str(error.value) for name in CONTRACT_FILES)


def test_many_problems_are_cut() -> None:
    text = b"version: 2\n" + b"".join(b"key%d: 1\n" % number for number in range(200))
    lines = refused({"mine.yaml": text})
    assert len(lines) == 51
    assert lines[-1] == "and 153 more"


def test_keys_that_yaml_takes_for_truth_values_are_names() -> None:
    text = CREW.replace("next: {done: red}", "next: {done: red, no: ship, yes: red}")
    assert dict(parse_files({"mine.yaml": text.encode()}).phases["plan"].next) == {
        "done": "red",
        "no": "ship",
        "yes": "red",
    }


@pytest.mark.parametrize("name", ["2001-01-01", "1" * 5000, "~x", "<<", "="])
def test_words_that_yaml_would_make_something_else_of(name: str) -> None:
    text = written(SMALL).replace(b"name: small", f"name: {name}".encode())
    if len(name) > 100:
        assert refused({"mine.yaml": text}) == ["mine.yaml:1: name: must have at most 100 characters"]
    else:
        assert read_contract({"mine.yaml": text}).name == name


@pytest.mark.parametrize(
    "change",
    [
        ("roles", []),
        ("roles", {"coder": []}),
        ("phases", {"plan": "x"}),
        ("phases", {"plan": {"next": ["a"]}}),
        ("phases", {"plan": {"criteria": {"diff_non_empty": True}}}),
        ("gates", {"x": {"on": "plan"}}),
        ("gates", {"x": {}}),
        ("shared", [{"paths": [], "roles": ["coder"]}]),
        ("shared", {"paths": ["a"]}),
        ("secret_paths", "x"),
        ("redact", [""]),
        ("escalation", []),
        ("escalation", ["boss"]),
        ("events", {"x": "boss"}),
        ("lifetime", 24),
        ("lifetime", {}),
        ("constitution", 0),
        ("merge", "auto"),
        ("start", "A B"),
        ("guidance", "x" * 20_001),
    ],
)
def test_wrong_types_are_refused_with_the_key(change: tuple[Any, ...]) -> None:
    lines = refused({"mine.yaml": written(changed(change))})
    assert lines and all(f": {change[0]}" in line for line in lines)


def test_a_transition_with_spaces_is_told_how_it_is_written() -> None:
    files = {"mine.yaml": written(changed(("gates", "merge", "on", "ship -> end")))}
    [said] = refused(files)
    assert said.endswith(
        "gates.merge.on: is no transition; write two phases as `plan->build`, without spaces; the last one goes to `end`"
    )
