"""How well scope is inferred, measured on the issues of this directory.

What a scope allows is every file of the layout that it allows, and every file beyond that an issue's fix makes or an explicit
pattern names. **Recall** is the part of the fix's files that the scope allows; **precision** the part of what it allows that the fix
writes. *Macro* is the mean over issues, *micro* counts all files of all issues together. An unrestricted scope allows everything, which
says nothing about how well files were found: precision is counted over the other scopes alone, recall over all.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from minion.protocol import Comment, Issue, ScopeMode
from overlord.domain.scope.inference import infer
from overlord.domain.scope.issue_text import candidates
from overlord.domain.scope.occurrences import Occurrences
from overlord.domain.scope.reason import Inference

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An issue of the set. `files` are what a good fix writes."""

    name: str
    layout: str
    kind: str
    issue: Issue
    files: frozenset[str]
    held_out: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was inferred for one issue, counted in files."""

    case: Case
    inference: Inference
    allowed: int
    right: int

    @property
    def recall(self) -> float:
        return self.right / len(self.case.files)

    @property
    def precision(self) -> float:
        return self.right / self.allowed if self.allowed else 0.0

    @property
    def mode(self) -> ScopeMode:
        return self.inference.scope.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Precision and recall of several issues."""

    issues: int
    recall_macro: float
    recall_micro: float
    precision_macro: float
    precision_micro: float
    whole: int
    """Issues whose fix could be written as it is."""
    modes: tuple[int, int, int]
    """Explicit, directory, unrestricted."""


def cases() -> tuple[Case, ...]:
    return tuple(case for path in sorted((HERE / "issues").glob("*.yaml")) for case in _cases(path))


def _cases(path: Path) -> Iterable[Case]:
    for number, entry in enumerate(yaml.safe_load(path.read_text(encoding="utf-8")), start=1):
        yield Case(
            name=f"{path.stem}-{number}",
            layout=path.stem,
            kind=entry["kind"],
            issue=_issue(number, entry),
            files=frozenset(entry["files"]),
            held_out=entry.get("held_out", False),
        )


def _issue(number: int, entry: dict[str, Any]) -> Issue:
    said = tuple(Comment(author="c", association="NONE", body=body) for body in entry.get("comments", ()))
    return Issue(
        number=number,
        title=entry["title"],
        body=entry["body"],
        author="a",
        labels=tuple(entry.get("labels", ())),
        comments=said,
    )


@cache
def paths_of(layout: str) -> frozenset[str]:
    return frozenset((HERE / "layouts" / f"{layout}.txt").read_text(encoding="utf-8").splitlines())


@cache
def occurrences_of(layout: str) -> Occurrences:
    found: dict[str, dict[str, list[str]]] = yaml.safe_load(
        (HERE / "occurrences" / f"{layout}.yaml").read_text("utf-8")
    )
    return Occurrences(
        definitions={word: tuple(files) for word, files in found["definitions"].items()},
        mentions={word: tuple(files) for word, files in found["mentions"].items()},
    )


def asked_for(case: Case) -> Occurrences:
    """What the search finds of an issue's words."""
    known, words = occurrences_of(case.layout), frozenset(candidates(case.issue))
    return Occurrences(
        definitions={word: files for word, files in known.definitions.items() if word in words},
        mentions={word: files for word, files in known.mentions.items() if word in words},
    )


def outcome(case: Case) -> Outcome:
    paths = paths_of(case.layout)
    inference = infer(case.issue, paths, asked_for(case), {})
    named = set(inference.scope.patterns) if inference.scope.mode is ScopeMode.EXPLICIT else set()
    allowed = {path for path in paths | case.files | named if inference.scope.allows(path)}
    return Outcome(case=case, inference=inference, allowed=len(allowed), right=len(allowed & case.files))


def outcomes(wanted: Callable[[Case], bool] = lambda _: True) -> tuple[Outcome, ...]:
    return tuple(outcome(case) for case in cases() if wanted(case))


def figures(told: Sequence[Outcome]) -> Figures:
    bounded = [one for one in told if one.mode is not ScopeMode.UNRESTRICTED]
    return Figures(
        issues=len(told),
        recall_macro=_mean(one.recall for one in told),
        recall_micro=_part(sum(one.right for one in told), sum(len(one.case.files) for one in told)),
        precision_macro=_mean(one.precision for one in bounded),
        precision_micro=_part(sum(one.right for one in bounded), sum(one.allowed for one in bounded)),
        whole=sum(one.right == len(one.case.files) for one in told),
        modes=(
            sum(one.mode is ScopeMode.EXPLICIT for one in told),
            sum(one.mode is ScopeMode.DIRECTORY for one in told),
            sum(one.mode is ScopeMode.UNRESTRICTED for one in told),
        ),
    )


def table(told: Sequence[Outcome]) -> str:
    """Figures of all issues, of seen and held-out ones, of each mode and of each kind."""
    rows = [
        ("all", told),
        ("seen", [one for one in told if not one.case.held_out]),
        ("held out", [one for one in told if one.case.held_out]),
        *((f"mode {mode}", [one for one in told if one.mode is mode]) for mode in ScopeMode),
    ]
    rows += [
        (kind, [one for one in told if one.case.kind == kind]) for kind in sorted({o.case.kind for o in told})
    ]
    head = f"{'':18}issues  whole  recall macro micro  precision macro micro  explicit/directory/unrestricted"
    return "\n".join([head, *(_row(name, figures(some)) for name, some in rows if some)])


def _row(name: str, found: Figures) -> str:
    return (
        f"{name:18}{found.issues:6}{found.whole:7}{found.recall_macro:14.2f}{found.recall_micro:6.2f}"
        f"{found.precision_macro:17.2f}{found.precision_micro:6.2f}  {'/'.join(map(str, found.modes))}"
    )


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else 0.0


def _part(some: int, whole: int) -> float:
    return some / whole if whole else 0.0
