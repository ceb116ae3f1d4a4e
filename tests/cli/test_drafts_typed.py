"""`overlord skills drafts|edit|approve|reject|retire`: what they show, what they write, and how they end."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from overlord.domain.person import Person
from overlord.domain.skills.draft import DraftKind, SkillDraft
from overlord.home import Home
from overlord.store.database import open_reader
from overlord.store.skills import drafts
from tests.cli.conftest import Filled, Overlord
from tests.drafting import PATH, skill
from tests.records import NOW, REPO


def waits(connection: sqlite3.Connection) -> None:
    """A draft that waits for a person."""
    by = Person.of("cli:alice")
    made = drafts.request(connection, space=REPO, kind=DraftKind.NEW, by=by, at=NOW)
    drafts.write(connection, made, at=NOW, name="say-why", path=PATH, text=skill())
    drafts.check(connection, drafts.get(connection, 1), at=NOW, base_text="", findings=())


def stored(home: Home) -> SkillDraft:
    with closing(open_reader(home.database)) as connection:
        return drafts.get(connection, 1)


def test_a_draft_is_listed_and_shown_whole(filled: Filled, overlord: Overlord) -> None:
    home = filled(waits)
    assert overlord("skills", "drafts").out.splitlines()[1].split()[:3] == ["d1", "waiting", "accept"]
    shown = overlord("skills", "drafts", "d1").out
    assert "  | name: say-why" in shown and f"overlord approve d1 --digest {stored(home).digest} " in shown
    [told] = json.loads(overlord("skills", "drafts", "--json").out)
    assert (told["draft"]["text"], told["verdict"]) == (skill(), "accept")


def test_a_text_that_is_no_skill_changes_nothing_and_is_kept(
    filled: Filled, overlord: Overlord, tmp_path: Path
) -> None:
    home, file = filled(waits), tmp_path / "mine.yaml"
    file.write_text("name: [broken")
    said = overlord("skills", "edit", "d1", "--file", str(file))
    assert said.code == 5 and "d1 stays as it was" in said.err and str(file) in said.err
    assert (stored(home).text, stored(home).refused) == (skill(), "name: [broken\n")
    file.write_text(skill(text="Another."))
    assert overlord("skills", "edit", "d1", "--file", str(file)).code == 0
    assert (stored(home).text, stored(home).state) == (skill(text="Another."), "checking")


def test_an_editor_is_opened_on_the_text_and_what_it_leaves_is_taken(
    filled: Filled, overlord: Overlord, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = filled(waits)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i 's/comment/note/'")
    assert overlord("skills", "edit", "d1").code == 0
    assert stored(home).text == skill().replace("comment", "note") != skill()
    monkeypatch.setenv("EDITOR", "false")
    assert "the editor ended with 1, so nothing was changed" in overlord("skills", "edit", "d1").err
    monkeypatch.setenv("EDITOR", "no-such-editor-here")
    assert "cannot be started" in overlord("skills", "edit", "d1").err


def test_the_briefing_names_what_waits(filled: Filled, overlord: Overlord) -> None:
    filled(waits)
    said = overlord("briefing").out
    assert re.search(
        r"SKILL DRAFTS \(1\)\n.*\nd1 +waiting +accept +acme/calc +Add the skill “say-why” ", said
    )


def test_a_yes_counts_once_and_a_no_with_its_reason(filled: Filled, overlord: Overlord) -> None:
    home = filled(waits)
    assert overlord("skills", "approve", "d1", "--digest", "0" * 16).code == 5
    said = overlord("skills", "approve", "d1", "good")
    assert (said.code, said.out) == (0, "Draft d1: approved. An issue is opened in acme/calc.\n")
    assert (stored(home).decided_by, stored(home).said) == ("cli:alice", "good")
    again = overlord("skills", "reject", "d1")
    assert (again.code, again.err) == (
        5,
        "overlord: draft d1 was answered before, by cli:alice: Approve: good\n",
    )


def edited_by_bob(connection: sqlite3.Connection) -> None:
    """The same, after somebody else wrote another text."""
    waits(connection)
    first, more = drafts.get(connection, 1), {"name": "say-why", "path": PATH, "text": skill(text="Bob's.")}
    drafts.edit(connection, first, by=Person.of("cli:bob"), at=NOW, **more)
    drafts.check(connection, drafts.get(connection, 1), at=NOW, base_text="", findings=())


def test_a_text_that_somebody_else_wrote_is_approved_by_its_digest(
    filled: Filled, overlord: Overlord
) -> None:
    home = filled(edited_by_bob)
    refused = overlord("skills", "approve", "d1")
    assert refused.code == 5 and "d1 was edited by cli:bob, and you may have seen another text" in refused.err
    shown = overlord("skills", "drafts", "d1").out
    assert (
        "asked for by cli:alice\n" in shown
        and "edited by cli:bob\n" in shown
        and "--digest" not in refused.err
    )
    typed = shown.splitlines()[-1].partition("#")[0].split()[1:]
    assert overlord(*typed).code == 0
    assert stored(home).decided_by == "cli:alice"


def test_what_is_no_draft_is_said(filled: Filled, overlord: Overlord) -> None:
    filled(waits)
    assert overlord("skills", "approve", "d9").code == 4
    assert overlord("skills", "approve", "soon").code == 2
