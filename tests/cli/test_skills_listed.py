"""`overlord skills list|show|stats`: the registry as it is shown."""

import json
import sqlite3
from dataclasses import replace

from overlord.domain.identifiers import Sha
from overlord.domain.skills.finding import SkillFinding
from overlord.domain.skills.pull_review import Outcome, ReviewedFile, SkillPullReview
from overlord.domain.skills.record import Origin, SkillAtBase
from overlord.domain.skills.scan.rule import Level
from overlord.store.skills import skill_pulls, skills
from tests.cli.conftest import Filled, Overlord
from tests.records import NOW, REPO

ORDER = SkillAtBase(
    name="order",
    version="1.0.0",
    digest="a" * 16,
    path=".nebulus/skills/order.yaml",
    description="How orders are kept.",
)


def seen(connection: sqlite3.Connection) -> None:
    skills.set_origin(connection, REPO, "order", Origin.EVOLVED)
    skills.note_base(connection, REPO, [ORDER, replace(ORDER, name="arithmetic")], at=NOW)
    skills.note_base(connection, "acme/other", [ORDER], at=NOW)


def test_an_empty_registry_says_so(overlord: Overlord, filled: Filled) -> None:
    filled(lambda connection: None)
    assert overlord("skills", "list").out == "No repository's base had a skill yet when a job began there.\n"
    assert overlord("skills", "show", "order").code == 5


def test_skills_are_listed_by_repository(overlord: Overlord, filled: Filled) -> None:
    filled(seen)
    rows = [row.split()[:5] for row in overlord("skills", "list").out.splitlines()[1:-1]]
    assert rows == [
        ["arithmetic", "1.0.0", "manual", "present", REPO],
        ["order", "1.0.0", "evolved", "present", REPO],
        ["order", "1.0.0", "manual", "present", "acme/other"],
    ]
    [told] = json.loads(overlord("skills", "list", "--space", "acme/other", "--json").out)
    assert (told["skill"]["origin"], told["standing"]["ended"]) == ("manual", 0)


def test_one_skill_is_shown_with_how_it_does(overlord: Overlord, filled: Filled) -> None:
    filled(seen)
    shown = overlord("skills", "show", "order", "--space", REPO).out
    assert shown.startswith(f"order 1.0.0, evolved, in {REPO}: How orders are kept.\n")
    assert "no job that loaded it has ended yet" in shown


def test_figures_are_shown_beside_the_others(overlord: Overlord, filled: Filled) -> None:
    filled(seen)
    said = overlord("skills", "stats").out
    assert "0 of 0 (–)" in said and said.endswith("for which nobody had to be asked on the way.\n")
    assert len(json.loads(overlord("skills", "stats", "--json").out)) == 3


def test_open_pull_requests_that_change_skills_are_listed(overlord: Overlord, filled: Filled) -> None:
    filled(lambda connection: None)
    assert overlord("skills", "pulls").out == "No open pull request changes skills.\n"
    finding = SkillFinding(rule="skill/rm", level=Level.REJECT, message="It deletes.", line=8)
    row = SkillPullReview(
        space=REPO,
        number=7,
        head_sha=Sha("a" * 40),
        outcome=Outcome.REJECT,
        files=(ReviewedFile(path=ORDER.path, findings=(finding,)),),
    )

    def vetted(connection: sqlite3.Connection) -> None:
        skill_pulls.note(connection, row, at=NOW)
        ordinary = replace(row, number=8, outcome=Outcome.UNTOUCHED, files=())
        skill_pulls.note(connection, ordinary, at=NOW)

    filled(vetted)
    [_, told] = overlord("skills", "pulls").out.splitlines()
    assert told.split()[:3] == [f"{REPO}#7", "reject", "a" * 12]
    assert told.endswith(f"skill/rm in {ORDER.path}:8: It deletes.")
    [shown] = json.loads(overlord("skills", "pulls", "--json", "--space", REPO).out)
    assert shown["files"][0]["findings"][0]["line"] == 8
    assert overlord("skills", "pulls", "--space", "acme/none").out == "No open pull request changes skills.\n"
