"""The GitHub adapter on reviews, checks and logs when answers are odd, and when a log's address is not to be trusted."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from overlord.adapters.github import log as github_log
from overlord.adapters.github.forge import GitHubForge
from overlord.adapters.github.log import MOST_BYTES
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.repositories.forge import FailedCheck, Review, ReviewComment, ReviewState
from overlord.embedded.server import serve
from overlord.errors import ForgeRefused, ForgeUnavailable

REPO = RepositoryName("demo/calc")
SHA = Sha("0" * 40)
AT = datetime(2026, 1, 1, tzinfo=UTC)
Respond = Callable[[Request], Response]


@asynccontextmanager
async def far_end(respond: Respond) -> AsyncIterator[str]:
    """A server that answers what it is told to."""

    async def everything(request: Request) -> Response:
        return respond(request)

    async with serve(Starlette(routes=[Route("/{path:path}", everything)])) as url:
        yield url


async def answered(respond: Respond, ask: Callable[[GitHubForge], Awaitable[Any]]) -> Any:
    async with far_end(respond) as url:
        forge = GitHubForge.with_token("ghp_secret", base_url=url, retry_wait_s=0)
        try:
            return await ask(forge)
        finally:
            await forge.close()


async def log_from(respond: Respond, *, limit_bytes: int = 100, scheme: str = "http") -> str:
    """A log whose address leads to a server of its own."""
    async with far_end(respond) as url:
        address = url.replace("http", scheme, 1) + "/signed?key=1"
        found: str = await answered(
            lambda _: RedirectResponse(address, 302),
            lambda forge: forge.check_log(REPO, 1, limit_bytes=limit_bytes),
        )
        return found


# Reviews

REVIEW = {
    "id": 1,
    "user": None,
    "body": None,
    "state": "COMMENTED",
    "commit_id": None,
    "submitted_at": "2026-01-01T00:00:00Z",
    "something_new": {"deep": 1},
}
REMARK = {
    "id": 5,
    "user": {"login": "helpful[bot]"},
    "path": "a.txt",
    "line": 3,
    "side": "RIGHT",
    "body": "Why?",
    "created_at": "2026-01-01T00:00:00Z",
}


async def test_a_review_that_is_not_submitted_or_of_an_unknown_kind_is_left_out() -> None:
    pending = {"id": 2, "user": {"login": "me"}, "body": "Draft", "state": "PENDING"}
    unknown = REVIEW | {"id": 3, "state": "SHRUGGED"}
    found = await answered(
        lambda _: JSONResponse([REVIEW, pending, unknown]), lambda forge: forge.reviews(REPO, 1)
    )
    assert found == [
        Review(id=1, author="ghost", is_bot=False, state=ReviewState.COMMENTED, body="", head_sha="", at=AT)
    ]


async def test_a_comment_has_no_line_where_the_head_has_none() -> None:
    outdated = REMARK | {"id": 6, "line": None, "in_reply_to_id": 5, "user": None}
    removed = REMARK | {"id": 7, "side": "LEFT"}
    on_file = {name: value for name, value in REMARK.items() if name not in ("line", "side")} | {"id": 8}
    found = await answered(
        lambda _: JSONResponse([REMARK, outdated, removed, on_file]),
        lambda forge: forge.review_comments(REPO, 1),
    )
    assert found[0] == ReviewComment(
        id=5, thread=5, author="helpful[bot]", is_bot=True, path="a.txt", line=3, body="Why?", at=AT
    )
    assert [(item.id, item.thread, item.line, item.author) for item in found[1:3]] == [
        (6, 5, None, "ghost"),
        (7, 7, None, "helpful[bot]"),
    ]
    assert found[3].line is None


# Checks


async def checks(runs: list[dict[str, Any]], statuses: list[dict[str, Any]] | None = None) -> Any:
    def respond(request: Request) -> Response:
        if request.url.path.endswith("/check-runs"):
            return JSONResponse({"total_count": len(runs), "check_runs": runs})
        return JSONResponse({"state": "pending", "statuses": statuses or []})

    return await answered(respond, lambda forge: forge.checks_of(REPO, SHA, but=("ours",)))


RUN = {
    "id": 1,
    "name": "build",
    "status": "completed",
    "conclusion": "failure",
    "app": {"slug": "github-actions"},
}


async def test_a_check_run_of_nobody_that_says_nothing_is_no_trouble() -> None:
    for app in (None, {}, {"slug": None}):
        found = await checks([RUN | {"app": app, "output": None}])
        assert found.failed == (FailedCheck(name="build", summary=""),)
    found = await checks([RUN | {"output": {"title": None, "summary": "x" * 5_000}}])
    assert found.failed == (FailedCheck(name="build", summary="x" * 2_000, log=1),)


@pytest.mark.parametrize("status", ["queued", "in_progress", "requested", "pending", "something_new"])
async def test_what_goes_on_is_pending_and_has_not_failed(status: str) -> None:
    found = await checks([RUN | {"status": status, "conclusion": None}])
    assert (found.is_pending, found.failed) == (True, ())


async def test_what_waits_for_a_person_is_not_waited_for() -> None:
    found = await checks([RUN, RUN | {"id": 2, "status": "waiting", "conclusion": None}])
    assert (found.is_pending, len(found.failed)) == (False, 1)


@pytest.mark.parametrize("conclusion", ["failure", "timed_out", "startup_failure"])
async def test_conclusions_that_are_failures(conclusion: str) -> None:
    assert len((await checks([RUN | {"conclusion": conclusion}])).failed) == 1


@pytest.mark.parametrize(
    "conclusion",
    [*("action_required", "cancelled", "neutral", "skipped", "stale", "success", "something_new"), None],
)
async def test_conclusions_that_are_none(conclusion: str | None) -> None:
    assert (await checks([RUN | {"conclusion": conclusion}])).failed == ()


async def test_our_own_status_is_left_out() -> None:
    ours = {"context": "ours", "state": "pending", "description": None}
    theirs = {"context": "ci", "state": "failure", "description": None}
    found = await checks([], [ours, theirs])
    assert (found.is_pending, found.failed) == (False, (FailedCheck(name="ci", summary=""),))


@pytest.mark.parametrize(
    "answer", [[], None, "text", {}, {"check_runs": {}}, {"check_runs": [{"id": "one"}]}]
)
async def test_checks_of_another_shape_are_not_believed(answer: object) -> None:
    with pytest.raises(ForgeUnavailable):
        await answered(lambda _: JSONResponse(answer), lambda forge: forge.checks_of(REPO, SHA, but=()))


@pytest.mark.parametrize(("whom", "is_told"), [("personal access token", False), ("integration", True)])
async def test_a_token_that_may_never_read_check_runs_is_shown_statuses(whom: str, is_told: bool) -> None:
    def respond(request: Request) -> Response:
        if request.url.path.endswith("/check-runs"):
            return JSONResponse({"message": f"Resource not accessible by {whom}"}, 403)
        return JSONResponse({"statuses": [{"context": "ci", "state": "failure", "description": "No"}]})

    asked = answered(respond, lambda forge: forge.checks_of(REPO, SHA, but=()))
    if is_told:
        with pytest.raises(ForgeRefused):
            await asked
    else:
        assert (await asked).failed == (FailedCheck(name="ci", summary="No"),)


# Logs


async def test_nothing_of_ours_is_sent_to_where_a_log_is() -> None:
    seen: list[Request] = []

    def respond(request: Request) -> Response:
        seen.append(request)
        return Response(b"\xffThe end\n")

    assert await log_from(respond) == "\ufffdThe end\n"
    [request] = seen
    assert str(request.url).endswith("/signed?key=1")
    assert not {"authorization", "cookie", "x-github-api-version"} & {*request.headers}
    assert "ghp_secret" not in repr(request.headers)


async def test_only_the_end_of_a_log_is_kept() -> None:
    def in_pieces(_request: Request) -> Response:
        return StreamingResponse(iter([b"first ", b"second ", b"third"]))

    for limit, expected in ((5, "third"), (8, "nd third"), (100, "first second third"), (0, "")):
        assert await log_from(in_pieces, limit_bytes=limit) == expected


async def test_of_a_log_that_is_too_long_the_end_alone_is_asked_for() -> None:
    whole = b"x" * MOST_BYTES + b"The end\n"
    asked: list[str | None] = []

    def respond(request: Request) -> Response:
        begin = request.headers.get("range")
        asked.append(begin)
        if begin is None:
            return Response(whole)
        return Response(whole[int(begin.removeprefix("bytes=").removesuffix("-")) :], 206)

    assert await log_from(respond, limit_bytes=8) == "The end\n"
    assert asked == [None, f"bytes={len(whole) - 8}-"]


async def test_a_log_without_an_end_within_reach_is_none() -> None:
    def endless(_request: Request) -> Response:
        return StreamingResponse(b"x" * 65_536 for _ in range(10_000))

    assert await log_from(endless) == ""
    assert await log_from(lambda _: Response(b"x" * (MOST_BYTES + 1))) == "", "a range that is not given"


async def test_a_log_that_is_packed_is_not_unpacked() -> None:
    packed = {"content-encoding": "gzip"}
    assert await log_from(lambda _: Response(b"\x1f\x8b", headers=packed)) == ""


@pytest.mark.parametrize("status", [400, 403, 404, 410, 416])
async def test_a_log_that_is_gone_where_it_was_is_empty(status: int) -> None:
    assert await log_from(lambda _: Response(b"<Error/>", status)) == ""


@pytest.mark.parametrize("status", [403, 404, 410])
async def test_a_log_the_forge_does_not_give_is_empty(status: int) -> None:
    said = JSONResponse({"message": "No"}, status)
    assert await answered(lambda _: said, lambda forge: forge.check_log(REPO, 1, limit_bytes=9)) == ""


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_a_log_may_be_there_another_time(status: int) -> None:
    with pytest.raises(ForgeUnavailable, match=str(status)):
        await log_from(lambda _: Response(status_code=status))


async def test_one_redirect_is_followed_and_no_other() -> None:
    asked: list[str] = []

    def respond(request: Request) -> Response:
        asked.append(request.url.path)
        return RedirectResponse("/again", 302)

    assert await log_from(respond) == ""
    assert asked == ["/signed"] * 2


@pytest.mark.parametrize(
    "location",
    ["", "http://[", "http://192.0.2.1/log", "ftp://127.0.0.1/log", "file:///etc/passwd", "//"],
)
async def test_an_address_that_may_not_be_asked_is_not(location: str) -> None:
    def respond(_request: Request) -> Response:
        return Response(status_code=302, headers={"location": location} if location else {})

    assert await answered(respond, lambda forge: forge.check_log(REPO, 1, limit_bytes=9)) == ""


@pytest.mark.parametrize("forge_url", ["https://api.github.com", "https://127.0.0.1", "http://192.0.2.1"])
async def test_plain_http_is_for_a_forge_on_this_machine_alone(forge_url: str) -> None:
    asked: list[Request] = []

    def respond(request: Request) -> Response:
        asked.append(request)
        return Response(b"The end\n")

    async with far_end(respond) as url:
        there = await github_log.read_tail(f"{url}/log", forge_url=forge_url, limit_bytes=9, timeout_s=5)
        assert (there, asked) == ("", [])
        here = await github_log.read_tail(f"{url}/log", forge_url=url, limit_bytes=9, timeout_s=5)
        assert (here, len(asked)) == ("The end\n", 1)


async def test_nobody_where_a_log_is_or_no_address_is_unavailable(unused_tcp_port: int) -> None:
    gone = f"http://127.0.0.1:{unused_tcp_port}/log"
    with pytest.raises(ForgeUnavailable, match="ConnectError"):
        await answered(
            lambda _: RedirectResponse(gone, 302), lambda forge: forge.check_log(REPO, 1, limit_bytes=9)
        )
    with pytest.raises(ForgeUnavailable, match="named no address"):
        await answered(lambda _: JSONResponse({}), lambda forge: forge.check_log(REPO, 1, limit_bytes=9))
    with pytest.raises(ForgeUnavailable, match="ConnectError"):
        await log_from(lambda _: Response(b"plain"), scheme="https")
