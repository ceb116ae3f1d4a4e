"""The issue of a task, as people and sessions read it."""

from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task
from overlord.domain.text.plain import plain_line


def task_issue_text(task: Task, initiative: Initiative) -> str:
    """What is wanted, and what has to be so afterwards."""
    parts = [task.description.strip()] if task.description.strip() else []
    if task.acceptance_criteria:
        lines = "\n".join(f"- [ ] {plain_line(text, limit=500)}" for text in task.acceptance_criteria)
        parts.append(f"**Acceptance criteria**\n\n{lines}")
    if task.paths:
        parts.append("**Files**\n\n" + "\n".join(f"- `{path}`" for path in task.paths))
    named = (
        f"#{initiative.issue_number}" if initiative.issue_number and initiative.space == task.space else ""
    )
    of = f"Task {task.ref} of initiative {initiative.ref}, {plain_line(initiative.title, limit=200)}"
    parts.append(f"{of}{f' ({named})' if named else ''}.")
    return "\n\n".join(parts)
