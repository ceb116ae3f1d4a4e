"""`overlord tier`: which models there are, whether they answer, how fast, what they cost, and what they serve."""

import json
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from overlord.domain.model_fault import FaultKind, ModelOutage
from overlord.store.budgets import model_outages
from tests.cli.conftest import Filled, Overlord
from tests.records import NOW

SETTINGS = """
models:
  default: [{}]
  small: [{model: gpt-6-luna}, {endpoint: spare}]
  careful: [{model: gpt-6-sol}]
endpoints:
  spare: {base_url: "http://127.0.0.1:1/v1", name: own-model}
discipline_models: {tdd: small, debug: careful}
model: {name: gpt-5}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "overlord.yaml"
    path.write_text(SETTINGS)
    monkeypatch.setenv("OVERLORD_CONFIG", str(path))
    return path


def exchanges(connection: sqlite3.Connection) -> None:
    """Three answers of one model, a refusal of it, and another model that gives no replies."""
    for number, (seconds, status) in enumerate([(2, 200), (8, 200), (3, 200), (60, 500)]):
        at = NOW + timedelta(minutes=number)
        connection.execute(
            """INSERT INTO exchanges (space, day, at, model, reserved, settled, status, settled_at)
               VALUES ('acme/calc', '2026-03-02', ?, 'gpt-6-luna', 1, 1, ?, ?)""",
            (at.isoformat(), status, (at + timedelta(seconds=seconds)).isoformat()),
        )
    outage = ModelOutage(model="gpt-6-sol", kind=FaultKind.KEY, detail="401: no", since=NOW)
    model_outages.put(connection, outage, at=NOW)


def test_each_name_says_how_its_models_did(file: Path, filled: Filled, overlord: Overlord) -> None:
    filled(exchanges)
    said = json.loads(overlord("tier", "--json").out)
    assert file.exists()
    levels = {level["name"]: level for level in said["levels"]}
    [small, spare] = levels["small"]["models"]
    assert (small["model"], small["answers"], small["median_s"], small["counted"]) == (
        "gpt-6-luna",
        "yes",
        3.0,
        3,
    )
    assert small["last_answer_at"] == (NOW + timedelta(minutes=2, seconds=3)).isoformat()
    assert (small["input_usd"], small["output_usd"]) == (0.1, 0.5)
    assert (spare["endpoint"], spare["model"], spare["answers"]) == ("spare", "own-model", "unknown")
    assert spare["input_usd"] is None
    [careful] = levels["careful"]["models"]
    assert careful["answers"] == "no"
    assert "does not take the key" in careful["problem"]
    assert levels["small"]["disciplines"] == ["tdd_red", "tdd_green", "tdd_refactor"]
    assert levels["careful"]["disciplines"] == ["debug"]
    assert levels["default"]["repositories"] == ["acme/calc"]
    assert said["of_repository"] == ["review", "spec", "retrospective", "trainer"]


def test_people_see_a_table(file: Path, filled: Filled, overlord: Overlord) -> None:
    filled(exchanges)
    told = overlord("tier").out
    assert file.exists()
    assert "3 s of 3" in told
    assert "0.1 / 0.5" in told
    assert "not asked yet" in told
    assert "With their repository's model: review, spec, retrospective, trainer." in told
    assert "3 names of models, of which 1 answered" in told or "Models" in told


def test_no_key_and_no_address_is_shown(file: Path, filled: Filled, overlord: Overlord) -> None:
    filled(exchanges)
    told = overlord("tier", "--json").out + overlord("tier", "--csv").out
    assert file.exists()
    assert "127.0.0.1" not in told
    assert "canary" not in told
