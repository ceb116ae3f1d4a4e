"""The embedded forge's webhooks: what they say has GitHub's names, and nobody waits for who listens."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from overlord.embedded.forge.forge import AGENT, EmbeddedForge
from overlord.embedded.forge.hook import Hook
from overlord.embedded.server import serve

REPO = "demo/calc"
SECRET = "It's a Secret to Everybody"
DEADLINE_S = 180.0


class Ear:
    """A listener that keeps what it is sent, and answers when it is let."""

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.heard.append((dict(request.headers), await request.body()))
        await self.may_answer.wait()
        await Response(status_code=202)(scope, receive, send)

    def told(self) -> list[tuple[str, str]]:
        """Event and action, in the order they came."""
        return [(head["x-github-event"], json.loads(body).get("action", "")) for head, body in self.heard]

    def payload(self, event: str, action: str = "") -> dict[str, Any]:
        """The last one of this kind."""
        [*_, last] = [
            body for told, (_, body) in zip(self.told(), self.heard, strict=True) if told == (event, action)
        ]
        found: dict[str, Any] = json.loads(last)
        return found


@pytest.fixture
async def forge(tmp_path: Path) -> AsyncIterator[EmbeddedForge]:
    forge = EmbeddedForge(tmp_path / "forge")
    await forge.create_repository(REPO, files={"calc.py": "x = 1\n"})
    yield forge
    forge.close()


@pytest.fixture
async def ear() -> Ear:
    return Ear()


@pytest.fixture
async def hook(forge: EmbeddedForge, ear: Ear) -> AsyncIterator[Hook]:
    async with serve(ear) as url:
        yield await forge.hook(f"{url}/hear", SECRET)


async def sent(hook: Hook) -> None:
    async with asyncio.timeout(DEADLINE_S):
        await hook.sent()


async def test_it_pings_first_and_signs_as_github_does(hook: Hook, ear: Ear) -> None:
    await sent(hook)
    [(headers, body)] = ear.heard
    assert headers["x-github-event"] == "ping" and json.loads(body)["hook_id"] == hook.id
    assert headers["content-type"] == "application/json"
    assert headers["user-agent"].startswith("GitHub-Hookshot/")
    assert headers["x-github-hook-id"] == str(hook.id)
    assert headers["x-github-hook-installation-target-type"] == "repository"
    assert headers["x-hub-signature-256"] == "sha256=" + hmac.new(SECRET.encode(), body, "sha256").hexdigest()
    assert headers["x-hub-signature"] == "sha1=" + hmac.new(SECRET.encode(), body, hashlib.sha1).hexdigest()
    assert SECRET.encode() not in body


async def test_the_signature_is_the_one_githubs_documentation_gives() -> None:
    known = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert Hook(1, "", SECRET)._signatures(b"Hello, World!")["x-hub-signature-256"] == f"sha256={known}"


async def test_issues(forge: EmbeddedForge, hook: Hook, ear: Ear) -> None:
    number = await forge.open_issue(REPO, "Broken", "It is.", labels=["bug"])
    await forge.edit_issue(REPO, number, title="Really broken")
    await forge.unlabel(REPO, number, "bug", author=AGENT)
    await forge.close_issue(REPO, number, reason="not_planned")
    await forge.reopen_issue(REPO, number)
    await sent(hook)
    actions = ("opened", "labeled", "edited", "unlabeled", "closed", "reopened")
    assert ear.told() == [("ping", ""), *(("issues", action) for action in actions)]
    labeled = ear.payload("issues", "labeled")
    assert labeled["label"]["name"] == "bug"
    assert labeled["issue"]["number"] == number
    assert labeled["repository"]["full_name"] == REPO
    assert labeled["sender"]["login"] == "alice"
    assert ear.payload("issues", "edited")["changes"] == {"title": {"from": "Broken"}}
    assert ear.payload("issues", "unlabeled")["sender"]["login"] == AGENT
    assert ear.payload("issues", "closed")["issue"]["number"] == number


async def test_issues_that_leave(forge: EmbeddedForge, hook: Hook, ear: Ear) -> None:
    other = "demo/other"
    await forge.create_repository(other)
    moved, gone = [await forge.open_issue(REPO, title) for title in ("Moved", "Gone")]
    await forge.comment(REPO, moved, "Where to?")
    await forge.transfer_issue(REPO, moved, other)
    await forge.comment(REPO, gone, "Why?")
    await forge.delete_issue(REPO, gone, author=AGENT)
    await sent(hook)
    assert [told for told in ear.told() if told[0] != "push"][3:] == [
        ("issue_comment", "created"),
        ("issues", "transferred"),
        ("issues", "opened"),
        ("issue_comment", "created"),
        ("issues", "deleted"),
    ]
    transferred, opened = ear.payload("issues", "transferred"), ear.payload("issues", "opened")
    assert (transferred["issue"]["number"], transferred["repository"]["full_name"]) == (moved, REPO)
    assert transferred["changes"]["new_repository"]["full_name"] == other
    assert transferred["changes"]["new_issue"]["id"] == opened["issue"]["id"]
    assert opened["repository"]["full_name"] == other
    assert opened["changes"]["old_issue"] == transferred["issue"]
    assert opened["changes"]["old_repository"]["full_name"] == REPO
    deleted = ear.payload("issues", "deleted")
    assert (deleted["issue"]["title"], deleted["sender"]["login"]) == ("Gone", AGENT)


async def test_comments(forge: EmbeddedForge, hook: Hook, ear: Ear) -> None:
    number = await forge.open_issue(REPO, "Broken")
    comment = await forge.comment(REPO, number, "Why?")
    forge.edit_comment(REPO, comment, "Why not?")
    await forge.delete_comment(REPO, number, comment)
    await sent(hook)
    assert ear.told()[2:] == [("issue_comment", action) for action in ("created", "edited", "deleted")]
    edited = ear.payload("issue_comment", "edited")
    assert (edited["comment"]["body"], edited["changes"]["body"]["from"]) == ("Why not?", "Why?")
    assert edited["issue"]["number"] == number


async def test_pull_requests_reviews_and_pushes(forge: EmbeddedForge, hook: Hook, ear: Ear) -> None:
    first = await forge.push_files(REPO, "topic", {"calc.py": "x = 2\n"}, "Better")
    pull = await forge.create_pull(
        REPO, title="Better", body="", head="topic", base="main", draft=True, author=AGENT
    )
    second = await forge.push_files(REPO, "topic", {"calc.py": "x = 3\n"}, "Best")
    forge.mark_ready(forge.pull(REPO, pull.number))
    remarks = (("calc.py", 1, "Why 3?"),)
    made = await forge.review(REPO, pull.number, state="changes_requested", body="No.", comments=remarks)
    [remark] = forge.review_comments(REPO, pull.number)
    await forge.review_reply(REPO, pull.number, remark.id, "Because.", author=AGENT)
    await forge.dismiss_review(REPO, made)
    job = await forge.check_run(REPO, second, "build", status="in_progress")
    assert job == await forge.check_run(REPO, second, "build", title="It broke")
    await forge.merge(REPO, pull.number, delete_branch=True)
    await sent(hook)
    assert ear.told() == [
        ("ping", ""),
        ("push", ""),
        ("pull_request", "opened"),
        ("pull_request", "synchronize"),
        ("push", ""),
        ("pull_request", "ready_for_review"),
        ("pull_request_review", "submitted"),
        ("pull_request_review_comment", "created"),
        ("pull_request_review", "submitted"),
        ("pull_request_review_comment", "created"),
        ("pull_request_review", "dismissed"),
        ("check_run", "created"),
        ("check_run", "completed"),
        ("pull_request", "closed"),
        ("push", ""),
        ("push", ""),
    ]
    synchronize = ear.payload("pull_request", "synchronize")
    assert (synchronize["before"], synchronize["after"]) == (first, second)
    assert synchronize["pull_request"]["head"]["sha"] == second
    check_what_was_said(ear, second, pull.number)
    assert ear.payload("pull_request", "closed")["pull_request"]["merged"] is True
    pushes = [json.loads(body) for head, body in ear.heard if head["x-github-event"] == "push"]
    assert [(push["ref"], push["created"], push["deleted"]) for push in pushes] == [
        ("refs/heads/topic", True, False),
        ("refs/heads/topic", False, False),
        ("refs/heads/main", False, False),
        ("refs/heads/topic", False, True),
    ]
    assert (pushes[0]["before"], pushes[0]["after"]) == ("0" * 40, first)


def check_what_was_said(ear: Ear, head: str, number: int) -> None:
    reviews = [
        json.loads(body) for told, body in ear.heard if told["x-github-event"] == "pull_request_review"
    ]
    assert [(told["review"]["state"], told["review"]["body"]) for told in reviews] == [
        ("changes_requested", "No."),
        ("commented", None),
        ("dismissed", "No."),
    ]
    assert {told["review"]["commit_id"] for told in reviews} == {head}
    assert {told["pull_request"]["number"] for told in reviews} == {number}
    reply = ear.payload("pull_request_review_comment", "created")
    assert (reply["comment"]["body"], reply["sender"]["login"]) == ("Because.", AGENT)
    assert (reply["comment"]["path"], reply["comment"]["line"]) == ("calc.py", 1)
    assert reply["pull_request"]["head"]["sha"] == head
    run = ear.payload("check_run", "completed")["check_run"]
    assert (run["name"], run["conclusion"], run["head_sha"]) == ("build", "failure", head)
    assert ear.payload("check_run", "created")["check_run"]["conclusion"] is None


async def test_what_is_sent_again_is_the_same(forge: EmbeddedForge, hook: Hook, ear: Ear) -> None:
    await forge.open_issue(REPO, "Broken")
    await sent(hook)
    hook.redeliver(hook.deliveries[-1])
    await sent(hook)
    assert ear.heard[-1] == ear.heard[-2]
    assert [(one.status, one.is_redelivery) for one in hook.deliveries][-2:] == [(202, False), (202, True)]


async def test_nobody_waits_for_a_listener(forge: EmbeddedForge, hook: Hook, ear: Ear) -> None:
    ear.may_answer.clear()
    numbers = [await forge.open_issue(REPO, f"Issue {number}") for number in range(20)]
    assert numbers == list(range(1, 21)) and len(hook.deliveries) == 0
    ear.may_answer.set()
    await sent(hook)
    assert ear.told()[1:] == [("issues", "opened")] * 20


async def test_who_does_not_listen_misses_what_was_said(forge: EmbeddedForge) -> None:
    async with serve(Ear()) as url:
        gone = url
    hook = await forge.hook(gone, SECRET)
    await forge.open_issue(REPO, "Broken")
    await sent(hook)
    assert [(one.event, one.status) for one in hook.deliveries] == [("ping", 0), ("issues", 0)]


async def test_without_a_secret_nothing_is_signed(forge: EmbeddedForge, ear: Ear) -> None:
    async with serve(ear) as url:
        await sent(await forge.hook(url, ""))
    assert not any(name.startswith("x-hub-signature") for name in ear.heard[0][0])
