"""Of a repository's experience its own last jobs are read, and none that proposed a contract."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from overlord.domain.bootstrap.experience import ScopeExperience, experience
from overlord.domain.conversation.issue_request import RequestKind, RequestOptions
from overlord.domain.decision import Verb
from overlord.domain.event import EventName
from overlord.store import decisions, jobs
from overlord.store.bootstrap import experience_facts, issue_requests
from overlord.store.schema.migrations import migrate
from tests.called_rows import open_call
from tests.records import NOW, REPO
from tests.stored import ask, claim


@pytest.fixture
def store() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        migrate(connection)
        yield connection


def numbers(store: sqlite3.Connection, **given: int) -> list[int | None]:
    found = experience_facts.of_space(store, REPO, **given)
    return list(dict.fromkeys(fact.job_id for fact in found))


def test_the_last_jobs_of_one_repository_are_read(store: sqlite3.Connection) -> None:
    first, other, last = claim(store, 1), claim(store, 1, "acme/web"), claim(store, 2)
    assert numbers(store) == [first.id, last.id]
    assert numbers(store, most_jobs=1) == [last.id]
    assert [fact.job_id for fact in experience_facts.of_space(store, "ACME/web")] == [other.id]
    assert experience_facts.of_space(store, "acme/none") == []


def test_a_job_that_proposed_a_contract_is_none_of_them(store: sqlite3.Connection) -> None:
    for number, kind in ((1, RequestKind.INIT), (2, RequestKind.BUILD)):
        issue_requests.request(
            store, space=REPO, kind=kind, title="x", body="", options=RequestOptions(), actor="cli:a", at=NOW, issue_number=number
        )  # fmt: skip
        claim(store, number)
    assert numbers(store) == [2]


def test_calls_are_none_of_them(store: sqlite3.Connection) -> None:
    job = claim(store)
    open_call(store)
    assert numbers(store, most_jobs=1) == [job.id]


def test_what_a_person_granted_is_known_with_its_paths(store: sqlite3.Connection) -> None:
    job = claim(store)
    jobs.note(store, job.id, EventName.SESSION_PREPARED, at=NOW, data={"kind": "work", "role": "backend"})
    asked = ask(store, job, verbs=(Verb.GRANT, Verb.DROP), patterns=("docs/**",))
    decisions.answer(store, asked.id, digest=asked.digest, verb=Verb.GRANT, text="", actor="cli:a", at=NOW)
    jobs.note(store, job.id, EventName.SCOPE_WIDENED, at=NOW, data={"patterns": ["lib/**"]})
    found = experience(experience_facts.of_space(store, REPO))
    assert set(found.scopes) == {
        ScopeExperience(role="backend", pattern=pattern, times=1) for pattern in ("docs/**", "lib/**")
    }
    assert [(role.name, role.sessions) for role in found.roles] == [("backend", 1)]
