"""Issues that leave the embedded forge's repositories: what their old addresses answer, and what goes along."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from overlord.embedded.forge.api.problem import Problem
from overlord.embedded.forge.forge import AGENT, EmbeddedForge

REPO, OTHER, OPEN, FOREIGN = "demo/calc", "demo/other", "demo/open", "elsewhere/calc"
API = f"/repos/{REPO}"


@pytest.fixture
async def forge(tmp_path: Path) -> AsyncIterator[EmbeddedForge]:
    forge = EmbeddedForge(tmp_path / "forge")
    for name in (REPO, OTHER, FOREIGN):
        await forge.create_repository(name, files={"calc.py": "x = 1\n"})
    await forge.create_repository(OPEN, private=False)
    yield forge
    forge.close()


@pytest.fixture
async def client(forge: EmbeddedForge) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"token {forge.token}"}
    async with forge.serve() as url, httpx.AsyncClient(base_url=url, headers=headers) as client:
        yield client


async def test_the_address_of_a_transferred_issue_leads_to_its_new_one(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    await forge.open_issue(OTHER, "First")
    number = await forge.open_issue(REPO, "Lost")
    assert await forge.transfer_issue(REPO, number, OTHER) == 2
    place = f"{client.base_url}/repositories/{forge.repository(OTHER).id}/issues/2".replace("//rep", "/rep")
    for method, below in (
        *(("GET", ""), ("PATCH", ""), ("GET", "/comments"), ("POST", "/comments"), ("GET", "/events")),
        *(("POST", "/labels"), ("DELETE", "/labels/ready")),
    ):
        answer = await client.request(method, f"{API}/issues/{number}{below}")
        assert (answer.status_code, answer.headers["location"]) == (301, place + below)
        assert answer.json() == {
            "message": "Moved Permanently",
            "url": place + below,
            "documentation_url": "https://docs.github.com/rest/guides/"
            "best-practices-for-using-the-rest-api#follow-redirects",
        }
    followed = await client.get(f"{API}/issues/{number}", follow_redirects=True)
    assert followed.json() == (await client.get(f"/repos/{OTHER}/issues/2")).json()
    assert followed.json()["title"] == "Lost"
    assert (await client.get(f"{API}/pulls/{number}")).status_code == 404


async def test_a_repository_is_found_by_its_id_as_by_its_name(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    number = forge.repository(REPO).id
    assert (await client.get(f"/repositories/{number}")).json() == (await client.get(API)).json()
    assert (await client.get(f"/repositories/{number}/labels")).status_code == 200
    for path in ("/repositories/1", "/repositories/x", "/repositories"):
        assert (await client.get(path)).status_code == 404


async def test_the_old_name_of_a_renamed_repository_leads_to_its_address_that_keeps(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    number = await forge.open_issue(REPO, "Lost", labels=["ready"])
    await forge.rename_repository(REPO, "demo/sums")
    place = f"{client.base_url}/repositories/{forge.repository('demo/sums').id}".replace("//rep", "/rep")
    for method, below in (("GET", ""), ("GET", f"/issues/{number}"), ("POST", f"/issues/{number}/labels")):
        answer = await client.request(method, f"{API}{below}")
        assert (answer.status_code, answer.headers["location"]) == (301, place + below)
        assert answer.json()["message"] == "Moved Permanently"
    followed = await client.get(f"{API}/issues/{number}", follow_redirects=True)
    assert followed.json() == (await client.get(f"/repos/demo/sums/issues/{number}")).json()
    assert set(forge.files("demo/sums")) == {"calc.py"}
    references = f"/{REPO}.git/info/refs?service=git-upload-pack"
    as_git = await client.get(references, auth=("x-access-token", forge.token))
    assert (as_git.status_code, as_git.headers["location"]) == (
        301,
        f"{client.base_url}{references.replace(REPO, 'demo/sums')}".replace("//demo", "/demo"),
    )
    async with httpx.AsyncClient(base_url=client.base_url) as stranger:
        assert (await stranger.get(references)).status_code == 401
    await forge.create_repository(REPO, files={"a.py": "a = 1\n"})
    assert (await client.get(API)).json()["id"] != forge.repository("demo/sums").id


async def test_what_was_said_and_done_goes_along(forge: EmbeddedForge) -> None:
    await forge.open_issue(OTHER, "First", labels=["Ready"])
    number = await forge.open_issue(REPO, "Lost", "Where?", labels=["ready", "rare"], author="bob")
    comment = await forge.comment(REPO, number, "Here", author="carol")
    forge.react(REPO, comment, "eyes", AGENT)
    before = forge.issue(REPO, number)
    await forge.transfer_issue(REPO, number, OTHER)
    after = forge.issue(OTHER, 2)
    assert (after.title, after.body, after.author) == ("Lost", "Where?", "bob")
    assert (after.labels, after.open, after.created_at) == (("Ready",), True, before.created_at)
    assert after.id != before.id
    assert [(kept.id, kept.author, kept.body) for kept in forge.comments(OTHER, 2)] == [
        (comment, "carol", "Here")
    ]
    assert [kept.content for kept in forge.reactions(comment)] == ["eyes"]
    events = [(item.event, item.label) for item in forge.occurrences(after)]
    assert events == [("labeled", "ready"), ("labeled", "rare"), ("transferred", None)]


async def test_a_deleted_issue_is_gone_with_what_was_said(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    number = await forge.open_issue(REPO, "Lost", labels=["ready"])
    comment = await forge.comment(REPO, number, "Here")
    forge.react(REPO, comment, "eyes", AGENT)
    await forge.delete_issue(REPO, number)
    for below in ("", "/comments", "/events"):
        answer = await client.get(f"{API}/issues/{number}{below}")
        assert (answer.status_code, answer.json()["message"]) == (410, "This issue was deleted")
    assert (await client.get(f"{API}/pulls/{number}")).status_code == 404
    assert (await client.get(f"{API}/issues", params={"state": "all"})).json() == []
    assert (await client.get(f"{API}/issues/comments")).json() == []
    assert forge.reactions(comment) == []


async def test_who_may_not_see_where_an_issue_went_or_was_is_told_nothing(
    forge: EmbeddedForge, client: httpx.AsyncClient
) -> None:
    moved, gone = [await forge.open_issue(OPEN, title) for title in ("Moved", "Gone")]
    await forge.transfer_issue(OPEN, moved, OTHER)
    await forge.delete_issue(OPEN, gone)
    hidden = await forge.open_issue(REPO, "Hidden")
    await forge.delete_issue(REPO, hidden)
    stranger = {"authorization": f"token {forge.add_user('mallory').token}"}
    found = [
        (await client.get(f"/repos/{path}", headers=stranger)).status_code
        for path in (f"{OPEN}/issues/{moved}", f"{OPEN}/issues/{gone}", f"{REPO}/issues/{hidden}")
    ]
    assert found == [404, 410, 404]


async def test_numbers_are_given_once_also_after_a_restart(forge: EmbeddedForge, tmp_path: Path) -> None:
    moved, gone = [await forge.open_issue(REPO, title) for title in ("Moved", "Gone")]
    await forge.transfer_issue(REPO, moved, OTHER)
    await forge.delete_issue(REPO, gone)
    assert await forge.open_issue(REPO, "Next") == gone + 1
    again = EmbeddedForge(tmp_path / "forge")
    assert [issue.title for issue in again.issues(REPO)] == ["Next"]
    for number, status in ((moved, 301), (gone, 410)):
        with pytest.raises(Problem) as caught:
            again.issue(REPO, number)
        assert caught.value.status == status
    assert again.issue(OTHER, 1) == forge.issue(OTHER, 1)
    await again.delete_issue(REPO, gone + 1)
    assert await again.open_issue(REPO, "Another") == gone + 2
    again.close()


@pytest.mark.parametrize("to", [REPO, FOREIGN, OPEN, "demo/nowhere"])
async def test_what_github_does_not_transfer_stays(forge: EmbeddedForge, to: str) -> None:
    number = await forge.open_issue(REPO, "Here")
    with pytest.raises(Problem):
        await forge.transfer_issue(REPO, number, to)
    assert forge.issue(REPO, number).open


async def test_a_pull_request_is_neither_transferred_nor_deleted(forge: EmbeddedForge) -> None:
    await forge.push_files(REPO, "topic", {"calc.py": "x = 2\n"}, "Better")
    pull = await forge.create_pull(
        REPO, title="Better", body="", head="topic", base="main", draft=False, author=AGENT
    )
    with pytest.raises(Problem):
        await forge.transfer_issue(REPO, pull.number, OTHER)
    with pytest.raises(Problem):
        await forge.delete_issue(REPO, pull.number)
    assert forge.pull(REPO, pull.number).open
