"""One task as a session proposes it: cleaned, held within its bounds, and what is wrong with it in sentences that a model can act on."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from minion.protocol import NewTask, PlannedTask, Scope, ScopeError, is_protected
from overlord.domain.contracts.overlap import Overlaps
from overlord.domain.contracts.pattern_automaton import TooManyStates
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import (
    MOST_CRITERIA,
    MOST_CRITERION_CHARS,
    MOST_DESCRIPTION_CHARS,
    MOST_LABELS,
    MOST_LINKS,
    MOST_SUBJECT_CHARS,
)
from overlord.domain.text.hidden_text import without_hidden
from overlord.domain.text.plain import visible

MOST_PATHS = 30
MOST_LABEL_CHARS = 50
MOST_PATH_CHARS = 200
MOST_ANY_DEPTH = 3
"""`**` of one path: how long two sets of paths take to compare grows with it faster than with anything else."""
MOST_WILDCARDS = 10
_WILDCARD = re.compile(r"\*+|\?|\[")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the paths of a task are held against."""

    paths: tuple[str, ...] = ()
    """Those of its initiative; empty where nothing was said."""


def line(text: str) -> str:
    """One line, without what cannot be seen."""
    return " ".join(visible(text).split())


def folded(text: str) -> str:
    """By what two subjects are the same."""
    return line(text).casefold().rstrip(".")


def clean(task: PlannedTask) -> PlannedTask:
    """The same without empty texts at the ends, and with what people would not see in its issue said in place: what they approve is what
    the session of the task reads."""
    return replace(
        task,
        subject=line(task.subject),
        description=without_hidden(visible(task.description)).text.strip(),
        acceptance_criteria=tuple(
            line(without_hidden(visible(text)).text) for text in task.acceptance_criteria
        ),
        priority=task.priority.strip() or Priority.NORMAL,
        labels=tuple(dict.fromkeys(filter(None, map(line, task.labels)))),
        paths=tuple(dict.fromkeys(path.strip() for path in task.paths)),
        blocked_by=tuple(dict.fromkeys(task.blocked_by)),
        repository=task.repository.strip(),
    )


def of_new(task: NewTask) -> PlannedTask:
    """Work that a session came upon, as a task of a plan; what it waits for is read elsewhere."""
    return clean(
        PlannedTask(
            subject=task.subject,
            acceptance_criteria=task.acceptance_criteria,
            description=task.description,
            priority=task.priority,
            labels=task.labels,
            paths=task.paths,
        )
    )


def problems_of(task: PlannedTask, bounds: Bounds) -> Iterator[str]:
    """What is wrong with a task that was cleaned, each as the end of a sentence about it."""
    if not task.subject:
        yield "has no subject: say in one line what is to be done"
    yield from _too_long("subject", task.subject, MOST_SUBJECT_CHARS)
    yield from _too_long("description", task.description, MOST_DESCRIPTION_CHARS)
    yield from _criteria(task.acceptance_criteria)
    if task.priority not in set(Priority):
        yield f"has the priority {task.priority[:30]!r}: use one of {', '.join(Priority)}"
    if len(task.labels) > MOST_LABELS:
        yield f"has {len(task.labels)} labels: at most {MOST_LABELS}"
    for label in task.labels:
        yield from _too_long("label", label, MOST_LABEL_CHARS)
    if len(task.blocked_by) > MOST_LINKS:
        yield f"waits for {len(task.blocked_by)} tasks: at most {MOST_LINKS}"
    yield from path_problems(task.paths, bounds)


def _too_long(what: str, text: str, most: int) -> Iterator[str]:
    if len(text) > most:
        yield f"has a {what} of {len(text):,} characters: at most {most:,}"


def _criteria(criteria: tuple[str, ...]) -> Iterator[str]:
    if not criteria or not all(criteria):
        yield (
            "has no acceptance criteria, or an empty one: say what can be checked once it is done, each in one sentence"
        )
    if len(criteria) > MOST_CRITERIA:
        yield f"has {len(criteria)} acceptance criteria: at most {MOST_CRITERIA}; make it two tasks"
    for criterion in criteria:
        yield from _too_long("criterion", criterion, MOST_CRITERION_CHARS)


def path_problems(paths: tuple[str, ...], bounds: Bounds) -> Iterator[str]:
    """What is wrong with what a task will write."""
    if len(paths) > MOST_PATHS:
        yield f"has {len(paths)} paths: at most {MOST_PATHS}; name directories"
        return
    readable = list[str]()
    for path in paths:
        if len(path) > MOST_PATH_CHARS:
            yield f"has a path of {len(path):,} characters: at most {MOST_PATH_CHARS}"
        elif path.count("**") > MOST_ANY_DEPTH or len(_WILDCARD.findall(path)) > MOST_WILDCARDS:
            yield (
                f"has the path {path!r}, which has too many wildcards: at most {MOST_ANY_DEPTH} of ** and {MOST_WILDCARDS} in all; "
                "name a directory"
            )
        elif not _is_read(path):
            yield f"has the path {path!r}, which names nothing inside the repository: write it as src/api/**"
        elif is_protected(path.strip("/"), (path,)) or is_protected(path.strip("/")):
            yield f"has the path {path!r}, which no session may write: leave it out, and escalate where it has to change"
        else:
            readable.append(path)
    if bounds.paths and readable and (outside := outside_of(tuple(readable), bounds.paths)):
        yield (
            f"would write {outside}, and the initiative is about {', '.join(bounds.paths)}: stay within that, or escalate (scope)"
        )


def _is_read(path: str) -> bool:
    try:
        Scope.parse(json.dumps([path]))
    except ScopeError:
        return False
    return True


def outside_of(paths: tuple[str, ...], allowed: tuple[str, ...]) -> str:
    """A path that these patterns mean and those do not; empty where there is none."""
    try:
        overlaps = Overlaps((*paths, *allowed))
        return overlaps.shortest(Scope(patterns=paths), without=allowed) or ""
    except TooManyStates:
        return "what cannot be compared, because the patterns are too intricate"
