"""A skill file says what it means, or is refused in a sentence that names the key and, where it can, the line."""

import json

import pytest

from overlord.config_files import packaged
from overlord.domain.skills.file import (
    MOST_TEXT,
    Skill,
    SkillFileError,
    is_skill_path,
    parse_skill,
    skill_schema,
    touches_skills,
)
from overlord.domain.text.untrusted_yaml import MAX_BYTES

PATH = ".nebulus/skills/order.yaml"
EVERYTHING = """\
name: order-of-arguments
description: Which argument comes first
version: 1.2.3-rc.1+build.5
tags: [style, api]
triggers:
  keywords: [argument order]
  labels: [api]
  file_patterns: ["src/**/*.py", Makefile]
instructions: |
  a, then b
examples:
  - add(a, b)
  - "sub(a, b)"
tools: [read_file, run_command]
author: Ada <ada@example.com>
"""
LEAST = "name: a1\ndescription: b\nversion: '1.0.0'\ntriggers: {keywords: [cc]}\ninstructions: Do it.\n"


def parsed(text: str) -> Skill:
    return parse_skill(text.encode(), PATH)


def test_everything_at_once() -> None:
    skill = parsed(EVERYTHING)
    assert (skill.name, skill.version, skill.tags) == (
        "order-of-arguments",
        "1.2.3-rc.1+build.5",
        ("style", "api"),
    )
    assert skill.triggers.file_patterns == ("src/**/*.py", "Makefile")
    assert skill.text == "a, then b\n\nExample 1:\nadd(a, b)\n\nExample 2:\nsub(a, b)"
    assert skill.text_offered.description == "Which argument comes first"
    assert skill.tools == ("read_file", "run_command")


def test_the_least_that_is_a_skill() -> None:
    assert parsed(LEAST).text == "Do it."


@pytest.mark.parametrize(
    ("change", "sentence", "line"),
    [
        (("name: a1", "name: A One"), "name: must be lower-case words joined by hyphens", 1),
        (("name: a1\n", ""), "name: Field required", None),
        (("'1.0.0'", "1.0"), "version: must be a semantic version in quotes", 3),
        (("'1.0.0'", "'1.0'"), "version: must be a semantic version in quotes", 3),
        (("'1.0.0'", "'01.0.0'"), "version: must be a semantic version in quotes", 3),
        (("'1.0.0'", "'1.0.0-01'"), "version: must be a semantic version in quotes", 3),
        (("'1.0.0'", "'1.0.0-a..b'"), "version: must be a semantic version in quotes", 3),
        (("'1.0.0'", "'1.0.0-.'"), "version: must be a semantic version in quotes", 3),
        (("'1.0.0'", "'1.0.0+a+b'"), "version: must be a semantic version in quotes", 3),
        (("description: b", "description: |\n  b\n  c"), "description: must be one line", 2),
        (("description: b", f"description: {'b' * 301}"), "description: String should have at most 300", 2),
        (("[cc]", "[]"), "triggers: say at least one keyword", 4),
        (("[cc]", "[c]"), "triggers.keywords.0: String should have at least 2", 4),
        (("[cc]", "[cc, CC]"), "triggers.keywords: something in it is there twice", 4),
        (("[cc]", "[cc, 404]"), "triggers.keywords.1: must be text; put it in quotes", 4),
        (("keywords: [cc]", "files: [cc]"), "unknown key 'triggers.files'", 4),
        (("keywords: [cc]", "file_patterns: ['../x']"), "must be a glob of paths inside the repository", 4),
        (("keywords: [cc]", "file_patterns: ['[z-a]']"), "cannot be read as a glob", 4),
        (("[cc]", "cc"), "triggers.keywords: Input should be a valid tuple", 4),
        (("[cc]", "[cc]}\n? {a: b}\n: {c: d"), "cannot be read as YAML", None),
        (("keywords: [cc]", "file_patterns: [/etc]"), "must be a glob of paths inside the repository", 4),
        (("Do it.", "''"), "instructions: String should have at least 1", 5),
        (("Do it.", '" "'), "instructions: must not be empty", 5),
        (("Do it.", '"\\e[2J"'), "instructions: control characters are not allowed", 5),
        (("Do it.", "x" * (MOST_TEXT + 1)), "instructions: String should have at most", 5),
        (("Do it.", "Do it.\ntools: [Bash]"), "tools.0: ", 6),
        (("Do it.", "Do it.\nrun: make"), "unknown key 'run'", 6),
        (("Do it.", "Do it.\nname: again"), "line 6: the key 'name' is there twice", None),
        (("Do it.", "&a Do it.\nauthor: *a"), "aliases", None),
        (("Do it.", "!!python/object/apply:os.system [id]"), "cannot be read as YAML", None),
        ((LEAST, "- name"), "a skill is a mapping", None),
        ((LEAST, ""), "a skill is a mapping", None),
        ((LEAST, "#" * (MAX_BYTES + 1)), "larger than", None),
    ],
)
def test_anything_else_is_refused_with_a_sentence(
    change: tuple[str, str], sentence: str, line: int | None
) -> None:
    with pytest.raises(SkillFileError, match=r"order\.yaml") as refused:
        parsed(LEAST.replace(*change))
    assert sentence in str(refused.value)
    assert refused.value.line == line


def test_instructions_and_examples_have_one_limit_together() -> None:
    half = "x" * (MOST_TEXT // 2)
    with pytest.raises(SkillFileError, match="together have at most"):
        parsed(LEAST.replace("Do it.", half) + f"examples: [{half}, y]\n")


@pytest.mark.parametrize(
    "version", ["0.0.0", "1.0.0-0", "1.0.0-rc.1+5", "1.0.0--", "1.0.0-01a.x-y", "1.0.0+001"]
)
def test_what_is_a_semantic_version_is_one_here(version: str) -> None:
    assert parsed(LEAST.replace("1.0.0", version)).version == version


def test_where_skills_are() -> None:
    assert is_skill_path(".nebulus/skills/a.yaml")
    assert not any(map(is_skill_path, (".nebulus/skills/a.yml", ".nebulus/skills/b/a.yaml", "skills/a.yaml")))
    assert all(map(touches_skills, (".nebulus/skills/b/a", ".Nebulus/Skills/a.yaml", ".nebulus/skills")))
    assert not touches_skills(".nebulus/checks.yaml")


def test_the_published_schema_is_this_model() -> None:
    published = packaged("skill.schema.json")
    assert published == json.dumps(skill_schema(), indent=2) + "\n"
