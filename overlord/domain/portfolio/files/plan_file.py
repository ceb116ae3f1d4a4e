"""plan.md: a plan in words, which people may edit, and below it the list of tasks, which Overlord writes between two marks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.text.hidden_text import without_hidden

MOST_CHARS = 200_000
BEGIN = "<!-- overlord: tasks. Overlord writes what stands from here to the end mark; change tasks by command. -->"
END = "<!-- overlord: end of tasks -->"
_OURS = "<!-- overlord:"
_BEGIN = re.compile(r"\s*<!-- overlord: tasks\b[^<>]*-->\s*")
"""Whatever else the mark says."""
_BOXES = {TaskState.DONE: "x", TaskState.CANCELLED: "-"}


class BrokenMarksError(ValueError):
    """Where the list of tasks stands cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    """A file, without its list of tasks."""

    above: str
    below: str = ""
    """What people wrote under the list."""

    @property
    def prose(self) -> str:
        """The plan in words."""
        return "\n\n".join(part for part in (self.above.strip(), self.below.strip()) if part)

    def written(self, tasks: Sequence[Task]) -> str:
        """The file with this list of tasks."""
        listed = "\n".join([BEGIN, "## Tasks", "", *(_line(task) for task in tasks), END])
        return (
            "\n\n".join(part for part in (self.above.strip("\n"), listed, self.below.strip("\n")) if part)
            + "\n"
        )


def planned(prose: str) -> PlanFile:
    """The file of a plan that a session wrote. Its words can be no mark of ours."""
    return PlanFile(above=prose.replace(_OURS, "<!-- ").strip())


def read_plan(text: str) -> PlanFile:
    """A file as it stands. Raises BrokenMarksError, in words."""
    if len(text) > MOST_CHARS:
        raise BrokenMarksError(f"it has more than {MOST_CHARS} characters: shorten it")
    lines = text.replace("\r\n", "\n").split("\n")
    begins = [number for number, line in enumerate(lines) if _BEGIN.fullmatch(line)]
    ends = [number for number, line in enumerate(lines) if line.strip() == END]
    others = sum(_OURS in line for line in lines) - len(begins) - len(ends)
    if len(begins) != 1 or len(ends) != 1 or begins[0] > ends[0] or others:
        raise BrokenMarksError(
            "the two marks around its list of tasks are not whole: put your text into plan.md.new, and rename that to plan.md"
        )
    return PlanFile(above="\n".join(lines[: begins[0]]), below="\n".join(lines[ends[0] + 1 :]))


def seen(plan: PlanFile) -> tuple[PlanFile, tuple[str, ...]]:
    """The plan as people see it, and what of it they do not, which no session is told."""
    parts = without_hidden(plan.above), without_hidden(plan.below)
    hidden = (*parts[0].hidden, *parts[1].hidden)
    return replace(plan, above=parts[0].text, below=parts[1].text), hidden


def _line(task: Task) -> str:
    subject = " ".join(task.subject.split()).replace("<", "&lt;")
    about = [task.state.replace("_", " ")]
    if task.issue_number is not None:
        about.append(f"issue {task.issue_number}")
    if task.waits:
        about.append(" ".join(task.waits.split()).replace("<", "&lt;"))
    return f"- [{_BOXES.get(task.state, ' ')}] {task.number}. {subject} ({'; '.join(about)})"
