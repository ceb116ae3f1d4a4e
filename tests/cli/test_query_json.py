"""`--json` of every query: what is printed is as the published schema says."""

import json
import sqlite3

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from overlord.queries import registry
from tests import portfolio_filled
from tests.architecture import query_schemas
from tests.called_rows import ended_call
from tests.cli.conftest import Filled, Overlord
from tests.cli.test_drafts_typed import waits
from tests.cli.test_skills_listed import seen
from tests.cli.test_state import story
from tests.stored import note, propose, rule

WORDS = {
    "why": ("why", "1"),
    "job": ("job", "show", "1"),
    "skill": ("skills", "show", "order"),
    "decision": ("decisions", "show", "1"),
    "proposal": ("proposals", "show", "p1"),
    "draft": ("skills", "drafts", "d1"),
    "space": ("space", "show", "acme/calc"),
    "contract-explain": ("contract", "explain", "src/app.py"),
    "search": ("search", "add"),
    "call": ("call", "show", "c1"),
    "note": ("knowledge", "show", "n1"),
    "rule-preview": ("rules", "preview", "Which cache do tokens need? Redis."),
    "initiative": ("initiative", "i1"),
    "task": ("task", "i1.4"),
}


@pytest.mark.parametrize("name", registry.names())
def test_what_is_printed_is_as_its_schema_says(filled: Filled, overlord: Overlord, name: str) -> None:
    def state(connection: sqlite3.Connection) -> None:
        story(connection)
        waits(connection)
        propose(connection)
        seen(connection)
        note(connection)
        rule(connection, "cache", "token")
        portfolio_filled.fill(connection)
        ended_call(connection)

    filled(state)
    words = WORDS.get(name) or tuple((registry.find(name).terminal or name).split())
    said = overlord(*words, "--json")
    assert said.code == 0, said.err
    Draft202012Validator(query_schemas.schema(name)).validate(json.loads(said.out))
