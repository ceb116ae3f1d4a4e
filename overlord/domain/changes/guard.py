"""What only a person may approve, found in a diff: files by their names, shared settings files by the section that changed."""

import re
from collections.abc import Iterator

from overlord.domain.changes.diff import FileDiff, Hunk
from overlord.domain.changes.paths import Guard, guard_of

_SECTION = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:[#;].*)?$")
_CHECKED_BY = re.compile(
    r"tool[.:](?:pytest|ruff|mypy|coverage|tox|nox|pylint|flake8|pyright|basedpyright|black|isort|bandit)\b"
    r"|(?:pytest|mypy|flake8|coverage|testenv|tox|isort|pycodestyle|pylint)(?:$|[\W_])"
)
_HARMLESS = frozenset(
    {"project.urls", "project.scripts", "project.gui-scripts", "metadata", "tool.towncrier"}
)
_UNKNOWN = "?"
_MEANINGS = {
    Guard.TEST_CONFIGURATION: "decides how the work is tested, linted or type-checked",
    Guard.PACKAGING: "decides how the work is built, or with which dependencies",
    Guard.CONTINUOUS_INTEGRATION: "runs on the forge, with its rights",
    Guard.OWNERS: "decides who must review what",
    Guard.LOCK_FILE: "decides which code of others is used",
    Guard.CONTAINER: "decides what the work is built and run in",
    Guard.HOOK: "makes a developer's machine run or hide something",
    Guard.AGENT_INSTRUCTIONS: "tells agents what to do, this one's successors included",
}


def guarded(file: FileDiff) -> Iterator[tuple[str, Guard, str]]:
    """Path, guard and a sentence for each end of a change that a person must approve."""
    for path in file.change.paths:
        guard = guard_of(path)
        if guard is Guard.PACKAGING:
            guard = _of_sections(file)
        if guard is not None:
            yield path, guard, f"{path} {_MEANINGS[guard]}."


def _of_sections(file: FileDiff) -> Guard | None:
    """What the changed sections of a shared settings file are for; a section that cannot be told is guarded."""
    if file.change.status != "M":
        return Guard.TEST_CONFIGURATION
    changed = {section for hunk in file.hunks for section in _changed_sections(hunk)}
    if any(_CHECKED_BY.match(section) for section in changed):
        return Guard.TEST_CONFIGURATION
    return Guard.PACKAGING if changed - _HARMLESS else None


def _changed_sections(hunk: Hunk) -> Iterator[str]:
    current = {"+": _UNKNOWN, "-": _UNKNOWN}
    for line in hunk.lines:
        sides = "+-" if line.sign == " " else line.sign
        if match := _SECTION.match(line.text[:300]):
            current.update(dict.fromkeys(sides, match[1].replace('"', "").casefold()))
        if line.sign != " " and line.text.strip() and not line.text.lstrip().startswith(("#", ";")):
            yield current[line.sign]
