"""Transcripts as conversations, licences by their words, and what of a job that ended is a record."""

import json
from typing import Any

import pytest

from minion.protocol import Brief, Comment, Terms
from minion.terms import Assignment
from overlord.domain.training.finished_job import Attempt, FinishedJob, LeftOut, records_of, task_text
from overlord.domain.training.licence import UNKNOWN, licence_of
from overlord.domain.training.record import Record, RecordKind
from overlord.domain.training.transcribed import conversations, tools_of
from tests.records import a_brief, a_job, an_issue


def lines(*values: object) -> bytes:
    return b"\n".join(json.dumps(value).encode() for value in values)


def said(role: str, content: object = "x", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def test_a_conversation_that_was_shortened_is_two() -> None:
    found = list(
        conversations(
            lines(
                {"same": 0, "messages": [said("system"), said("user", "a")], "reply": said("assistant", "b")},
                {
                    "same": 2,
                    "messages": [said("assistant", "b"), said("user", "c")],
                    "reply": said("assistant", "d"),
                },
                {"same": 1, "messages": [said("user", "shorter")], "reply": said("assistant", "e")},
            )
        )
    )
    assert [[message["content"] for message in messages] for messages in found] == [
        ["x", "a", "b", "c", "d"],
        ["x", "shorter", "e"],
    ]


def test_what_is_no_line_of_a_conversation_is_left_out() -> None:
    assert list(conversations(b"")) == []
    assert (
        list(
            conversations(
                b"\xff\n[1]\n" + lines({"full": "no room"}, {"same": 0, "messages": [said("user")]})
            )
        )
        == []
    )
    odd = [said("user"), 7, said("critic"), said("developer"), said("user", [1]), said("user", None)]
    reply = {"content": "z", "tool_calls": ["x", {}]}
    [found] = conversations(lines({"same": 99, "messages": odd, "reply": reply}))
    assert found == [said("user"), said("system"), said("assistant", "z")]


def test_a_request_that_failed_ends_a_conversation_at_the_last_word() -> None:
    first = {"same": 0, "messages": [said("user", "a")], "reply": said("assistant", "b")}
    failed = {"same": 1, "messages": [said("assistant", "b"), said("tool", "out")], "reply": None}
    again = {"same": 3, "messages": [], "reply": said("assistant", "c")}
    [messages] = conversations(lines(first, failed))
    assert [message["content"] for message in messages] == ["a", "b"]
    [messages] = conversations(lines(first, failed, again))
    assert [message["content"] for message in messages] == ["a", "b", "out", "c"]


def test_calls_that_cannot_be_read_have_no_arguments() -> None:
    calls = [
        {"id": "a", "function": {"name": "run", "arguments": "{"}},
        {"id": "b", "function": {"name": "run", "arguments": "[1]"}},
        {"id": "c", "function": {"name": "", "arguments": "{}"}},
        {"id": "d", "function": {"name": "other", "arguments": '{"a": null, "b": true, "c": 1.5, "d": []}'}},
    ]
    [messages] = conversations(
        lines({"same": 0, "messages": [said("user")], "reply": said("assistant", None, tool_calls=calls)})
    )
    assert [call["function"]["arguments"] for call in messages[1]["tool_calls"]][:2] == [{}, {}]
    other, ran = tools_of(messages, {"run": {"type": "function", "function": {"name": "run"}}})
    assert other["function"]["parameters"]["properties"] == {
        "a": {},
        "b": {"type": "boolean"},
        "c": {"type": "number"},
        "d": {"type": "array"},
    }
    assert ran == {"type": "function", "function": {"name": "run"}}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "Permission is hereby granted, free of charge, to any person obtaining\n  a copy of this software … The above copyright"
            " notice and this permission notice shall be included in",
            "MIT",
        ),
        ("   Apache License\n   Version 2.0, January 2004", "Apache-2.0"),
        (
            "GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007"
            + " x" * 600
            + "GNU Affero General Public License version 3",
            "GPL-3.0",
        ),
        ("GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3", "AGPL-3.0"),
        ("GNU LESSER GENERAL PUBLIC LICENSE\nVersion 2.1", "LGPL-2.1"),
        ("Mozilla Public License Version 2.0", "MPL-2.0"),
        (
            "Redistribution and use in source and binary forms, with or without … to endorse or promote products",
            "BSD-3-Clause",
        ),
        ("Redistribution and use in source and binary forms, with or without", "BSD-2-Clause"),
        (
            "Permission to use, copy, modify, and/or distribute this software … provided that the above copyright notice",
            "ISC",
        ),
        (
            "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted.",
            "0BSD",
        ),
        ("This is free and unencumbered software released into the public domain.", "Unlicense"),
        ("All rights reserved.", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_a_licence_is_known_by_its_words(text: str, name: str) -> None:
    assert licence_of(text) == name


def brief(**given: Any) -> Brief:
    return a_brief(a_job(), **given)


def test_the_task_is_all_that_was_asked_and_names_nobody() -> None:
    issue = an_issue(
        title="Slugs",
        body=" Make them. ",
        author="anna",
        comments=(Comment(author="ben", association="OWNER", body="Short ones."),),
    )
    terms = Terms(contract="c", phase="p", assignments=(Assignment(name="api", text="The endpoint."),))
    text = task_text(brief(issue=issue, terms=terms, tried=("Nothing.",)))
    assert text == (
        "# Slugs\n\nMake them.\n\nA comment on it:\nShort ones.\n\nYours is api: The endpoint.\n\nYou may change: any file."
    )


def attempt(
    passed: bool | None, diff: str = "+a", *, role: str = "", prompt: str = "task", missing: str = ""
) -> Attempt:
    return Attempt(session="s", role=role, prompt=prompt, is_passed=passed, diff=diff, missing=missing)


def job(*attempts: Attempt, ending: str = "merged", has_pull: bool = True) -> FinishedJob:
    return FinishedJob(
        id=1,
        space="a/b",
        ending=ending,
        has_pull=has_pull,
        agent="minion",
        model="m",
        ended_on="2026-03-02",
        base="",
        attempts=attempts,
    )


def made(kind: RecordKind, *attempts: Attempt, **given: Any) -> list[str]:
    return [
        item.reason if isinstance(item, LeftOut) else " | ".join(item.answers)
        for item in records_of(job(*attempts, **given), kind)
    ]


def test_the_last_work_that_passed_counts_once_for_each_role() -> None:
    found = made(
        RecordKind.SFT,
        attempt(True, "+old"),
        attempt(True, "+new"),
        attempt(False, "+bad"),
        attempt(True, "+docs", role="writer"),
    )
    assert found == ["```diff\n+new\n```", "```diff\n+docs\n```"]


def test_what_failed_is_held_against_what_passed_later_on_the_same_task() -> None:
    found = made(
        RecordKind.DPO,
        attempt(False, "+one bad line of work here"),
        attempt(None, "+unjudged"),
        attempt(False, "+another task", prompt="edited"),
        attempt(True, "+something quite good"),
        attempt(False, "+later"),
    )
    assert found == ["```diff\n+something quite good\n``` | ```diff\n+one bad line of work here\n```"]
    assert made(RecordKind.DPO, attempt(True)) == ["nothing of its job failed before something passed"]
    assert made(RecordKind.DPO, attempt(False, "+a"), attempt(True, "+a")) == [
        "chosen and rejected are the same"
    ]
    assert made(RecordKind.DPO, attempt(False, "", missing="gone"), attempt(True, "+a")) == ["gone"]


@pytest.mark.parametrize(
    ("ending", "has_pull", "label"),
    [
        ("merged", True, True),
        ("merged", False, True),
        ("pr_closed", True, False),
        ("stopped", True, False),
        ("dropped", True, False),
        ("stopped", False, None),
        ("taken_over", True, None),
        ("lifetime_exceeded", True, None),
    ],
)
def test_an_ending_is_a_verdict_of_people_or_none(ending: str, has_pull: bool, label: bool | None) -> None:
    [found] = records_of(job(attempt(True), ending=ending, has_pull=has_pull), RecordKind.KTO)
    assert (found.label if isinstance(found, Record) else None) is label


def test_a_job_of_which_nothing_passed_makes_no_record() -> None:
    for kind in (RecordKind.SFT, RecordKind.KTO):
        assert made(kind, attempt(False)) == [
            "no work of its job passed the checks, or no session of it is kept"
        ]
    assert made(RecordKind.SFT, attempt(True), ending="dropped") == ["its job was not merged"]
