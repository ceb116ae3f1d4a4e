"""What the worker of a call is told: its page of laws, what was asked for, a line for each argument, and what its session did before.

The form of the task is what workers know. A value of several lines is indented below its name, so that no line of it can pass for another
argument; what it says is still data.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cache

from minion.protocol import DisciplineTask
from overlord.config_files import packaged
from overlord.domain.disciplines.arguments import DEFAULT_OUTPUT
from overlord.domain.disciplines.call import Call
from overlord.domain.disciplines.catalog import DisciplineKind, DisciplineName
from overlord.domain.disciplines.history import HistoryEntry, format_history
from overlord.domain.knowledge.discipline import (
    AS_A_TOOL,
    LAWS,
    OUTPUT_CONTRACT,
    RULES,
    Discipline,
    read_discipline,
)
from overlord.domain.text.plain import visible


class Role(StrEnum):
    """The two workers of a trainer's call, in order. Every other call has one, without a role."""

    READER = "reader"
    WRITER = "writer"


LOOKS_BACK = frozenset({DisciplineName.RETROSPECTIVE, DisciplineName.TRAINER})
"""Those that are about a session's history, and cite its entries."""
ROOT = "."
"""The repository as its worker sees it: the working directory."""
_ORDER: Mapping[DisciplineName, tuple[str, ...]] = {
    DisciplineName.TDD_RED: ("spec", "test_path", "model", "test_cmd", "context"),
    DisciplineName.TDD_GREEN: ("test_path", "model", "test_cmd", "context"),
    DisciplineName.TDD_REFACTOR: ("test_path", "impl_path", "model", "test_cmd", "context"),
    DisciplineName.REVIEW: ("files", "context", "model"),
    DisciplineName.DEBUG: ("error", "context", "model"),
    DisciplineName.SPEC: ("requirements", "output_path", "context", "model"),
    DisciplineName.RETROSPECTIVE: ("session_id", "context", "model"),
    DisciplineName.TRAINER: ("session_id", "model"),
}
"""The arguments that a worker is told, after phase and project_root, in this order."""
_WRITER_PAGE = "trainer-writer"


@cache
def page(name: str) -> Discipline:
    """One of the pages that come with Overlord. Raises FileNotFoundError for none of them."""
    return read_discipline(name, packaged(f"prompts/disciplines/{name}.md"))


def page_of(kind: DisciplineKind, role: Role | None = None) -> str:
    """The laws, the output contract and the rules that a worker is given, with how it hands its result over."""
    name = _WRITER_PAGE if role is Role.WRITER else kind.page
    return page(name).text(LAWS, OUTPUT_CONTRACT, AS_A_TOOL, RULES)


def task_of(call: Call, role: Role | None = None, candidates: str = "") -> str:
    """What was asked for. `candidates` is what the reader of a trainer's call gave, for the writer."""
    begin = {"role": role} if role is not None else {"phase": call.kind.phase}
    told = {**begin, "project_root": call.directory or ROOT, **_values(call)}
    if role is not None:
        del told["project_root"]
    lines = [_line(name, value) for name, value in told.items() if value]
    if role is Role.WRITER:
        lines.append(_line("reader_candidates", candidates.strip() or "[]", is_block=True))
    return "\n".join(lines)


def history_of(call: Call, entries: Iterable[HistoryEntry]) -> str:
    """What earlier phases of the caller's session came to, the current one left out; empty where there are none."""
    return format_history(entries, call.kind.phase, with_refs=call.discipline in LOOKS_BACK)


def discipline_task(
    call: Call,
    entries: Iterable[HistoryEntry],
    *,
    role: Role | None = None,
    candidates: str = "",
    redact: Callable[[str], str],
) -> DisciplineTask:
    """All that the worker of a call is told. The writer of a trainer's call is given the candidates alone, without the history."""
    kind = call.kind
    return DisciplineTask(
        name=kind.name,
        phase=kind.phase,
        skill=kind.skill,
        page=page_of(kind, role),
        task=redact(task_of(call, role, candidates)),
        history="" if role is Role.WRITER else redact(history_of(call, entries)),
        tools=kind.tools,
    )


def _values(call: Call) -> dict[str, str]:
    return {name: _value(call, name) for name in _ORDER[call.discipline]}


def _value(call: Call, name: str) -> str:
    if name == "files":
        between = "\n" if any("," in path for path in call.files) else ", "
        return between.join(call.files)
    if name == "model":
        return call.model
    if name == "output_path":
        return call.text(name) or DEFAULT_OUTPUT
    return call.text(name)


def _line(name: str, value: str, *, is_block: bool = False) -> str:
    """`name: value`; of several lines, each indented below the name."""
    lines = visible("\n".join(value.splitlines())).split("\n")
    if len(lines) == 1 and not is_block:
        return f"{name}: {lines[0].strip()}"
    return "\n".join([f"{name}:", *(f"  {line}".rstrip() for line in lines)])
