"""The history of a session: what each discipline did in it, told to the next one. The form is what workers know; the current phase is
left out, so that none reads its own earlier attempt as what was decided."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.disciplines.catalog import Phase
from overlord.domain.text.plain import visible

MOST_TOLD = 40
"""Entries, the newest ones."""
MOST_CHARS = 2_000
"""Of one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """A row: what one phase of a session came to."""

    id: int
    space: str
    session_key: str
    skill: str
    phase: str
    final_status: str
    file_path: str = ""
    message: str = ""
    verified: bool = False
    actor: str
    at: datetime
    call_id: int | None = None
    """The call that it is about; None for what a caller wrote."""

    @property
    def ref(self) -> str:
        """What a retrospective cites it by: `e12`."""
        return f"e{self.id}"


def told_of(entries: Iterable[HistoryEntry], exclude_phase: str = "") -> list[HistoryEntry]:
    """Those that a worker is told, and so may cite: the newest ones, without those of the current phase."""
    return [entry for entry in entries if entry.phase != exclude_phase][-MOST_TOLD:]


def format_history(
    entries: Iterable[HistoryEntry], exclude_phase: str = "", *, with_refs: bool = False
) -> str:
    """Earlier entries as a worker is told them; empty where there are none. `exclude_phase` is the current one."""
    told = told_of(entries, exclude_phase)
    if not told:
        return ""
    parts = ["## Session history\n"]
    for entry in told:
        lines = [
            f"### Phase: {entry.phase}",
            *([f"- Entry: {entry.ref}"] if with_refs else []),
            f"- Skill: {_one_line(entry.skill)}",
            f"- Status: {_one_line(entry.final_status)}",
        ]
        if entry.file_path:
            lines.append(f"- File: {_one_line(entry.file_path)}")
        if entry.message:
            lines.append(f"- Summary: {_indented(entry.message[:MOST_CHARS])}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _one_line(text: str) -> str:
    return " ".join(visible(" ".join(text.splitlines())).split())


def _indented(text: str) -> str:
    """Words of several lines so that none of them passes for another entry."""
    return "\n  ".join(visible("\n".join(text.strip().splitlines())).split("\n"))


def check_phase(phase: str) -> str:
    """A phase that there is. Raises ValueError with those that there are."""
    if phase not in set(Phase):
        raise ValueError(f"phase must be one of {'|'.join(Phase)}, got: {phase[:100]}")
    return phase
