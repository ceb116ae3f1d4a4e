"""`overlord training export`: what jobs that ended become, in the forms that TRL reads, with a card, as a whole or not at all."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minion.protocol import Answer, Finding, Outcome, Report, encode
from overlord.domain.evaluation import CheckName, CheckScore
from overlord.domain.event import EventName
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job
from overlord.domain.training.finished_job import FinishedJob
from overlord.entrypoints.training.reading import Format, Line
from overlord.entrypoints.training.writing import write_export
from overlord.home import Home
from overlord.store import evidence, jobs, sessions
from overlord.store.checks import evaluations
from overlord.store.contracts import job_contracts
from overlord.store.evidence import EvidenceFile, EvidenceStore
from tests.cli.conftest import Filled, Overlord
from tests.plumbing import commit, run
from tests.records import NOW, a_brief, a_check, a_session, contract
from tests.stored import claim

Act = Callable[[sqlite3.Connection], None]
MIT = """MIT License

Copyright (c) 2026 Acme

Permission is hereby granted, free of charge, to any person obtaining a copy of this software.
The above copyright notice and this permission notice shall be included in all copies.
"""


def diff(text: str) -> str:
    return f"diff --git a/src/slug.py b/src/slug.py\n--- a/src/slug.py\n+++ b/src/slug.py\n@@ -1 +1 @@\n+{text}\n"


def keep(connection: sqlite3.Connection, home: Home, job: Job, session: str, kind: str, content: str) -> None:
    digest = EvidenceStore(home.evidence).put(content.encode())
    item = EvidenceFile(
        job_id=job.id, session_id=session, kind=kind, sha256=digest, size=len(content.encode()), at=NOW
    )
    evidence.record(connection, item)


def attempt(
    connection: sqlite3.Connection,
    home: Home,
    job: Job,
    ordinal: int,
    score: CheckScore | None,
    *,
    change: str,
    transcript: str = "",
    **told: Any,
) -> None:
    """A session whose work was judged."""
    head = Sha(f"{job.id:x}{ordinal}".ljust(40, "e"))
    session = a_session(job, ordinal=ordinal)
    brief = a_brief(job, ordinal=ordinal, **told)
    sessions.prepare(connection, replace(session, brief=encode(brief).decode()))
    sessions.take_report(
        connection, session.id, Report(outcome=Outcome.COMPLETE, summary=f"Attempt {ordinal} is done.")
    )
    sessions.mark(connection, session.id, taken_sha=head)
    sessions.end(connection, sessions.get(connection, session.id), at=NOW, ending="exited")
    keep(connection, home, job, session.id, "diff", change)
    if transcript:
        keep(connection, home, job, session.id, "transcript", transcript)
    row = evaluations.current(connection, replace(job, head_sha=head), at=NOW)
    for name in (CheckName.SCOPE, CheckName.INTEGRITY, CheckName.TESTS, CheckName.LINT):
        evaluations.add_check(
            connection, row, a_check(name, score if name is CheckName.TESTS else CheckScore.PASS), at=NOW
        )
    [row] = [found for found in evaluations.of_job(connection, job.id) if not found.closed]
    evaluations.close(connection, row)


def ended(connection: sqlite3.Connection, job: Job, event: EventName, *, pull: int | None = 3) -> None:
    jobs.repair(connection, job.id, pull_number=pull)
    jobs.move(connection, job.id, event, at=NOW, data={})


FINDING = Finding(check="tests", rule="test-failed", message="test_slug fails: SECRET-FINDING")
CALL = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "slug.py"}'}}
OTHER = {"id": "c2", "type": "function", "function": {"name": "own_tool", "arguments": '{"times": 3}'}}
ASKED = [
    {"role": "system", "content": "Rules."},
    {"role": "user", "content": [{"type": "text", "text": "Slugs."}]},
]
TRANSCRIPT = "\n".join(
    json.dumps(line)
    for line in (
        {
            "same": 0,
            "messages": ASKED,
            "reply": {"role": "assistant", "content": None, "tool_calls": [CALL, OTHER]},
        },
        {
            "explores": True,
            "same": 0,
            "messages": [{"role": "system", "content": "You explore"}],
            "reply": {"content": "x"},
        },
        {
            "same": 2,
            "messages": [
                {"role": "assistant", "content": None, "tool_calls": [CALL, OTHER]},
                {"role": "tool", "tool_call_id": "c1", "content": "def slug(): ..."},
                {"role": "tool", "tool_call_id": "c2", "content": "ok"},
            ],
            "reply": {"role": "assistant", "content": "Done.", "reasoning": "hm"},
        },
    )
)


def story(home: Home) -> Act:
    """Job 1 was merged after one revision, 2 was closed, 3 was stopped without a pull request, 4 is open."""

    def write(connection: sqlite3.Connection) -> None:
        first = claim(connection, 1, title="Slugs", body="Make slugs of titles.")
        attempt(connection, home, first, 1, CheckScore.NEEDS_REVISION, change=diff("title.replace(' ', '-')"))
        attempt(
            connection,
            home,
            first,
            2,
            CheckScore.PASS,
            change=diff("'-'.join(title.lower().split())"),
            transcript=TRANSCRIPT,
            findings=(FINDING,),
            tried=("Attempt 1 is done.",),
        )
        ended(connection, first, EventName.MERGED)
        second = claim(connection, 2, title="Titles", body="Make titles of slugs.")
        attempt(connection, home, second, 1, CheckScore.PASS, change=diff("slug.title()"))
        ended(connection, second, EventName.PR_CLOSED)
        third = claim(connection, 3)
        attempt(connection, home, third, 1, CheckScore.PASS, change=diff("pass"))
        ended(connection, third, EventName.STOPPED, pull=None)
        fourth = claim(connection, 4)
        attempt(connection, home, fourth, 1, CheckScore.PASS, change=diff("open"))

    return write


def read(place: Path, form: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / f"{form}.jsonl").read_text().splitlines()]


KEYS = {
    "sft": {"prompt": str, "completion": str},
    "dpo": {"prompt": str, "chosen": str, "rejected": str},
    "kto": {"prompt": str, "completion": str, "label": bool},
    "messages": {"messages": list, "tools": list},
}
"""The columns that TRL reads for each trainer, and what they hold."""


@pytest.mark.parametrize("form", KEYS)
def test_every_record_has_the_keys_of_its_format_and_no_other(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path, form: str
) -> None:
    filled(story(home))
    said = overlord("training", "export", "--format", form, "--output", str(tmp_path / "out"))
    assert (said.code, said.err) == (0, "")
    records = read(tmp_path / "out", form)
    assert records
    for record in records:
        assert {name: type(value) for name, value in record.items()} == KEYS[form]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["README.md", f"{form}.jsonl"]
    assert not list(tmp_path.glob(".*.part"))


def test_a_merged_job_is_its_task_and_what_passed(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    filled(story(home))
    overlord("training", "export", "--format", "sft", "--output", str(tmp_path / "out"))
    [record] = read(tmp_path / "out", "sft")
    assert record["prompt"] == "# Slugs\n\nMake slugs of titles.\n\nYou may change: any file."
    assert record["completion"] == (
        "Attempt 2 is done.\n\n```diff\n" + diff("'-'.join(title.lower().split())").rstrip() + "\n```"
    )


def test_what_failed_stands_beside_what_passed_without_the_findings(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    filled(story(home))
    overlord("training", "export", "--format", "dpo", "--output", str(tmp_path / "out"))
    [record] = read(tmp_path / "out", "dpo")
    assert "title.lower()" in record["chosen"]
    assert "title.replace" in record["rejected"]
    assert "SECRET-FINDING" not in json.dumps(record)
    assert "Attempt" not in json.dumps(record)


def test_people_said_what_they_think_by_merging_and_closing(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    filled(story(home))
    overlord("training", "export", "--format", "kto", "--output", str(tmp_path / "out"))
    found = {record["prompt"].splitlines()[0]: record["label"] for record in read(tmp_path / "out", "kto")}
    assert found == {"# Slugs": True, "# Titles": False}


def test_a_conversation_has_its_calls_outputs_and_tools(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    filled(story(home))
    overlord("training", "export", "--format", "messages", "--output", str(tmp_path / "out"))
    [record] = read(tmp_path / "out", "messages")
    assert record["messages"] == [
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": "Slugs."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"type": "function", "function": {"name": "read_file", "arguments": {"path": "slug.py"}}},
                {"type": "function", "function": {"name": "own_tool", "arguments": {"times": 3}}},
            ],
        },
        {"role": "tool", "name": "read_file", "content": "def slug(): ..."},
        {"role": "tool", "name": "own_tool", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ]
    own, native = record["tools"]
    assert own["function"]["parameters"] == {"type": "object", "properties": {"times": {"type": "integer"}}}
    assert (native["function"]["name"], "path" in native["function"]["parameters"]["properties"]) == (
        "read_file",
        True,
    )


def test_the_card_says_what_is_in_it_and_what_is_not(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    filled(story(home))
    said = overlord("training", "export", "--format", "kto", "--output", str(tmp_path / "out"), "--json")
    facts = json.loads(said.out)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "2 records of 2 jobs that ended from 2026-03-02 to 2026-03-02" in card
    assert re.search(r"\| acme/calc \| unknown: ask \| \S+ \| \S+ \| 2 \|", card)
    assert "- 1 × its job had no pull request that was merged or closed" in card
    assert "It holds code of these repositories" in card
    assert f"`{facts['sha256']}`" in card
    assert facts["left_out"] == {"its job had no pull request that was merged or closed": 1}
    assert facts["records"] == 2


def test_the_licence_is_the_one_at_base(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    mirror = home.mirror(RepositoryName("acme/calc"))
    mirror.parent.mkdir(parents=True)
    run(mirror, "init", "--bare", "--quiet")
    base = commit(mirror, "main", {"LICENSE": MIT, "a.py": ""})

    def write(connection: sqlite3.Connection) -> None:
        story(home)(connection)
        jobs.repair(connection, 1, base_sha=base)

    filled(write)
    overlord("training", "export", "--format", "sft", "--output", str(tmp_path / "out"))
    assert "| acme/calc | MIT |" in (tmp_path / "out" / "README.md").read_text()


def test_two_exports_of_one_state_are_the_same(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    filled(story(home))
    for name in ("a", "b"):
        overlord("training", "export", "--format", "dpo", "--output", str(tmp_path / name))
    assert (tmp_path / "a/dpo.jsonl").read_bytes() == (tmp_path / "b/dpo.jsonl").read_bytes()


def test_evidence_that_is_gone_is_left_out_and_said(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    def write(connection: sqlite3.Connection) -> None:
        story(home)(connection)
        connection.execute(
            "UPDATE evidence SET removed_at = at WHERE session_id = 'j1-work-2' AND kind = 'diff'"
        )

    filled(write)
    said = overlord("training", "export", "--format", "sft", "--output", str(tmp_path / "out"))
    assert said.code == 4
    assert (
        "no job makes a record for sft (1 × its diff was removed, as `keep` in the settings says; 2 × its job was"
        in said.err
    )
    assert list(tmp_path.glob("out*")) == []
    for item in home.evidence.rglob("*"):
        if item.is_file():
            item.write_bytes(b"other")
    said = overlord("training", "export", "--format", "kto", "--output", str(tmp_path / "out"))
    assert "1 × its diff is missing among the evidence, or damaged" in said.err


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (diff("token = 'ghp_a8Kd02mNq71LzXw93Rt5Yb6Vc4Hj2Fg1Se0P'"), "it has what looks like a secret"),
        (diff("key = 'sk-canary-0123456789'"), "it has what looks like a secret"),
        (
            diff("x") + "\n[cut: the diff is longer than 2000000 bytes]\n",
            "only the beginning of its diff is kept",
        ),
        (diff("x" * 70_000), "its completion has more than 64,000 characters"),
        ("", "no diff of it is kept"),
    ],
)
def test_what_is_no_good_to_learn_from_is_left_out(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path, change: str, reason: str
) -> None:
    def write(connection: sqlite3.Connection) -> None:
        job = claim(connection, 1)
        attempt(connection, home, job, 1, CheckScore.PASS, change=change)
        ended(connection, job, EventName.MERGED)

    filled(write)
    said = overlord("training", "export", "--format", "sft", "--output", str(tmp_path / "out"))
    assert (said.code, f"1 × {reason}" in said.err) == (4, True), said.err


def test_what_people_answered_is_a_part_of_the_task(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    def write(connection: sqlite3.Connection) -> None:
        job = claim(connection, 1, title="Slugs", body="")
        told: Mapping[str, Any] = {
            "answers": (Answer(question="Which mark?", answer="A hyphen.", by="github:anna"),)
        }
        attempt(connection, home, job, 1, CheckScore.PASS, change=diff("x ```` y"), **told)
        ended(connection, job, EventName.MERGED)

    filled(write)
    overlord("training", "export", "--format", "sft", "--output", str(tmp_path / "out"))
    [record] = read(tmp_path / "out", "sft")
    assert "It was asked: Which mark?\nThe answer: A hyphen." in record["prompt"]
    assert "anna" not in json.dumps(record)
    assert record["completion"].endswith("`````")


def test_days_and_repositories_choose(overlord: Overlord, filled: Filled, home: Home, tmp_path: Path) -> None:
    filled(story(home))

    def code(*words: str) -> int:
        return overlord("training", "export", "--format", "sft", "--output", str(tmp_path / "x"), *words).code

    assert code("--since", "2026-03-03") == 4
    assert code("--space", "acme/other") == 4
    assert code("--since", "yesterday") == 2
    assert code("--space", "calc") == 2
    assert code("--since", "2026-03-02", "--space", "Acme/Calc") == 0


def test_nothing_is_written_over_and_no_link_is_followed(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    filled(story(home))
    there = tmp_path / "there"
    there.mkdir()
    (tmp_path / "link").symlink_to(there)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("link", "full", "file", "file/below"):
        said = overlord("training", "export", "--format", "sft", "--output", str(tmp_path / name))
        assert said.code == 5, name
    assert list(there.iterdir()) == []
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]
    said = overlord("training", "export", "--format", "sft", "--output", str(there))
    assert said.code == 0
    assert (there.stat().st_mode & 0o777, (there / "sft.jsonl").stat().st_mode & 0o777) == (0o700, 0o600)


def test_an_export_that_is_cut_off_leaves_nothing(tmp_path: Path) -> None:
    job = FinishedJob(
        id=1, space="a/b", ending="merged", has_pull=True, agent="", model="", ended_on="2026-03-02", base=""
    )

    def lines() -> Iterator[Line]:
        yield Line(text="{}", job=job)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_export(tmp_path / "out", Format.SFT, lines(), lambda _: "")
    assert list(tmp_path.iterdir()) == []


def test_the_same_record_is_written_once(tmp_path: Path) -> None:
    job = FinishedJob(
        id=1, space="a/b", ending="merged", has_pull=True, agent="", model="", ended_on="2026-03-02", base=""
    )
    made = write_export(
        tmp_path / "out", Format.SFT, [Line(text="{}", job=job)] * 3, lambda made: f"{made.same}"
    )
    assert (made.records, (tmp_path / "out/README.md").read_text()) == (1, "2")


def test_briefs_that_nobody_can_read_are_told(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    def write_rows(connection: sqlite3.Connection) -> None:
        job = claim(connection, 1)
        attempt(connection, home, job, 1, CheckScore.PASS, change=diff("a"))
        sessions.mark(connection, "j1-work-1", brief='{"role": "coder"}')
        ended(connection, job, EventName.MERGED)

    filled(write_rows)
    said = overlord("training", "export", "--format", "sft", "--output", str(tmp_path / "out"))
    assert "1 × its brief cannot be read any more" in said.err


def test_what_the_contract_takes_out_is_taken_out_here_too(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    def write_rows(connection: sqlite3.Connection) -> None:
        job = claim(connection, 1, title="Customer-4711 wants slugs")
        own = contract().model_copy(update={"redact": ("Customer-[0-9]+",)})
        job_contracts.keep(connection, job.id, own, "tests", at=NOW)
        attempt(connection, home, job, 1, CheckScore.PASS, change=diff("a"))
        ended(connection, job, EventName.MERGED)

    filled(write_rows)
    overlord("training", "export", "--format", "sft", "--output", str(tmp_path / "out"))
    [record] = read(tmp_path / "out", "sft")
    assert record["prompt"].startswith("# [redacted] wants slugs")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"times": NaN}', "it has a number that JSON does not have, as NaN"),
        ('{"times": [1e999]}', "it has a number that JSON does not have, as NaN"),
        ('{"ghp_Zk4Wq8Rt2Lm6Np0Xs5Vb9Cd3Fg7Hj1Ky4QwE": 1}', "it has what looks like a secret"),
        (f'{{"a": {"[" * 900}"ghp_Zk4Wq8Rt2Lm6Np0Xs5Vb9Cd3Fg7Hj1Ky4QwE"{"]" * 900}}}', ""),
    ],
)
def test_what_a_model_gave_a_tool_is_written_as_json_without_secrets_or_not_at_all(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path, arguments: str, why: str
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "own_tool", "arguments": arguments}}
    reply = {"role": "assistant", "content": "Done.", "tool_calls": [call]}
    transcript = json.dumps({"same": 0, "messages": ASKED, "reply": reply})

    def write_rows(connection: sqlite3.Connection) -> None:
        job = claim(connection, 1)
        attempt(connection, home, job, 1, CheckScore.PASS, change=diff("a"), transcript=transcript)
        ended(connection, job, EventName.MERGED)

    filled(write_rows)
    said = overlord("training", "export", "--format", "messages", "--output", str(tmp_path / "out"))
    assert f"1 × {why}" in said.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", ["sft", "messages"])
def test_evidence_that_was_never_kept_is_told(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path, form: str
) -> None:
    def write_rows(connection: sqlite3.Connection) -> None:
        story(home)(connection)
        connection.execute("DELETE FROM evidence")

    filled(write_rows)
    said = overlord("training", "export", "--format", form, "--output", str(tmp_path / "out"))
    what = "transcript" if form == "messages" else "diff"
    assert f"1 × no {what} of it was kept" in said.err


def test_a_job_of_which_nothing_passed_has_no_conversation(
    overlord: Overlord, filled: Filled, home: Home, tmp_path: Path
) -> None:
    def write_rows(connection: sqlite3.Connection) -> None:
        job = claim(connection, 1)
        attempt(connection, home, job, 1, CheckScore.FAIL, change=diff("a"), transcript=TRANSCRIPT)
        ended(connection, job, EventName.MERGED)

    filled(write_rows)
    said = overlord("training", "export", "--format", "messages", "--output", str(tmp_path / "out"))
    assert "1 × no work of its job passed the checks" in said.err


def test_without_a_state_it_says_what_to_do(overlord: Overlord, tmp_path: Path) -> None:
    said = overlord("training", "export", "--format", "sft", "--output", str(tmp_path / "x"))
    assert (said.code, said.err.startswith("overlord: there is no Overlord state")) == (6, True)
    assert not (tmp_path / "x").exists()
