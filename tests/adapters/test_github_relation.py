"""Sub-issues and dependencies over HTTP: what is asked for, answers that were lost, sign-ins that may not, and forges without."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from structlog.testing import capture_logs

from overlord.adapters.github.forge import GitHubForge
from overlord.adapters.github.relation import BLOCKERS, SUB_ISSUES
from overlord.domain.identifiers import RepositoryName
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.record import Grant
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable, ForgeUnsupported
from tests.adapters.github_calls import READS, REPO, WRITES, answered, arrange_relations, failure
from tests.app_keys import keys

OTHER = RepositoryName("demo/other")
CHANGES = {name: ask for name, ask in WRITES.items() if "sub-issue" in name or "dependency" in name}


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[EmbeddedForge]:
    forge = EmbeddedForge(tmp_path / "forge")
    for name in (REPO, OTHER):
        await forge.create_repository(name, files={"calc.py": "x = 1\n"})
        await forge.open_issue(name, "One")
    await arrange_relations(forge)
    yield forge
    forge.close()


@pytest.fixture
async def url(people: EmbeddedForge) -> AsyncIterator[str]:
    async with people.serve() as url:
        yield url


@pytest.fixture
async def forge(people: EmbeddedForge, url: str) -> AsyncIterator[GitHubForge]:
    forge = GitHubForge.with_token(people.token, base_url=url, retry_wait_s=0)
    yield forge
    await forge.close()


def asked(people: EmbeddedForge) -> list[str]:
    return [f"{seen.status} {seen.operation}" for seen in people.requests]


async def test_the_forge_is_looked_at_first_and_not_asked_for_what_is_so(
    people: EmbeddedForge, forge: GitHubForge
) -> None:
    await forge.add_sub_issue(REPO, 1, 2)
    assert asked(people) == [f"200 {SUB_ISSUES}", "200 issues/get", "201 issues/add-sub-issue"]
    people.requests.clear()
    await forge.add_sub_issue(REPO, 1, 2)
    await forge.remove_blocked_by(REPO, 1, REPO, 2)
    assert asked(people) == [f"200 {SUB_ISSUES}", f"200 {BLOCKERS}"]


async def test_an_answer_that_was_lost_does_no_harm(people: EmbeddedForge, forge: GitHubForge) -> None:
    for operation, ask in CHANGES.items():
        people.fail(operation, kind="reset-after")
        assert isinstance(await failure(ask(forge)), ForgeUnavailable)
        await ask(forge)
    assert [item.number for item in await forge.sub_issues(REPO, 1)] == [2]
    assert [item.number for item in await forge.blocked_by(REPO, 1)] == [2]
    assert [line for line in asked(people) if line.startswith("4")] == []


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_refusal_counts_only_while_the_issues_are_not_related(is_there: bool) -> None:
    """The answer to an earlier request was lost, and what that one did is seen only later."""
    refused: list[str] = []
    child = {"id": 7, "number": 2, "state": "open", "repository_url": f"https://api.github.com/repos/{REPO}"}

    def respond(request: Request) -> Response:
        if request.method == "POST":
            refused.append(request.url.path)
            return JSONResponse({"message": "Sub issue may only have one parent"}, 422)
        if request.url.path.endswith("/sub_issues"):
            return JSONResponse([child] if refused and is_there else [])
        return JSONResponse(child)

    asking = answered(respond, CHANGES["issues/add-sub-issue"])
    if is_there:
        await asking
    else:
        assert "422 Sub issue may only have one parent" in str(await failure(asking))
    assert refused == [f"/repos/{REPO}/issues/1/sub_issues"] * 2


async def test_what_github_refuses_is_said_in_its_words(people: EmbeddedForge, url: str) -> None:
    parent, child = people.issue(REPO, 1), people.issue(REPO, 2)
    people.add_sub_issue(parent, child)
    headers = {"authorization": f"Bearer {people.token}"}
    async with httpx.AsyncClient(base_url=f"{url}/repos/{REPO}/issues", headers=headers) as client:
        twice = await client.post("/1/sub_issues", json={"sub_issue_id": child.id})
        nothing = await client.post("/1/dependencies/blocked_by", json={})
        gone = await client.delete(f"/1/dependencies/blocked_by/{child.id}")
    assert (twice.status_code, nothing.status_code, gone.status_code) == (422, 422, 404)
    assert twice.json()["message"] == (
        "An error occurred while adding the sub-issue to the parent issue."
        " Issue may not contain duplicate sub-issues and Sub issue may only have one parent"
    )
    assert nothing.json()["errors"] == [{"resource": "Issue", "field": "issue_id", "code": "missing_field"}]


async def test_a_forge_without_sub_issues_is_told_once(people: EmbeddedForge, url: str) -> None:
    people.has_sub_issues = False
    forge = GitHubForge.with_token(people.token, base_url=url, retry_wait_s=0)
    with capture_logs() as lines:
        errors = [await failure(forge.add_sub_issue(REPO, 1, 2)) for _ in range(3)]
        await forge.add_blocked_by(REPO, 1, REPO, 2)
    await forge.close()
    assert {type(error) for error in errors} == {ForgeUnsupported}
    assert str(errors[0]) == f"{url} has no sub-issues; a newer GitHub Enterprise Server has them"
    [line] = lines
    assert (line["event"], line["forge"], line["feature"]) == ("forge_lacks_feature", url, "sub-issues")


@pytest.mark.parametrize("kind", ["404", "410"])
@pytest.mark.parametrize("lists", [SUB_ISSUES, BLOCKERS])
async def test_a_list_that_is_missing_is_told_from_an_issue_that_is(
    people: EmbeddedForge, forge: GitHubForge, lists: str, kind: str
) -> None:
    people.fail(lists, kind=kind, times=2)
    assert isinstance(await failure(READS[lists](forge)), ForgeUnsupported)
    people.fail(lists, kind=kind, times=2)
    people.fail("issues/get", kind="404", times=2)
    assert isinstance(await failure(READS[lists](forge)), ForgeMissing)
    people.fail(lists, kind=kind, times=2)
    people.fail("issues/get", kind="500", times=3)
    assert isinstance(await failure(READS[lists](forge)), ForgeUnavailable)


async def test_a_sign_in_that_may_not_write_issues_is_refused(people: EmbeddedForge, url: str) -> None:
    reads = people.grant(
        people.add_app("reader", "", [REPO], permissions={"issues": "read", "metadata": "read"})
    )
    forge = GitHubForge.with_token(reads.token, base_url=url, retry_wait_s=0)
    for ask in CHANGES.values():
        error = await failure(ask(forge))
        assert isinstance(error, ForgeRefused) and not isinstance(error, ForgeMissing | ForgeUnsupported)
        assert "403 Resource not accessible by integration" in str(error)
        assert "issues=write" in str(error)
    assert [item.number for item in await forge.blocked_by(REPO, 1)] == [3]
    await forge.close()


async def test_what_a_sign_in_may_not_see_is_not_listed(people: EmbeddedForge, url: str) -> None:
    parent, elsewhere = people.issue(REPO, 1), people.issue(OTHER, 1)
    people.add_sub_issue(parent, elsewhere)
    people.add_blocker(parent, elsewhere)
    grant = people.grant(people.add_app("overlord", "", [REPO]))
    forge = GitHubForge.with_token(grant.token, base_url=url, retry_wait_s=0)
    assert await forge.sub_issues(REPO, 1) == []
    assert [item.number for item in await forge.blocked_by(REPO, 1)] == [3]
    assert isinstance(await failure(forge.add_blocked_by(REPO, 2, OTHER, 1)), ForgeMissing)
    await forge.close()


async def test_an_app_relates_issues_of_two_repositories_with_a_token_for_the_issues_of_both(
    people: EmbeddedForge, url: str
) -> None:
    app = people.add_app("overlord", keys()[1], [REPO, OTHER])
    forge = GitHubForge.with_app(str(app.id), keys()[0], base_url=url, retry_wait_s=0)
    for _ in range(2):
        await forge.add_sub_issue(REPO, 1, 1, child_name=OTHER)
        await forge.add_blocked_by(REPO, 2, OTHER, 1)
    assert [item.repository for item in people.sub_issues(people.issue(REPO, 1))] == [OTHER]
    assert [item.repository for item in people.blockers(people.issue(REPO, 2))] == [OTHER]
    await forge.remove_blocked_by(REPO, 2, OTHER, 1)
    assert people.blockers(people.issue(REPO, 2)) == []
    assert await forge.sub_issues(REPO, 1) == []
    await forge.close()
    grants = {(item.repositories, tuple(item.permissions.items())) for item in people.records.all(Grant)}
    assert {repositories for repositories, _ in grants} == {(REPO,), (OTHER,), (REPO, OTHER)}
    [both] = [permissions for repositories, permissions in grants if len(repositories) == 2]
    assert ("issues", "write") in both and dict(both).keys() <= {"issues", "metadata"}
    minted = [line for line in asked(people) if "create-installation-access-token" in line]
    assert len(minted) == 3


async def test_an_app_that_is_installed_here_alone_relates_nothing_elsewhere(
    people: EmbeddedForge, url: str
) -> None:
    app = people.add_app("overlord", keys()[1], [REPO])
    forge = GitHubForge.with_app(str(app.id), keys()[0], base_url=url, retry_wait_s=0)
    assert isinstance(await failure(forge.add_sub_issue(REPO, 1, 1, child_name=OTHER)), ForgeRefused)
    await forge.add_sub_issue(REPO, 1, 2)
    await forge.close()
    assert [item.number for item in people.sub_issues(people.issue(REPO, 1))] == [2]


async def test_an_issue_shows_its_parent_and_how_many_it_waits_for(people: EmbeddedForge, url: str) -> None:
    people.add_sub_issue(people.issue(REPO, 1), people.issue(REPO, 2))
    await people.close_issue(REPO, 2)
    headers = {"authorization": f"Bearer {people.token}"}
    async with httpx.AsyncClient(base_url=url, headers=headers) as client:
        shown: list[dict[str, Any]] = [
            (await client.get(f"/repos/{REPO}/issues/{number}")).json() for number in (1, 2, 3)
        ]
    assert shown[0]["sub_issues_summary"] == {"total": 1, "completed": 1, "percent_completed": 100}
    assert shown[0]["issue_dependencies_summary"]["blocked_by"] == 1
    assert shown[1]["parent_issue_url"] == f"{url}/repos/{REPO}/issues/1"
    assert shown[2]["issue_dependencies_summary"]["total_blocking"] == 1


async def test_a_reason_that_is_new_at_github_is_none() -> None:
    issue = {"id": 7, "number": 2, "state": "closed", "state_reason": "superseded"}
    at = "https://api.github.com/repos/Demo/Calc"
    found: Any = await answered(lambda _: JSONResponse([issue | {"repository_url": at}]), READS[SUB_ISSUES])
    assert [(item.repository, item.number, item.open, item.state_reason) for item in found] == [
        ("Demo/Calc", 2, False, None)
    ]
