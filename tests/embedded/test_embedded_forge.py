"""The embedded forge over plain HTTP and git: it answers as GitHub does, also when the answer is no."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from overlord.embedded.forge import repository as bare
from overlord.embedded.forge.api.problem import Problem
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.repository import Conflict

REPO = "demo/calc"
API = f"/repos/{REPO}"


@pytest.fixture
async def forge(tmp_path: Path) -> AsyncIterator[EmbeddedForge]:
    forge = EmbeddedForge(tmp_path / "forge")
    await forge.create_repository(REPO, files={"calc.py": "x = 1\n", "run.sh": "#!/bin/sh\n"})
    yield forge
    forge.close()


@pytest.fixture
async def url(forge: EmbeddedForge) -> AsyncIterator[str]:
    async with forge.serve() as url:
        yield url


@pytest.fixture
async def client(forge: EmbeddedForge, url: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"token {forge.token}"}
    async with httpx.AsyncClient(base_url=url, headers=headers) as client:
        yield client


async def a_pull(forge: EmbeddedForge, client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    await forge.push_files(REPO, "topic", {"calc.py": "x = 2\n"}, "Better")
    asked = {"title": "Better", "head": "topic", "base": "main"} | fields
    answer = await client.post(f"{API}/pulls", json=asked)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def git(*arguments: str) -> tuple[int, str]:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    process = await asyncio.create_subprocess_exec(
        "git", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=environment
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


def git_log(forge: EmbeddedForge) -> list[str]:
    return bare.git(forge.directory(REPO), "log", "--format=%s", "main").decode().splitlines()


def with_token(url: str, token: str) -> str:
    return url.replace("http://", f"http://x-access-token:{token}@") + f"/{REPO}.git"


# Who may do what


@pytest.mark.parametrize(
    ("authorization", "message"), [("", "Requires authentication"), ("token no", "Bad credentials")]
)
async def test_without_a_good_token_nothing_is_told(url: str, authorization: str, message: str) -> None:
    headers = {"authorization": authorization} if authorization else {}
    async with httpx.AsyncClient(base_url=url, headers=headers) as client:
        for path in (API, "/repos/demo/missing", f"{API}/issues"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["message"]) == (401, message)
        assert (await client.post("/graphql", json={})).status_code == 401


async def test_a_private_repository_is_missing_to_strangers(forge: EmbeddedForge, url: str) -> None:
    stranger = forge.add_user("mallory")
    await forge.create_repository("demo/open", files={"a": "a"}, private=False)
    headers = {"authorization": f"Bearer {stranger.token}"}
    async with httpx.AsyncClient(base_url=url, headers=headers) as client:
        hidden = await client.get(API)
        shown = await client.get("/repos/demo/open")
        number = await forge.open_issue("demo/open", "Hello")
        refused = await client.post(f"/repos/demo/open/issues/{number}/labels", json={"labels": ["x"]})
    assert hidden.status_code == 404
    assert hidden.json() == {
        "message": "Not Found",
        "documentation_url": "https://docs.github.com/rest",
        "status": "404",
    }
    assert shown.json()["permissions"]["push"] is False
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "Resource not accessible by personal access token",
    )


async def test_what_the_client_never_calls_is_not_offered(client: httpx.AsyncClient) -> None:
    assert (await client.put(f"{API}/pulls/1/merge")).status_code == 404
    assert (await client.delete(API)).status_code == 404


# git


async def test_git_needs_the_token_of_someone_who_may(forge: EmbeddedForge, url: str, tmp_path: Path) -> None:
    reader = forge.add_user("rita")
    outcomes = {
        who: await git("ls-remote", address)
        for who, address in {
            "agent": with_token(url, forge.token),
            "nobody": f"{url}/{REPO}.git",
            "wrong": with_token(url, "wrong"),
            "stranger": with_token(url, reader.token),
        }.items()
    }
    assert {who: code for who, (code, _) in outcomes.items()} == {
        "agent": 0,
        "nobody": 128,
        "wrong": 128,
        "stranger": 128,
    }
    assert "not found" in outcomes["stranger"][1]


async def test_someone_who_may_only_read_cannot_push(forge: EmbeddedForge, url: str, tmp_path: Path) -> None:
    await forge.create_repository("demo/open", files={"a": "a"}, private=False)
    reader = forge.add_user("rita")
    address = with_token(url, reader.token).replace(REPO, "demo/open")
    assert (await git("clone", "-q", address, str(tmp_path / "w")))[0] == 0
    code, output = await git("-C", str(tmp_path / "w"), "push", "origin", "HEAD:refs/heads/topic")
    assert code != 0
    assert "403" in output


async def test_a_pull_request_follows_pushes_until_it_is_closed(
    forge: EmbeddedForge, client: httpx.AsyncClient, url: str, tmp_path: Path
) -> None:
    pull = await a_pull(forge, client)
    work = str(tmp_path / "w")
    await git("clone", "-q", "-b", "topic", with_token(url, forge.token), work)
    identity = ("-c", "user.name=b", "-c", "user.email=b@x")
    await git("-C", work, *identity, "commit", "-q", "--allow-empty", "-m", "More")
    assert (await git("-C", work, "push", "-q", "origin", "topic"))[0] == 0
    _, sha = await git("-C", work, "rev-parse", "HEAD")
    assert forge.pull(REPO, pull["number"]).head_sha == sha.strip() != pull["head"]["sha"]
    await forge.close_pull(REPO, pull["number"])
    await forge.push_files(REPO, "topic", {"calc.py": "x = 3\n"}, "Later")
    shown = (await client.get(f"{API}/pulls/{pull['number']}")).json()
    assert (shown["state"], shown["head"]["sha"]) == ("closed", sha.strip())


# Issues, labels, comments


async def test_issues_are_listed_with_pull_requests_among_them_in_pages(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    for number in range(5):
        await forge.open_issue(REPO, f"Issue {number}", labels=["ready"])
    await a_pull(forge, client)
    await forge.label(REPO, 6, "ready")
    await forge.close_issue(REPO, 2)
    asked = {"labels": "READY", "direction": "asc", "per_page": "2"}
    first = await client.get(f"{API}/issues", params=asked)
    seen = [item["number"] for item in first.json()]
    answer = first
    while "next" in answer.links:
        answer = await client.get(answer.links["next"]["url"])
        seen += [item["number"] for item in answer.json()]
    assert seen == [1, 3, 4, 5, 6]
    assert set(first.links) == {"next", "last"}
    assert set(answer.links) == {"prev", "first"}
    assert "pull_request" in answer.json()[-1]


async def test_what_has_not_changed_costs_nothing(forge: EmbeddedForge, client: httpx.AsyncClient) -> None:
    number = await forge.open_issue(REPO, "One")
    first = await client.get(f"{API}/issues/{number}")
    headers = {"if-none-match": first.headers["etag"]}
    again = await client.get(f"{API}/issues/{number}", headers=headers)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-ratelimit-remaining"] == first.headers["x-ratelimit-remaining"]
    await forge.comment(REPO, number, "Hello")
    assert (await client.get(f"{API}/issues/{number}", headers=headers)).status_code == 200


async def test_labels_are_made_when_first_used_and_missed_when_absent(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    number = await forge.open_issue(REPO, "One", author="mallory")
    added = await client.post(f"{API}/issues/{number}/labels", json={"labels": ["area/calc: core"]})
    assert [label["name"] for label in added.json()] == ["area/calc: core"]
    assert (await client.delete(f"{API}/issues/{number}/labels/AREA%2Fcalc:%20core")).json() == []
    absent = await client.delete(f"{API}/issues/{number}/labels/area%2Fcalc:%20core")
    assert (absent.status_code, absent.json()["message"]) == (404, "Label does not exist")
    assert [label.name for label in forge.labels(REPO)] == ["area/calc: core"]


async def test_a_comment_says_who_wrote_it_and_what_they_are_here(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    number = await forge.open_issue(REPO, "One", author="mallory")
    await forge.comment(REPO, number, "Please?", author="mallory")
    made = await client.post(f"{API}/issues/{number}/comments", json={"body": "Working"})
    await client.patch(f"{API}/issues/comments/{made.json()['id']}", json={"body": "Done"})
    shown = (await client.get(f"{API}/issues/{number}/comments")).json()
    assert [(item["user"]["login"], item["author_association"], item["body"]) for item in shown] == [
        ("mallory", "NONE", "Please?"),
        ("overlord-agent", "COLLABORATOR", "Done"),
    ]


@pytest.mark.parametrize("body", ["", "   ", "x" * 65_537])
async def test_a_comment_must_have_a_body_of_a_size(
    forge: EmbeddedForge, client: httpx.AsyncClient, body: str
) -> None:
    number = await forge.open_issue(REPO, "One")
    answer = await client.post(f"{API}/issues/{number}/comments", json={"body": body})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body")


async def test_a_body_that_is_no_json_is_a_400(client: httpx.AsyncClient, forge: EmbeddedForge) -> None:
    number = await forge.open_issue(REPO, "One")
    for content in (b"{", b"[]"):
        answer = await client.post(f"{API}/issues/{number}/comments", content=content)
        assert answer.status_code == 400


# Pull requests and statuses


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"base": "nowhere"}, {"resource": "PullRequest", "field": "base", "code": "invalid"}),
        ({"head": "nowhere"}, {"resource": "PullRequest", "field": "head", "code": "invalid"}),
        ({"title": ""}, {"resource": "PullRequest", "field": "title", "code": "missing_field"}),
        (
            {"head": "same"},
            {"resource": "PullRequest", "code": "custom", "message": "No commits between main and same"},
        ),
        (
            {"head": "demo:topic"},
            {
                "resource": "PullRequest",
                "code": "custom",
                "message": "A pull request already exists for demo:topic.",
            },
        ),
    ],
)
async def test_a_pull_request_that_cannot_be_is_refused(
    forge: EmbeddedForge, client: httpx.AsyncClient, fields: dict[str, str], error: dict[str, str]
) -> None:
    await a_pull(forge, client)
    await forge.push_files(REPO, "same", {"calc.py": "x = 1\n"}, "Nothing")
    main = (await forge.heads(REPO))["main"]
    (forge.directory(REPO) / "refs" / "heads" / "same").write_text(main + "\n")
    asked = {"title": "Again", "head": "topic", "base": "main"} | fields
    answer = await client.post(f"{API}/pulls", json=asked)
    assert answer.status_code == 422
    assert answer.json()["message"] == "Validation Failed"
    assert answer.json()["errors"] == [error]


async def test_two_pull_requests_for_one_branch_at_once_become_one(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    await forge.push_files(REPO, "topic", {"calc.py": "x = 2\n"}, "Better")
    asked = {"title": "T", "head": "topic", "base": "main"}
    answers = await asyncio.gather(*(client.post(f"{API}/pulls", json=asked) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [201, 422, 422, 422, 422]


async def test_pull_requests_are_found_by_their_branch(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    first = await a_pull(forge, client)
    await forge.close_pull(REPO, first["number"])
    second = await a_pull(forge, client, draft=True)
    found = (await client.get(f"{API}/pulls", params={"head": "demo:topic", "state": "all"})).json()
    assert [(pull["number"], pull["state"], pull["draft"]) for pull in found] == [
        (second["number"], "open", True),
        (first["number"], "closed", False),
    ]
    assert "merged" not in found[0]
    for other in ("other:topic", "demo:top"):
        assert (await client.get(f"{API}/pulls", params={"head": other, "state": "all"})).json() == []


async def test_a_draft_becomes_ready_by_graphql(forge: EmbeddedForge, client: httpx.AsyncClient) -> None:
    pull = await a_pull(forge, client, draft=True)
    query = (
        "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) "
        "{ pullRequest { isDraft } } }"
    )
    answer = await client.post("/graphql", json={"query": query, "variables": {"id": pull["node_id"]}})
    assert answer.json()["data"]["markPullRequestReadyForReview"]["pullRequest"]["isDraft"] is False
    assert forge.pull(REPO, pull["number"]).draft is False
    wrong = await client.post("/graphql", json={"query": query, "variables": {"id": "PR_x"}})
    assert wrong.json()["errors"][0]["type"] == "NOT_FOUND"


async def test_merging_moves_base_and_closes_what_the_text_says(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    issue = await forge.open_issue(REPO, "Make it two")
    pull = await a_pull(forge, client, body=f"Closes #{issue}")
    commit = await forge.merge(REPO, pull["number"], delete_branch=True)
    assert (await forge.heads(REPO)) == {"main": commit}
    assert forge.files(REPO)["calc.py"] == b"x = 2\n"
    assert (forge.issue(REPO, issue).open, forge.issue(REPO, issue).state_reason) == (False, "completed")
    shown = (await client.get(f"{API}/pulls/{pull['number']}")).json()
    assert (shown["state"], shown["merged"], shown["merge_commit_sha"]) == ("closed", True, commit)
    with pytest.raises(Problem, match="closed"):
        await forge.merge(REPO, pull["number"])


async def test_people_change_their_minds(forge: EmbeddedForge, client: httpx.AsyncClient) -> None:
    number = await forge.open_issue(REPO, "One", labels=["ready"])
    await forge.edit_issue(REPO, number, body="More")
    await forge.unlabel(REPO, number, "ready")
    await forge.close_issue(REPO, number, reason="not_planned")
    await forge.reopen_issue(REPO, number)
    shown = (await client.get(f"{API}/issues/{number}")).json()
    assert (shown["title"], shown["body"], shown["labels"]) == ("One", "More", [])
    assert (shown["state"], shown["state_reason"], shown["closed_at"]) == ("open", "reopened", None)


async def test_a_squashed_pull_request_is_one_commit_and_a_draft_is_not_merged(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    pull = await a_pull(forge, client, draft=True)
    with pytest.raises(Problem, match="draft"):
        await forge.merge(REPO, pull["number"], squash=True)
    forge.mark_ready(forge.pull(REPO, pull["number"]))
    await forge.merge(REPO, pull["number"], squash=True)
    await forge.delete_branch(REPO, "topic")
    assert git_log(forge) == ["Better (#1)", "First commit"]
    assert set(await forge.heads(REPO)) == {"main"}


async def test_a_conflict_cannot_be_merged(forge: EmbeddedForge, client: httpx.AsyncClient) -> None:
    pull = await a_pull(forge, client)
    await forge.push_files(REPO, "main", {"calc.py": "x = 9\n"}, "Meanwhile")
    with pytest.raises(Conflict):
        await forge.merge(REPO, pull["number"])
    assert forge.pull(REPO, pull["number"]).open


async def test_a_status_must_be_about_a_commit_and_fit(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    sha = (await forge.heads(REPO))["main"]
    good = {"state": "success", "context": "overlord/evaluation", "description": "All good"}
    assert (await client.post(f"{API}/statuses/{sha}", json=good)).status_code == 201
    assert (await client.post(f"{API}/statuses/{'0' * 40}", json=good)).status_code == 422
    for wrong in ({"state": "fine"}, {"description": "x" * 141}):
        assert (await client.post(f"{API}/statuses/{sha}", json=good | wrong)).status_code == 422
    assert [(status.context, status.state) for status in forge.statuses(REPO, sha)] == [
        ("overlord/evaluation", "success")
    ]


# Repositories


async def test_everything_is_there_after_a_restart(
    forge: EmbeddedForge, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    number = await forge.open_issue(REPO, "One", "Body", labels=["ready"])
    await forge.comment(REPO, number, "Hello")
    pull = await a_pull(forge, client)
    sha = pull["head"]["sha"]
    await client.post(f"{API}/statuses/{sha}", json={"state": "pending"})
    again = EmbeddedForge(tmp_path / "forge")
    assert again.token == forge.token
    assert again.threads(REPO) == forge.threads(REPO)
    assert again.comments(REPO, number) == forge.comments(REPO, number)
    assert again.statuses(REPO, sha) == forge.statuses(REPO, sha)
    assert again.files(REPO, "topic") == forge.files(REPO, "topic")
    assert await again.open_issue(REPO, "Next") == pull["number"] + 1
    again.close()


async def test_a_repository_can_come_from_a_directory_or_another_repository(
    forge: EmbeddedForge, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    (source / "pkg" / "__pycache__").mkdir(parents=True)
    (source / "pkg" / "a.py").write_text("a = 1\n")
    (source / "pkg" / "__pycache__" / "a.pyc").write_bytes(b"\0")
    await forge.create_repository("demo/copied", source=source)
    assert forge.files("demo/copied") == {"pkg/a.py": b"a = 1\n"}
    copied = await forge.create_repository("demo/imported", source=forge.directory(REPO))
    assert copied.default_branch == "main"
    assert forge.files("demo/imported") == forge.files(REPO)
    await forge.create_repository("demo/empty")
    assert await forge.heads("demo/empty") == {}


async def test_people_push_odd_names_and_remove_files(forge: EmbeddedForge) -> None:
    odd: dict[str, str | bytes | None] = {'sp ace/é "q"\\.txt': "ä\n", "bin": b"\0\xff", "empty": ""}
    await forge.push_files(REPO, "odd", {**odd, "calc.py": None}, "Odd")
    assert forge.files(REPO, "odd") == {
        'sp ace/é "q"\\.txt': "ä\n".encode(),
        "bin": b"\0\xff",
        "empty": b"",
        "run.sh": b"#!/bin/sh\n",
    }


# Faults


async def test_a_fault_happens_before_or_after_the_effect_and_is_then_over(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    number = await forge.open_issue(REPO, "One")
    address = f"{API}/issues/{number}/comments"
    forge.fail("issues/create-comment", kind="502-html")
    forge.fail("issues/create-comment", kind="reset")
    forge.fail("issues/create-comment", kind="reset-after")
    assert (await client.post(address, json={"body": "one"})).headers["content-type"].startswith("text/html")
    for body in ("two", "three"):
        with pytest.raises(httpx.TransportError):
            await client.post(address, json={"body": body})
    assert (await client.post(address, json={"body": "four"})).status_code == 201
    assert [comment.body for comment in forge.comments(REPO, number)] == ["three", "four"]


async def test_a_push_whose_answer_was_lost_has_happened(
    forge: EmbeddedForge, url: str, tmp_path: Path
) -> None:
    work = str(tmp_path / "w")
    await git("clone", "-q", with_token(url, forge.token), work)
    forge.fail("git/receive-pack", kind="reset-after")
    code, _ = await git("-C", work, "push", "-q", "origin", "HEAD:refs/heads/topic")
    assert code != 0
    assert "topic" in await forge.heads(REPO)


async def test_a_fault_nobody_knows_is_a_mistake_of_the_test(forge: EmbeddedForge) -> None:
    with pytest.raises(ValueError, match="known"):
        forge.fail("issues/lock", kind="500")
    with pytest.raises(ValueError, match="known"):
        forge.fail("issues/get", kind="598")


async def test_the_transcript_has_every_request(forge: EmbeddedForge, client: httpx.AsyncClient) -> None:
    await client.get(f"{API}/issues", params={"state": "all"})
    await client.get(f"{API}/issues/9")
    assert forge.transcript() == f"200 GET {API}/issues?state=all\n404 GET {API}/issues/9"
