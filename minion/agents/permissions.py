"""What a session's role may do, as agents' own permission files say it: made from the scope, the contract's terms and what is closed always.

An agent that holds them wastes no turn on what the judge would send back. They are no wall: the container is, and the judge's diff.
"""

import re
from collections.abc import Callable, Iterator

from minion.agents.agent import Permissions
from minion.discipline import RUNNING
from minion.protocol import (
    PROTECTED_ALWAYS,
    PROTECTED_UNLESS_NAMED,
    Brief,
    Scope,
    ScopeMode,
    Terms,
)

_EDITING = frozenset({"edit_file", "write_file"})
_GLOB = re.compile(r"([\\*?\[\]!#])")


def permissions_of(
    brief: Brief, scope: Scope, refusal: Callable[[str], str] = lambda _path: ""
) -> Permissions:
    """Those of a session with the scope it has now. `refusal` says why the contract closes a path, whatever the scope says."""
    terms, task = brief.terms, brief.discipline
    is_reader = not task.writes if task is not None else terms is not None and _is_reader(terms)
    secret = terms.secret_paths if terms is not None else ()
    return Permissions(
        writable=() if is_reader else tuple(_writable(scope, terms)),
        closed=tuple(
            dict.fromkeys((*_closed(scope), *_closed_plan(scope, terms, refusal), *scope.without, *secret))
        ),
        secret=secret,
        commands=() if task is not None and RUNNING not in task.tools else _commands(terms),
        is_reader=is_reader,
        can_ask=task is None,
    )


def _is_reader(terms: Terms) -> bool:
    """Whether a session changes no file: it is asked one question, or has no tool that edits."""
    return terms.consultation is not None or bool(terms.tools and not _EDITING & set(terms.tools))


def _commands(terms: Terms | None) -> tuple[str, ...] | None:
    if terms is None:
        return None
    if terms.consultation is None and terms.tools and "run_command" not in terms.tools:
        return ()
    return terms.commands


def _writable(scope: Scope, terms: Terms | None) -> Iterator[str]:
    if scope.mode is ScopeMode.UNRESTRICTED:
        yield "**"
    for pattern in scope.patterns:
        name = pattern.lstrip("/")
        yield name if scope.mode is ScopeMode.DIRECTORY else _GLOB.sub(r"\\\1", name)
    if terms is not None:
        yield from terms.plan_outputs


def _closed(scope: Scope) -> Iterator[str]:
    for name in PROTECTED_ALWAYS:
        if scope.mode is not ScopeMode.SKILL or name != ".nebulus":
            yield f"{name}/**"
    for name in PROTECTED_UNLESS_NAMED:
        if not any(f"{pattern.strip('/')}/".startswith(f"{name}/") for pattern in scope.patterns):
            yield f"{name}/**"


def _closed_plan(scope: Scope, terms: Terms | None, refusal: Callable[[str], str]) -> Iterator[str]:
    """The files of the job's plan that the session reads and does not write."""
    if terms is None:
        return
    names = [file.path for file in terms.plan]
    if terms.bootstrap is not None:
        names.append(terms.bootstrap.path)
    opened = (*terms.plan_outputs, *(item for item in scope.patterns if item.lstrip("/").startswith("plan")))
    if names and all(map(refusal, names)) and not opened:
        yield "plan/**"
        return
    yield from (_GLOB.sub(r"\\\1", name) for name in names if refusal(name))
