"""The embedded forge on reviews, checks and branches over plain HTTP: GitHub's shapes, and its refusals."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from overlord.embedded.forge.account import GRANTED
from overlord.embedded.forge.api.problem import Problem
from overlord.embedded.forge.forge import AGENT, EmbeddedForge

REPO = "demo/calc"
API = f"/repos/{REPO}"


@pytest.fixture
async def forge(tmp_path: Path) -> AsyncIterator[EmbeddedForge]:
    forge = EmbeddedForge(tmp_path / "forge")
    await forge.create_repository(REPO, files={"calc.py": "x = 1\n"})
    yield forge
    forge.close()


@pytest.fixture
async def client(forge: EmbeddedForge) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"token {forge.token}"}
    async with forge.serve() as url, httpx.AsyncClient(base_url=url, headers=headers) as client:
        yield client


async def a_pull(forge: EmbeddedForge, *, base: str = "main", body: str = "") -> int:
    await forge.push_files(REPO, "topic", {"calc.py": "x = 2\n"}, "Better")
    pull = await forge.create_pull(
        REPO, title="Better", body=body, head="topic", base=base, draft=False, author=AGENT
    )
    return pull.number


async def shown(client: httpx.AsyncClient, path: str, **asked: str) -> Any:
    answer = await client.get(f"{API}{path}", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_review_and_its_comments_have_githubs_names(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    number = await a_pull(forge)
    made = await forge.review(
        REPO, number, state="CHANGES_REQUESTED", body="No.", comments=[("calc.py", 1, "Why?")]
    )
    [review] = await shown(client, f"/pulls/{number}/reviews")
    assert (review["id"], review["state"], review["body"]) == (made, "CHANGES_REQUESTED", "No.")
    assert review["commit_id"] == forge.pull(REPO, number).head_sha
    assert (review["user"]["login"], review["author_association"]) == ("alice", "OWNER")
    assert review["html_url"].endswith(f"/{REPO}/pull/{number}#pullrequestreview-{made}")
    [comment] = await shown(client, f"/pulls/{number}/comments")
    assert (comment["pull_request_review_id"], comment["path"], comment["line"]) == (made, "calc.py", 1)
    assert "in_reply_to_id" not in comment
    reply = await client.post(
        f"{API}/pulls/{number}/comments/{comment['id']}/replies", json={"body": "Because."}
    )
    assert (reply.status_code, reply.json()["in_reply_to_id"]) == (201, comment["id"])
    assert reply.json()["user"]["login"] == AGENT
    newest = await shown(client, f"/pulls/{number}/comments", sort="created", direction="desc")
    assert [item["id"] for item in newest] == [reply.json()["id"], comment["id"]]
    states = [item["state"] for item in await shown(client, f"/pulls/{number}/reviews")]
    assert states == ["CHANGES_REQUESTED", "COMMENTED"], "a reply is a review of its own"


async def test_a_reply_goes_to_what_began_a_thread_there_and_says_something(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    number = await a_pull(forge)
    issue = await forge.open_issue(REPO, "One")
    await forge.review(REPO, number, state="commented", comments=[("calc.py", 1, "Why?")])
    [first] = forge.review_comments(REPO, number)
    reply = await forge.review_reply(REPO, number, first.id, "Because.")
    tried = {
        (number, reply, "And so on"): 422,
        (number, first.id, " "): 422,
        (number, first.id, "x" * 65_537): 422,
        (number, 99, "Nowhere"): 404,
        (issue, first.id, "No pull request"): 404,
    }
    for (pull, comment, body), status in tried.items():
        address = f"{API}/pulls/{pull}/comments/{comment}/replies"
        assert (await client.post(address, json={"body": body})).status_code == status, (pull, comment)
    assert len(forge.review_comments(REPO, number)) == 2


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"author": AGENT, "state": "approved"}, "your own"),
        ({"state": "shrugged"}, "event"),
        ({"state": "commented"}, "body"),
        ({"state": "approved", "comments": [("none.py", 1, "Why?")]}, "Path"),
        ({"state": "approved", "comments": [("calc.py", 2, "Why?")]}, "Line"),
        ({"state": "approved", "comments": [("calc.py", 1, "")]}, "body"),
    ],
)
async def test_a_review_that_cannot_be_is_refused_whole(
    forge: EmbeddedForge, about: dict[str, Any], said: str
) -> None:
    number = await a_pull(forge)
    with pytest.raises(Problem, match=said):
        await forge.review(REPO, number, **about)
    assert (forge.reviews(REPO, number), forge.review_comments(REPO, number)) == ([], [])
    with pytest.raises(Problem):
        await forge.dismiss_review(REPO, 99)


async def test_check_runs_are_shown_newest_of_each_and_all_of_them(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    sha = (await forge.heads(REPO))["main"]
    first = await forge.check_run(REPO, sha, "build", title="It broke")
    second = await forge.check_run(REPO, sha, "build", status="queued")
    assert second == await forge.check_run(REPO, sha, "build", status="in_progress")
    latest = await shown(client, f"/commits/{sha}/check-runs")
    [run] = latest["check_runs"]
    assert (latest["total_count"], run["id"], run["status"], run["conclusion"]) == (
        1,
        second,
        "in_progress",
        None,
    )
    every = await shown(client, "/commits/main/check-runs", filter="all", per_page="1")
    assert (every["total_count"], [run["id"] for run in every["check_runs"]]) == (2, [second])
    run = (await shown(client, "/commits/main/check-runs", filter="all", per_page="1", page="2"))[
        "check_runs"
    ][0]
    assert (run["id"], run["conclusion"], run["app"]["slug"]) == (first, "failure", "github-actions")
    assert (run["output"]["title"], run["output"]["summary"]) == ("It broke", None)
    for wrong in ({"status": "fine"}, {"conclusion": "fine"}, {"conclusion": None}):
        with pytest.raises(Problem):
            await forge.check_run(REPO, sha, "build", **wrong)
    with pytest.raises(Problem):
        await forge.check_run(REPO, "0" * 40, "build")


async def test_the_combined_status_has_the_newest_of_each_context(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    sha = (await forge.heads(REPO))["main"]
    combined = []
    for context, state in (("a", "failure"), ("a", "success"), ("b", "pending"), ("b", "error")):
        await client.post(f"{API}/statuses/{sha}", json={"state": state, "context": context})
        found = await shown(client, f"/commits/{sha}/status")
        combined.append((found["state"], [(item["context"], item["state"]) for item in found["statuses"]]))
    assert combined == [
        ("failure", [("a", "failure")]),
        ("success", [("a", "success")]),
        ("pending", [("a", "success"), ("b", "pending")]),
        ("failure", [("a", "success"), ("b", "error")]),
    ]
    for path in ("status", "check-runs"):
        assert (await client.get(f"{API}/commits/{'0' * 40}/{path}")).status_code == 422


async def test_what_has_not_changed_costs_nothing(forge: EmbeddedForge, client: httpx.AsyncClient) -> None:
    number = await a_pull(forge)
    sha = forge.pull(REPO, number).head_sha
    await forge.review(REPO, number, state="commented", comments=[("calc.py", 1, "Why?")])
    for path in (
        f"/pulls/{number}/reviews",
        f"/pulls/{number}/comments",
        f"/commits/{sha}/check-runs",
        f"/commits/{sha}/status",
    ):
        first = await client.get(API + path)
        again = await client.get(API + path, headers={"if-none-match": first.headers["etag"]})
        assert (first.status_code, again.status_code) == (200, 304), path


async def test_a_log_is_behind_an_address_that_takes_no_token(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    sha = (await forge.heads(REPO))["main"]
    job = await forge.check_run(REPO, sha, "build", log="It broke\n")
    sent = await client.get(f"{API}/actions/jobs/{job}/logs")
    assert sent.status_code == 302
    address = sent.headers["location"]
    with_token = await client.get(address)
    async with httpx.AsyncClient() as nobody:
        without = await nobody.get(address)
        wrong = await nobody.get(f"{address}0")
        forge.fail("log", kind="502-html")
        broken = await nobody.get(address)
    assert (with_token.status_code, without.status_code, wrong.status_code) == (400, 200, 404)
    assert (without.text, without.headers["content-type"]) == ("It broke\n", "text/plain; charset=utf-8")
    assert broken.status_code == 502
    assert (await client.get(f"{API}/actions/jobs/99/logs")).status_code == 404


async def test_an_issue_is_changed_and_closed(forge: EmbeddedForge, client: httpx.AsyncClient) -> None:
    number = await forge.open_issue(REPO, "One", "Text")
    address = f"{API}/issues/{number}"
    closed = await client.patch(address, json={"state": "closed", "state_reason": "not_planned"})
    assert (closed.json()["state"], closed.json()["state_reason"]) == ("closed", "not_planned")
    again = await client.patch(address, json={"state": "open", "title": "Two"})
    assert (again.json()["state_reason"], again.json()["title"], again.json()["body"]) == (
        "reopened",
        "Two",
        "Text",
    )
    for wrong in ({"state": "gone"}, {"state": "closed", "state_reason": "bored"}):
        assert (await client.patch(address, json=wrong)).status_code == 422
    assert (await client.patch(f"{API}/issues/99", json={"state": "closed"})).status_code == 404


async def test_a_branch_is_deleted_once_and_never_the_default_one(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    number = await a_pull(forge)
    answers = {
        reference: await client.delete(f"{API}/git/refs/{reference}")
        for reference in ("heads/topic", "heads%2Ftopic", "heads/main", "tags/topic", "heads/")
    }
    assert {reference: answer.status_code for reference, answer in answers.items()} == {
        "heads/topic": 204,
        "heads%2Ftopic": 422,
        "heads/main": 422,
        "tags/topic": 422,
        "heads/": 422,
    }
    assert answers["tags/topic"].json()["message"] == "Reference does not exist"
    assert not forge.pull(REPO, number).open
    assert set(await forge.heads(REPO)) == {"main"}


async def test_only_a_merge_into_the_default_branch_closes_issues(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    issue = await forge.open_issue(REPO, "One")
    await forge.push_files(REPO, "release", {"notes": "1\n"}, "Release")
    number = await a_pull(forge, base="release", body=f"Closes #{issue}")
    assert (await shown(client, f"/pulls/{number}"))["mergeable_state"] == "clean"
    await forge.merge(REPO, number)
    assert forge.issue(REPO, issue).open


async def test_whether_a_pull_request_merges_is_told_alone(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    number = await a_pull(forge)
    assert (await shown(client, f"/pulls/{number}"))["mergeable"] is True
    await forge.push_files(REPO, "main", {"calc.py": "x = 9\n"}, "Meanwhile")
    told = await shown(client, f"/pulls/{number}")
    assert (told["mergeable"], told["mergeable_state"]) == (False, "dirty")
    [listed] = await shown(client, "/pulls")
    assert "mergeable" not in listed


async def test_a_reader_changes_nothing(forge: EmbeddedForge, client: httpx.AsyncClient) -> None:
    await forge.create_repository("demo/open", files={"a": "a"}, private=False)
    number = await forge.open_issue("demo/open", "One")
    reader = forge.add_user("rita")
    client.headers["authorization"] = f"token {reader.token}"
    closed = await client.patch(f"/repos/demo/open/issues/{number}", json={"state": "closed"})
    deleted = await client.delete("/repos/demo/open/git/refs/heads/main")
    hidden = await client.get(f"{API}/commits/main/check-runs")
    assert (closed.status_code, deleted.status_code, hidden.status_code) == (403, 403, 404)


@pytest.mark.parametrize(
    ("method", "path", "missing"),
    [
        ("GET", "/pulls/1/reviews", "pull_requests"),
        ("GET", "/pulls/1/comments", "pull_requests"),
        ("POST", "/pulls/1/comments/1/replies", "pull_requests"),
        ("GET", "/commits/main/check-runs", "checks"),
        ("GET", "/commits/main/status", "statuses"),
        ("GET", "/actions/jobs/1/logs", "actions"),
        ("DELETE", "/git/refs/heads/none", "contents"),
    ],
)
async def test_an_app_needs_the_permission_for_each(
    forge: EmbeddedForge, client: httpx.AsyncClient, method: str, path: str, missing: str
) -> None:
    await a_pull(forge)
    app = forge.add_app("helpful", "", [REPO])
    statuses = []
    for permissions in (GRANTED, {**GRANTED, missing: "none"}):
        grant = forge.grant(app)
        forge.records.put(replace(grant, permissions={**permissions}))
        client.headers["authorization"] = f"token {grant.token}"
        answer = await client.request(method, API + path)
        statuses.append(answer.status_code)
    assert (statuses[0] != 403, statuses[1]) == (True, 403)
    assert missing in answer.headers["x-accepted-github-permissions"]


async def test_everything_said_is_there_after_a_restart(forge: EmbeddedForge, tmp_path: Path) -> None:
    number = await a_pull(forge)
    sha = forge.pull(REPO, number).head_sha
    await forge.review(REPO, number, state="commented", comments=[("calc.py", 1, "Why?")])
    await forge.check_run(REPO, sha, "build", log="It broke\n")
    again = EmbeddedForge(tmp_path / "forge")
    assert again.reviews(REPO, number) == forge.reviews(REPO, number) != []
    assert again.review_comments(REPO, number) == forge.review_comments(REPO, number) != []
    assert again.check_runs(REPO, sha) == forge.check_runs(REPO, sha) != []
    again.close()
