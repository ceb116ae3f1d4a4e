"""What nobody's word stands behind gives no scope, and a rule stays in the repository whose question it answers."""

import sqlite3

import pytest

from overlord.domain.decision import Verb
from overlord.domain.portfolio.discovered import question
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task, TaskState
from overlord.engine.portfolio.planned_scope import planned_scope
from overlord.errors import Refused
from overlord.store import decisions
from overlord.store.database import Database
from overlord.store.knowledge import rule_drafts
from overlord.store.portfolio import initiatives, tasks
from tests.portfolio import a_task, an_initiative
from tests.records import NOW
from tests.store.test_decisions import QUESTION, answer
from tests.stored import ask, claim


def found_by_session(connection: sqlite3.Connection, **given: object) -> tuple[Initiative, Task]:
    made = initiatives.add(connection, an_initiative(**given))
    assert made is not None
    row = a_task(initiative_id=made.id, created_by="session:j1-w1", paths=("**",), state=TaskState.PENDING)
    task = tasks.add(connection, row)
    return made, tasks.change(connection, task.id, at=NOW, issue_number=7)


async def test_a_session_gives_no_scope_to_work_that_it_came_upon(database: Database) -> None:
    def act(connection: sqlite3.Connection) -> None:
        job = claim(connection)
        made, task = found_by_session(connection)
        assert planned_scope(connection, job) is None
        asked = decisions.raise_decision(connection, question(made, task, is_within=True, at=NOW))
        answer(connection, asked, Verb.APPROVE)
        assert planned_scope(connection, job) is not None, "a person wants it as it is"

    await database.write("by hand", act)


async def test_within_the_paths_of_its_initiative_a_task_of_a_session_has_its_scope(
    database: Database,
) -> None:
    def act(connection: sqlite3.Connection) -> None:
        job = claim(connection)
        found_by_session(connection, paths=("src/**",))
        assert planned_scope(connection, job) is not None

    await database.write("by hand", act)


async def test_a_rule_of_one_repository_is_not_made_of_another_ones_answer(database: Database) -> None:
    def act(connection: sqlite3.Connection) -> None:
        job = claim(connection)
        asked = ask(connection, job, **QUESTION, body="Which cache do we use for tokens?")
        answer(connection, asked, Verb.REPLY, text="The secret one.")
        with pytest.raises(Refused, match="is of another repository") as refused:
            rule_drafts.drafted(connection, str(asked.id), space="acme/other")
        assert "secret one" not in str(refused.value)
        assert rule_drafts.drafted(connection, str(asked.id), space=job.space).answer == "The secret one."

    await database.write("by hand", act)
