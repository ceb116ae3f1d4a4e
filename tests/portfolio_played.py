"""Three repositories with a goal each, and everybody who works on them, as the scripted model plays it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import Turn, blocked, call, say, submit, write
from tests.world import REPO

API, CALC_REPO, WEB = "acme/api", REPO, "acme/web"
FILES = {
    "README.md": "# A service\n",
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
}
WHICH_FORM = "Which form do dates have?"
FORM = "ISO 8601, in UTC."
WHICH_STORE = "Redis or Memcached for the token blacklist?"
NO_KEY = "Which key opens the staging server?"
LEARNED = "Each operation is a file of its own, which is named after it."
KEY = "It is in the vault under staging."


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A goal of a repository, and what its lead makes of it."""

    space: str
    title: str
    text: str
    tasks: tuple[dict[str, Any], ...]

    @property
    def overview(self) -> str:
        return f"# {self.space}\n\n## Goals\n\n- {self.title}\n  {self.text}\n"

    @property
    def plan(self) -> str:
        parts = {
            "Goal": self.text,
            "Current state": "It is not so.",
            "Approach": "One thing after the other.",
            "What is next": "The first task.",
        }
        return "\n\n".join(f"## {heading}\n\n{text}" for heading, text in parts.items())


def a_task(subject: str, path: str, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "acceptance_criteria": [f"{path} has it"], "paths": [path], **more}


ENVELOPE = a_task("Return answers in an envelope", "envelope.py")
STAGING = a_task("Name the staging server", "staging.py")
SUBTRACT = a_task("Subtract numbers", "subtract.py")
DIVIDE = a_task("Divide numbers", "divide.py", blocked_by=[1])
MODULO = a_task("Have a remainder", "modulo.py")
DATES = a_task("Write dates in one form", "dates.py")
GOALS = (
    Goal(space=API, title="Answers have one form", text="Clients read them.", tasks=(ENVELOPE, STAGING)),
    Goal(space=CALC_REPO, title="All four operations", text="As on paper.", tasks=(SUBTRACT, DIVIDE)),
    Goal(space=WEB, title="Dates are readable", text="Everywhere.", tasks=(DATES,)),
)


def done(task: dict[str, Any], *learnings: str) -> tuple[Turn, ...]:
    """A session does its task, says so and ends."""
    [path], evidence = task["paths"], "the file is there"
    return (
        write(path, f'"""{task["subject"]}."""\n'),
        call("record_completion", notes=f"Wrote {path}.", addressed=[{"number": 1, "evidence": evidence}]),
        call("note_knowledge", text="It went as planned.", nothing_learned=True),
        call("task_complete", summary=f"{task['subject']}: done", learnings=list(learnings)),
    )


def asks(question: str, **more: Any) -> Turn:
    return call("escalate", question=question, **more)


STORES = [{"label": "Redis", "description": "persistent"}, {"label": "Memcached"}]
ASKS_STORE = asks(WHICH_STORE, type="decision", kind="trade_off", suggested=STORES, blocks="nothing")
ASKS_KEY = asks(NO_KEY, type="blocker", kind="credentials")
ASKS_FORM = asks(WHICH_FORM, type="question", kind="convention")
FINDS = call("add_task", **MODULO)


def played(model: EmbeddedModel, *, held: tuple[Turn, ...] = ()) -> None:
    """What each session does. `held`: turns of the one that asks which store, between its question and its work."""
    for goal in GOALS:
        plan = call("propose_plan", text=goal.plan, tasks=list(goal.tasks))
        model.will(plan, submit("The plan is proposed."), when=f"{goal.text}\n\nOverlord plans this.")
    turns = {
        ENVELOPE["subject"]: (ASKS_STORE, *held, *done(ENVELOPE)),
        STAGING["subject"]: (ASKS_KEY, blocked("There is no key for staging.")),
        SUBTRACT["subject"]: (FINDS, *done(SUBTRACT, LEARNED)),
        DIVIDE["subject"]: done(DIVIDE),
        MODULO["subject"]: done(MODULO),
        DATES["subject"]: (ASKS_FORM, *done(DATES)),
    }
    for subject, its in turns.items():
        model.will(*its, when=f"now: {subject}.")
    lesson = {"kind": "pattern", "text": LEARNED, "question": "", "evidence": ["f1"]}
    model.will(say(json.dumps({"notes": [lesson]})), when=LEARNED)
    model.will(*done(STAGING), when=f"now: {STAGING['subject']}.")


SETTINGS: dict[str, Any] = {
    "repositories": [API, CALC_REPO, WEB],
    "autonomy": "proactive",
    "portfolio": {"thin_notes": 0, "retrospectives": True},
}


async def made_repositories(forge: EmbeddedForge) -> None:
    """The two that no world has."""
    for name in (API, WEB):
        await forge.create_repository(name, files=FILES)


def write_overviews(home: Path) -> None:
    """A person writes down the goals of each."""
    for goal in GOALS:
        path = home / "spaces" / goal.space / "OVERVIEW.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(goal.overview)
