"""The API: what it answers to whom, and that what goes wrong is said as a problem."""

import asyncio
import json
from typing import Any

import httpx
import jsonschema_rs
import pytest

from overlord.domain.access import AccessRight
from overlord.domain.view.view_json import view_of
from overlord.embedded.play import blocked
from overlord.failpoints import Failpoint
from overlord.store import access
from tests.web.api_client import PREFIX, Program, made_program, program
from tests.web.paging import made_page
from tests.web.test_page import WORK
from tests.world import REPO

OTHER = "acme/other"


async def _asks(asking: Program, title: str = "add() subtracts") -> None:
    """A job that waits for a person."""
    await asking.page.world.issue(title)
    asking.page.world.model_will(blocked("I need the password"), when=title)
    await asking.page.world.settle()


async def _works(asking: Program) -> None:
    """A job that becomes a pull request."""
    await asking.page.world.issue("add() subtracts")
    asking.page.world.model_will(*WORK)
    await asking.page.world.settle()


async def test_a_program_reads_what_waits_and_answers_it_once() -> None:
    async with made_program() as asking:
        await _asks(asking)
        [waiting] = await asking.get("/queries/decisions")
        said = await asking.give(
            "answer",
            decision=str(waiting["id"]),
            words="it is in the vault",
            headers={"idempotency-key": "a"},
        )
        assert "the next session reads it" in said["text"].lower() and said["is_replayed"] is False
        again = await asking.give(
            "answer",
            decision=str(waiting["id"]),
            words="it is in the vault",
            headers={"idempotency-key": "a"},
        )
        assert (again["text"], again["is_replayed"]) == (said["text"], True)
        late = await asking.give("answer", 409, decision=str(waiting["id"]), words="no")
        assert late["type"] == "urn:overlord:problem:refused"
        facts = (await asking.get("/ledger", limit=1000))["items"]
        answered = [fact for fact in facts if fact["name"] == "decision_answered"]
        assert [fact["actor"] for fact in answered] == ["web:ci"]


async def test_jobs_are_found_by_words_in_the_repositories_of_a_token() -> None:
    async with made_page() as page, program(page) as asking:
        await _works(asking)
        found = await asking.get("/queries/search", words="subtracts", state="in_review", space=REPO)
        assert [job["id"] for job in found["jobs"]] == [1]
        async with program(page, "mine", AccessRight.READ, (REPO,)) as mine:
            assert (await mine.get("/queries/search", words="subtracts", space=REPO))["jobs"] == found["jobs"]
            await mine.get("/queries/search", 403, words="subtracts")
        async with program(page, "theirs", AccessRight.READ, (OTHER,)) as theirs:
            await theirs.get("/queries/search", 404, words="subtracts", space=REPO)


async def test_a_key_belongs_to_one_request_of_one_token() -> None:
    async with made_page() as page, program(page) as one, program(page, "other") as other:
        headers = {"idempotency-key": "k"}
        await one.give("pause", headers=headers)
        said = await one.give("resume", 422, headers=headers)
        assert said["type"] == "urn:overlord:problem:key-used"
        await other.give("resume", headers=headers)
        page.world.clock.move(24 * 3600 + 1)
        assert (await one.give("pause", headers=headers))["is_replayed"] is False


async def test_a_secret_is_answered_once_and_kept_nowhere() -> None:
    async with made_program() as asking:
        headers = {"idempotency-key": "k"}
        made = await asking.give("create-token", name="second", right="act", days=3, headers=headers)
        again = await asking.give("create-token", name="second", right="act", days=3, headers=headers)
        assert made["secret"].startswith("ovl_") and again["secret"] is None
        kept = asking.page.world.overlord.parts.home.database.read_bytes()
        assert made["secret"].encode() not in kept
        async with httpx.AsyncClient(
            base_url=asking.page.address, headers={"authorization": f"Bearer {made['secret']}"}
        ) as second:
            me = (await second.get(f"{PREFIX}/me")).json()
        assert me == {"actor": "web:second", "right": "act", "spaces": []}


async def test_work_that_is_asked_for_is_answered_with_what_became_of_it() -> None:
    async with made_program() as asking:
        number = await asking.page.world.issue("add() subtracts", label="")
        said = await asking.give("work", issue=f"#{number}")
        assert said["is_under_way"] and said["work_request"] == 1
        await asking.page.world.settle()
        waiting = asyncio.create_task(asking.give("work", 409, issue="#999", headers={"prefer": "wait=30"}))
        while not waiting.done():
            await asking.page.world.settle()
        assert "999" in (await waiting)["detail"]


async def test_an_issue_that_is_asked_for_is_answered_with_its_number() -> None:
    async with made_program() as asking:
        said = await asking.give("build", repository=REPO, requirement="add() adds")
        assert said["text"] and said["is_under_way"] and said["issue_request"] == 1
        await asking.page.world.settle()
        assert [issue.title for issue in asking.page.world.forge.issues(REPO)] == ["add() adds"]
        missing = await asking.give("build", 400, repository=REPO)
        assert "Say what is to be built" in missing["detail"]
        waiting = asyncio.create_task(asking.give("init", review=True, headers={"prefer": "wait=30"}))
        while not waiting.done():
            await asking.page.world.settle()
        assert (await waiting)["text"].startswith(f"{REPO}#2 is open for it.")


async def test_a_jobs_addresses_show_all_of_it() -> None:
    async with made_program() as asking:
        await _works(asking)
        [line] = (await asking.get("/jobs"))["items"]
        assert (line["id"], line["space"], line["title"]) == (1, REPO, "add() subtracts")
        whole = await asking.get("/jobs/1")
        assert whole == await asking.get("/queries/job", job="1")
        turns = await asking.get("/jobs/1/transcript")
        assert turns["total"] == len(turns["items"]) and turns["items"][0]["exchange"]["calls"]
        changed = await asking.get("/jobs/1/diff")
        assert [file["path"] for file in changed["files"]] == ["calc.py"]
        assert "+    return a + b" in changed["diff"]
        judged = await asking.get("/jobs/1/checks")
        assert judged["evaluations"][-1]["checks"]
        for item in await asking.get("/jobs/1/evidence"):
            found = await asking.client.get(f"{PREFIX}/jobs/1/evidence/{item['sha256']}")
            assert found.status_code == 200 and len(found.content) == item["size"]
        for path in ("/jobs/2", "/jobs/1/evidence/x", "/jobs/x/diff", "/nothing"):
            assert (await asking.get(path, 404))["status"] == 404


async def test_a_list_goes_on_where_its_cursor_says_and_no_other_list_does() -> None:
    async with made_program() as asking:
        for title in ("one", "two", "three"):
            await _asks(asking, title)
        first = await asking.get("/jobs", limit=2)
        rest = await asking.get("/jobs", limit=2, cursor=first["next"])
        assert [job["title"] for job in first["items"] + rest["items"]] == ["three", "two", "one"]
        assert rest["next"] is None
        for path, more in (("/ledger", {}), ("/jobs", {"state": "waiting"}), ("/jobs/1/transcript", {})):
            said = await asking.get(path, 400, cursor=first["next"], **more)
            assert (said["field"], "another list" in said["detail"]) == ("cursor", True)
        for made_by_hand in ("x", "WyIiLDFd", "é", "A" * 10_000, "bnVsbA"):
            assert (await asking.get("/jobs", 400, cursor=made_by_hand))["field"] == "cursor"


async def test_a_page_of_the_ledger_is_followed_to_its_end_and_beyond() -> None:
    async with made_program() as asking:
        await _asks(asking)
        seen, cursor = list[int](), dict[str, Any]()
        while True:
            shown = await asking.get("/ledger", limit=3, **cursor)
            seen += [fact["seq"] for fact in shown["items"]]
            cursor = {"cursor": shown["next"]}
            if shown["is_last"]:
                break
        assert seen == list(range(1, len(seen) + 1))
        await asking.give("pause")
        [fact] = (await asking.get("/ledger", limit=3, **cursor))["items"]
        assert fact["name"] == "paused" and fact["actor"] == "web:ci"


@pytest.mark.parametrize("right", list(AccessRight))
async def test_each_right_may_what_it_says(right: AccessRight) -> None:
    async with made_program(right) as asking:
        await asking.get("/queries/status")
        may = list(AccessRight).index(right)
        await asking.give("pause", 200 if may >= 1 else 403)
        await asking.give("create-token", 200 if may >= 2 else 403, name="x")
        await asking.get("/queries/tokens", 200 if may >= 2 else 403)
        await asking.get("/views/tokens", 200 if may >= 2 else 403)


async def test_a_token_of_another_repository_does_not_learn_what_there_is() -> None:
    async with made_program(AccessRight.ACT, (OTHER,)) as asking:
        await _works(asking)
        assert (await asking.get("/jobs"))["items"] == []
        assert (await asking.get("/ledger"))["items"] == []
        there = [
            await asking.get(f"/jobs/{number}{rest}", 404)
            for number in (1, 2)
            for rest in ("", "/diff", "/checks", "/evidence", "/transcript")
        ]
        for path in ("/queries/why", "/queries/job", "/views/job"):
            there += [await asking.get(path, 404, job=number) for number in ("1", "2")]
        there += [await asking.give("stop", 404, job=number, reason="mine") for number in ("1", "2")]
        assert len({said["detail"] for said in there}) == 1, "what is not theirs is told as what is not there"
        await asking.get("/queries/status", 403)
        await asking.get("/health", 403)


async def test_who_has_no_token_that_counts_is_told_so_and_nothing_else() -> None:
    async with made_program() as asking:
        await _asks(asking)
        for headers in ({}, {"authorization": "Bearer ovl_x"}, {"authorization": f"Basic {asking.token}"}):
            async with httpx.AsyncClient(base_url=asking.page.address, headers=headers) as stranger:
                found = await stranger.get(f"{PREFIX}/queries/status")
            assert found.status_code == 401 and found.headers["www-authenticate"].startswith("Bearer")
            assert found.headers["content-type"] == "application/problem+json"
        cookie = await asking.page.client.get(f"{PREFIX}/queries/status")
        assert cookie.status_code == 401, "a browser's cookie is for the page alone"
        parts = asking.page.world.overlord.parts
        await parts.database.write(
            Failpoint.ACCESS_REVOKED,
            lambda c: access.revoke(c, "ci", actor="cli:me", at=asking.page.world.clock.now()),
        )
        await asking.get("/queries/status", 401)


async def test_every_address_asks_for_a_token() -> None:
    async with made_page() as page, httpx.AsyncClient(base_url=page.address) as stranger:
        described = (await stranger.get(f"{PREFIX}/openapi.json")).json()
        asked = [
            (method, path.replace("{number}", "1").replace("{digest}", "x"))
            for path, item in described["paths"].items()
            for method in item
        ]
        codes = {(await stranger.request(method.upper(), path)).status_code for method, path in asked}
        assert len(asked) > 60 and codes == {401}


async def test_wrong_tokens_are_tried_ten_times_a_minute_and_a_right_one_comes_in() -> None:
    async with made_program() as asking:
        async with httpx.AsyncClient(
            base_url=asking.page.address, headers={"authorization": "Bearer ovl_no"}
        ) as stranger:
            codes = [(await stranger.get(f"{PREFIX}/me")).status_code for _ in range(11)]
        assert codes == [401] * 10 + [429]
        await asking.get("/me")


async def test_the_owner_of_the_home_needs_no_token_but_their_own() -> None:
    async with made_page() as page:
        headers = {"authorization": f"Bearer {page.token}"}
        async with httpx.AsyncClient(base_url=page.address, headers=headers) as owner:
            me = (await owner.get(f"{PREFIX}/me")).json()
            other_name = await owner.get(f"{PREFIX}/me", headers={"host": "evil.example"})
        assert me["right"] == "admin" and other_name.status_code == 421


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ("", 400, "job"),
        ("{", 400, None),
        ("[]", 400, None),
        ("[" * 50_000, 400, None),
        ('{"job": "1"}', 400, "job"),
        ('{"arguments": {"job": {"a": 1}}}', 400, "job"),
        ('{"arguments": {"job": true}}', 400, "job"),
        ('{"arguments": {"job": "one"}}', 400, "job"),
        ('{"arguments": {"job": "1", "space": "x"}}', 400, "space"),
        ('{"arguments": []}', 400, "arguments"),
        ('{"arguments": {"job": "99"}}', 404, None),
        ('{"arguments": {"job": "99", "reason": "\\ud800"}}', 400, None),
        (f'{{"arguments": {{"job": "{"x" * 200_000}"}}}}', 413, None),
    ],
)
async def test_a_body_that_is_not_understood_changes_nothing(
    body: str, status: int, field: str | None
) -> None:
    async with made_program() as asking:
        headers = {"content-type": "application/json"}
        found = await asking.client.post(f"{PREFIX}/verbs/stop", content=body, headers=headers)
        said = found.json()
        assert (found.status_code, said.get("field")) == (status, field), said
        assert said["detail"] and "x" * 100 not in said["detail"]
        assert (await asking.get("/ledger"))["is_last"]


async def test_a_form_or_a_wrong_method_is_refused_as_a_problem() -> None:
    async with made_program() as asking:
        form = await asking.client.post(f"{PREFIX}/verbs/pause", data={"space": "x"})
        assert (form.status_code, form.json()["type"]) == (415, "urn:overlord:problem:not-understood")
        wrong = await asking.client.post(f"{PREFIX}/queries/status")
        assert wrong.status_code == 405 and set(wrong.headers["allow"].split(", ")) == {"GET", "HEAD"}
        unknown = await asking.get("/queries/status", 400, nothing="1")
        assert unknown["field"] == "nothing"
        twice = await asking.client.get(f"{PREFIX}/jobs?limit=1&limit=2")
        assert twice.status_code == 400


async def test_an_unchanged_answer_is_not_sent_again() -> None:
    async with made_program() as asking:
        first = await asking.client.get(f"{PREFIX}/queries/spaces")
        again = await asking.client.get(
            f"{PREFIX}/queries/spaces", headers={"if-none-match": first.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")


async def test_each_view_is_sent_whole_and_read_as_it_was() -> None:
    async with made_program() as asking:
        await _works(asking)
        for path in ("status", "trends", "spaces", "job?job=1", "why?job=1", "cost", "briefing"):
            found = await asking.client.get(f"{PREFIX}/views/{path}")
            assert found.status_code == 200
            assert view_of(found.json()).parts


async def test_its_description_describes_what_it_answers() -> None:
    async with made_program() as asking:
        await _works(asking)
        described = (await asking.client.get(f"{PREFIX}/openapi.json", headers={})).json()
        for path, item in described["paths"].items():
            content = item.get("get", {"responses": {"200": {"content": {}}}})["responses"]["200"]["content"]
            if "application/json" not in content:
                continue
            schema = content["application/json"]["schema"]
            needed = {
                p["name"]: "1" for p in item["get"]["parameters"] if p["required"] and p["in"] == "query"
            }
            found = await asking.client.get(path.replace("{number}", "1"), params=needed)
            if found.status_code == 200:
                whole = {**schema, "components": described["components"]}
                jsonschema_rs.validator_for(whole).validate(found.json())
        assert json.dumps(described).count(asking.token) == 0
