"""The tools of a session of a discipline: the few that its work needs, and the one that gives its result and ends it.

Whether a result holds is found by Overlord from the files and from what was run; what a worker says of that is not passed on.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from minion.discipline import GIVE_RESULT, DisciplineTask
from minion.errors import GitFailed, ToolError
from minion.protocol import Outcome
from minion.session import Session
from minion.tools.submit import outside_scope
from minion.tools.tool import Kind, Parameter, Submission, Tool

STATUSES = ("pass", "fail", "error")
MOST_MESSAGE_CHARS = 2_000
MOST_PATH_CHARS = 1_000
MOST_OUTPUT_CHARS = 100_000
CHANGES_TO_PASS = ("red", "green", "spec")
"""The phases that pass with a change and not without one."""
MOST_CANDIDATES = 20
_BEGINNING = re.compile(r"^\{", re.MULTILINE)
_BLOCK = re.compile(r"^```[^\n`]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


_PARAMETERS = (
    Parameter(
        name="status",
        meaning="How it went, as the output contract says: pass, fail, or error where it could not be done.",
        required=True,
        choices=STATUSES,
    ),
    Parameter(name="message", meaning="What came of it, in one line.", required=True),
    Parameter(
        name="file_path",
        meaning="The file it is about, relative to project_root; left out where there is none.",
    ),
    Parameter(
        name="runner_output",
        kind=Kind.JSON_TEXT,
        meaning="What the output contract wants here: findings, hypotheses, candidates, a runner's output. Text, which may be JSON.",
    ),
    Parameter(name="phase", meaning="Left out, or the phase of this session."),
    Parameter(name="skill", meaning="Left out, or the skill of this session."),
    Parameter(
        name="verified", meaning="Left out: it is found afterwards, whatever is said here.", kind=Kind.FLAG
    ),
)


def tools_for(task: DisciplineTask, tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Those of the tools that the discipline names, and the one that ends its session."""
    kept = {name: tool for name, tool in tools.items() if name in task.tools}
    return {**kept, GIVE_RESULT: RESULT}


def give_result(
    session: Session,
    *,
    status: str,
    message: str,
    file_path: str = "",
    runner_output: str = "",
    phase: str = "",
    skill: str = "",
    verified: bool = False,  # noqa: ARG001 - it is found by Overlord
) -> Submission:
    task = session.brief.discipline
    if task is None:
        raise ToolError("This session is of no discipline, so it has no result to give.")
    _check_is("phase", phase, task.phase)
    _check_is("skill", skill, task.skill)
    line = " ".join(message.split())
    if not line:
        raise ToolError("message is empty; say in one line what came of it.")
    _check_size("message", line, MOST_MESSAGE_CHARS, "Put the rest into runner_output.")
    _check_size("runner_output", runner_output, MOST_OUTPUT_CHARS, "Leave out what nobody needs.")
    path = _relative(session, file_path.strip())
    _save(session, task, status, line)
    made = {
        "status": status,
        "phase": task.phase,
        "skill": task.skill,
        "file_path": path,
        "runner_output": runner_output,
        "verified": False,
        "message": line,
    }
    return Submission(
        outcome=Outcome.COMPLETE, summary=f"{status}: {line}", answer=json.dumps(made, ensure_ascii=False)
    )


def _check_is(name: str, given: str, right: str) -> None:
    if given.strip() not in ("", right):
        raise ToolError(f"{name} is {right!r} in this session, not {given[:100]!r}. Leave it out.")


def _check_size(name: str, text: str, most: int, instead: str) -> None:
    if len(text) > most:
        raise ToolError(f"{name} has {len(text):,} characters; at most {most:,} are taken. {instead}")


def _relative(session: Session, path: str) -> str:
    """A file's path below the repository's root, as people write it. Raises ToolError for what names none."""
    if not path:
        return ""
    _check_size("file_path", path, MOST_PATH_CHARS, "Give the path of one file.")
    inside = path.removeprefix(f"{session.territory.root}/")
    pure = PurePosixPath(inside)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or not inside.isprintable():
        raise ToolError(
            f"file_path must be relative to project_root and stay in the repository, not {path!r}."
        )
    return str(pure)


def _save(session: Session, task: DisciplineTask, status: str, message: str) -> None:
    """Commit and push what a discipline that writes has written. Raises ToolError for what looks wrong, once."""
    if not task.writes:
        return
    try:
        tree = session.workspace.snapshot()
        doubt = "" if session.warned else _doubt(session, task, status, tree)
        if doubt:
            session.warned = True
            raise ToolError(f"{doubt} If this is as it should be, call {GIVE_RESULT} again.")
        session.workspace.save(message, tree)
    except GitFailed as error:
        raise ToolError(f"The work could not be committed and pushed: {error}") from error


def _doubt(session: Session, task: DisciplineTask, status: str, tree: str) -> str:
    changed = session.workspace.changed(tree)
    if not changed and status == "pass" and task.phase in CHANGES_TO_PASS:
        return "No file of the repository has changed, and this discipline passes with a change alone."
    return outside_scope(session, changed)


def result_in(text: str) -> dict[str, Any] | None:
    """The result that a worker's last words are, or end with, as a JSON object or a block of code that holds one; None for others.

    What the tool does not take is left out of it.
    """
    known = {parameter.name for parameter in _PARAMETERS}
    for found in filter(None, map(_object, _candidates(text))):
        if {"status", "message"} <= set(found):
            return {name: value for name, value in found.items() if name in known}
    return None


def _candidates(text: str) -> Iterator[str]:
    """All of it; its blocks of code, the last one first; what begins at one of its last lines and goes to the end."""
    yield text
    yield from reversed(_BLOCK.findall(text)[-MOST_CANDIDATES:])
    starts = [found.start() for found in _BEGINNING.finditer(text)]
    yield from (text[start:] for start in reversed(starts[-MOST_CANDIDATES:]))


def _object(text: str) -> dict[str, Any] | None:
    """The one JSON object that a text is."""
    try:
        value = json.loads(text.strip(), strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def said_result(session: Session, text: str) -> Submission | str:
    """What a worker's last words come to that gave its result in words: the result, or why it is not taken; empty where there is none."""
    found = result_in(text)
    if found is None:
        return ""
    try:
        return give_result(session, **RESULT.read(found))
    except ToolError as error:
        return f"Your result was not taken: {error}"


RESULT = Tool(
    name=GIVE_RESULT,
    meaning="Give the result of your work and end the session. Files you changed are handed in with it.",
    run=give_result,
    parameters=_PARAMETERS,
)
