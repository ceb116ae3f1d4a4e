"""The GitHub adapter when things are not as they should be: limits, lost answers, odd payloads, and no leaks."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from structlog.testing import capture_logs

from minion.protocol import Comment
from overlord.adapters.github.client import GitHubClient
from overlord.adapters.github.etag import CachedAnswer, EtagStore
from overlord.adapters.github.forge import GitHubForge
from overlord.adapters.github.operation import OPERATIONS
from overlord.adapters.github.relation import BLOCKERS, SUB_ISSUES
from overlord.adapters.github.requests import READ_ATTEMPTS
from overlord.embedded.fault import LIMIT_WAIT_S
from overlord.embedded.forge.api import operation
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.errors import (
    ExternalServiceError,
    ForgeMissing,
    ForgeMoved,
    ForgeRefused,
    ForgeUnavailable,
    SettingsError,
)
from tests.adapters.github_calls import READS, REPO, WRITES, answered, arrange_relations, failure


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[EmbeddedForge]:
    forge = EmbeddedForge(tmp_path / "forge")
    await forge.create_repository(REPO, files={"calc.py": "x = 1\n"})
    await forge.open_issue(REPO, "One", labels=["ready"])
    yield forge
    forge.close()


@pytest.fixture
async def forge(people: EmbeddedForge) -> AsyncIterator[GitHubForge]:
    async with people.serve() as url:
        forge = GitHubForge.with_token(people.token, base_url=url, retry_wait_s=0)
        yield forge
        await forge.close()


OF_OURSELVES = {
    *("users/get-authenticated", "rate-limit/get", "issues/list-labels-for-repo", "issues/create-label")
}
"""Tried in `test_github_standing.py`."""
MEANING: dict[str, tuple[type[ExternalServiceError], bool]] = {
    "401": (ForgeRefused, False),
    "403": (ForgeRefused, False),
    "403-rate-limit": (ForgeUnavailable, True),
    "secondary-limit": (ForgeUnavailable, True),
    "404": (ForgeMissing, False),
    "409": (ForgeRefused, False),
    "410": (ForgeMissing, False),
    "422": (ForgeRefused, False),
    "429": (ForgeUnavailable, True),
    "500": (ForgeUnavailable, False),
    "502-html": (ForgeUnavailable, False),
    "503": (ForgeUnavailable, True),
    "reset": (ForgeUnavailable, False),
    "bad-json": (ForgeUnavailable, False),
}
"""Fault → the exception it becomes, and whether that says when to come back."""
NO_FAILURE = {
    ("checks/list-for-ref", "403"),
    *(("actions/download-job-logs-for-workflow-run", kind) for kind in ("403", "404", "410")),
    *((lists, kind) for lists in (SUB_ISSUES, BLOCKERS) for kind in ("404", "410")),
}
"""Tried in `test_github_review.py` and `test_github_relation.py`."""


def test_the_embedded_forge_offers_what_we_call_and_nothing_more() -> None:
    ours = {name: (method, re.sub(r"\{\?.*\}$", "", path)) for name, (method, path) in OPERATIONS.items()}
    theirs = {operation.name: (operation.method, operation.template) for operation in operation.OPERATIONS}
    assert ours == theirs


def test_every_operation_of_the_forge_is_tried_below() -> None:
    asked = {name for name in OPERATIONS if not name.startswith("apps/")}
    assert {*READS, *WRITES} == asked - OF_OURSELVES


@pytest.mark.parametrize("operation", [*READS, *WRITES])
async def test_every_fault_of_every_operation_is_translated(
    people: EmbeddedForge, forge: GitHubForge, operation: str
) -> None:
    ask = (READS | WRITES)[operation]
    await arrange_relations(people)
    for kind, (expected, says_when) in MEANING.items():
        said_twice = issubclass(expected, ForgeRefused)
        times = READ_ATTEMPTS if operation in READS and not said_twice else 1 + said_twice
        if (operation, kind) in NO_FAILURE:
            continue
        people.fail(operation, kind=kind, times=times)
        error = await failure(ask(forge))
        people.wire.faults.pending.clear()
        assert isinstance(error, expected), (kind, error)
        assert (getattr(error, "retry_after_s", None) is not None) == says_when, kind
        assert "\n" not in str(error)
        assert error.__cause__ is None


@pytest.mark.parametrize("kind", ["401", "403", "404", "409", "422"])
async def test_a_refusal_counts_when_it_is_said_twice(
    people: EmbeddedForge, forge: GitHubForge, kind: str
) -> None:
    people.fail("issues/create-comment", kind=kind)
    before = len(people.comments(REPO, 1))
    await forge.add_comment(REPO, 1, "Hello")
    assert len(people.comments(REPO, 1)) == before + 1


async def test_a_change_is_never_sent_twice(people: EmbeddedForge, forge: GitHubForge) -> None:
    for kind in ("500", "reset-after", "bad-json"):
        people.requests.clear()
        people.fail("issues/create-comment", kind=kind)
        await failure(forge.add_comment(REPO, 1, kind))
        assert len(people.requests) == 1
    assert [comment.body for comment in people.comments(REPO, 1)] == ["reset-after", "bad-json"]


async def test_a_read_is_repeated_until_there_is_an_answer(people: EmbeddedForge, forge: GitHubForge) -> None:
    people.fail("issues/get", kind="502-html")
    people.fail("issues/get", kind="reset")
    assert (await forge.issue(REPO, 1)).issue.title == "One"
    assert [seen.status for seen in people.requests] == [502, 0, 200]


async def test_a_limit_is_not_hammered_and_says_when_to_come_back(
    people: EmbeddedForge, forge: GitHubForge
) -> None:
    waits = {}
    for kind in ("403-rate-limit", "secondary-limit", "429", "503"):
        people.requests.clear()
        people.fail("issues/get", kind=kind)
        error = await failure(forge.issue(REPO, 1))
        assert isinstance(error, ForgeUnavailable)
        assert len(people.requests) == 1
        waits[kind] = error.retry_after_s
    assert waits["secondary-limit"] == waits["429"] == waits["503"] == LIMIT_WAIT_S
    assert 0 < (waits["403-rate-limit"] or 0) <= 3600


@pytest.mark.parametrize(("kind", "happened"), [("timeout-before", False), ("timeout-after", True)])
async def test_a_call_that_is_not_answered_ends(people: EmbeddedForge, kind: str, happened: bool) -> None:
    async with people.serve() as url:
        forge = GitHubForge.with_token(people.token, base_url=url, retry_wait_s=0, timeout_s=0.3)
        people.fail("issues/create-comment", kind=kind)
        error = await failure(forge.add_comment(REPO, 1, "Hello"))
        await forge.close()
    assert isinstance(error, ForgeUnavailable)
    assert bool(people.comments(REPO, 1)) is happened


async def test_nobody_at_the_address_is_unavailable_and_said_in_one_plain_line(unused_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}"
    forge = GitHubForge.with_token("t", base_url=url, retry_wait_s=0)
    with capture_logs() as lines:
        error = await failure(forge.repository(REPO))
        await failure(forge.repository(REPO))
    await forge.close()
    assert isinstance(error, ForgeUnavailable)
    assert str(error) == (
        f"GET /repos/{REPO}: 127.0.0.1:{unused_tcp_port} cannot be reached (Connection refused);"
        " check the network, firewall and proxy (ConnectError)"
    )
    [line] = lines
    assert (line["event"], line["trouble"], line["forge"]) == ("forge_does_not_answer", str(error), url)
    assert (line["space"], line["again_in_s"]) == (REPO, 0)


async def test_once_the_forge_has_answered_its_next_silence_is_said_too(
    people: EmbeddedForge, forge: GitHubForge
) -> None:
    with capture_logs() as lines:
        for _ in range(2):
            people.fail("issues/get", kind="reset", times=2)
            await forge.issue(REPO, 1)
    assert [line["event"] for line in lines] == ["forge_does_not_answer"] * 2
    assert {line["trouble"] for line in lines} == {
        f"GET /repos/{REPO}/issues/1: the connection broke (RemoteProtocolError)"
    }


async def test_every_page_is_followed_and_one_that_fails_fails_the_listing(
    people: EmbeddedForge, forge: GitHubForge
) -> None:
    for number in range(2, 232):
        await people.open_issue(REPO, f"Issue {number}", labels=["ready"])
    listed = await forge.issues_labelled(REPO, "ready")
    assert [state.issue.number for state in listed] == list(range(1, 232))
    people.fail("issues/list-for-repo", kind="502-html", after=2, times=READ_ATTEMPTS)
    assert isinstance(await failure(forge.issues_labelled(REPO, "ready")), ForgeUnavailable)


async def test_asking_again_costs_nothing_and_sees_every_change(
    people: EmbeddedForge, forge: GitHubForge
) -> None:
    first = await forge.issues_labelled(REPO, "ready")
    assert await forge.issues_labelled(REPO, "ready") == first
    await people.open_issue(REPO, "Two", labels=["ready"])
    assert len(await forge.issues_labelled(REPO, "ready")) == 2
    assert [seen.status for seen in people.requests] == [200, 304, 200]


def test_the_etag_store_forgets_what_was_used_least() -> None:
    store = EtagStore(max_bytes=10)
    for name in ("a", "b"):
        store.put(name, CachedAnswer(etag=name, headers={}, body=b"12345"))
    assert store.get("a")
    store.put("c", CachedAnswer(etag="c", headers={}, body=b"1234"))
    assert (store.get("b"), len(store)) == (None, 2)
    store.put("d", CachedAnswer(etag="d", headers={}, body=b"12345678901"))
    assert store.get("d") is None
    store.put("a", CachedAnswer(etag="a2", headers={}, body=b"123456"))
    kept = store.get("a")
    assert kept is not None
    assert (kept.etag, len(store)) == ("a2", 2)


async def test_the_token_is_in_no_address_log_exception_or_repr(
    people: EmbeddedForge, forge: GitHubForge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    remote = await forge.remote(REPO)
    texts = [repr(remote), repr(forge), repr(vars(forge)), repr(vars(forge._client))]
    for kind in MEANING:
        people.fail("issues/get", kind=kind, times=READ_ATTEMPTS)
        error = await failure(forge.issue(REPO, 1))
        people.wire.faults.pending.clear()
        texts += [repr(error), repr(error.__context__)]
    texts += [seen.path for seen in people.requests] + [record.getMessage() for record in caplog.records]
    assert not [text for text in texts if people.token in text]


@pytest.mark.parametrize("token", ["", "  ", "two words", "ghp_\nx: y", "ghp_é"])
def test_what_cannot_be_a_token_is_refused_at_once(token: str) -> None:
    with pytest.raises(SettingsError, match="GITHUB_TOKEN"):
        GitHubForge.with_token(token)


@pytest.mark.parametrize(
    ("api", "web", "graphql"),
    [
        ("https://api.github.com", "https://github.com", "https://api.github.com/graphql"),
        ("https://ghe.example/api/v3/", "https://ghe.example", "https://ghe.example/api/graphql"),
        ("https://api.corp.ghe.com", "https://corp.ghe.com", "https://api.corp.ghe.com/graphql"),
        ("http://127.0.0.1:8123", "http://127.0.0.1:8123", "http://127.0.0.1:8123/graphql"),
        ("http://localhost:8123/", "http://localhost:8123", "http://localhost:8123/graphql"),
    ],
)
async def test_addresses_follow_from_the_apis(api: str, web: str, graphql: str) -> None:
    client = GitHubClient(api)
    assert (client.web_url, client.graphql_url) == (web, graphql)
    await client.close()


async def test_a_proxy_of_the_environment_is_not_used_for_loopback(
    people: EmbeddedForge, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_tcp_port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with people.serve() as url:
        forge = GitHubForge.with_token(people.token, base_url=url)
        assert (await forge.repository(REPO)).default_branch == "main"
        await forge.close()


# An external service that answers what we tell it to


ISSUE = {
    "number": 1,
    "title": "One",
    "body": None,
    "user": None,
    "labels": ["plain", {"name": "full"}],
    "state": "open",
    "created_at": "2026-01-01T00:00:00Z",
    "something_new": {"deep": 1},
}
PULL = {
    "number": 7,
    "node_id": "PR_7",
    "html_url": "https://github.com/demo/calc/pull/7",
    "state": "closed",
    "title": "T",
    "body": None,
    "merged_at": "2026-01-01T00:00:00Z",
    "head": {"ref": "topic", "sha": "abc", "repo": {"full_name": "Demo/Calc"}},
}


async def test_deleted_accounts_missing_bodies_and_new_fields_are_no_trouble() -> None:
    state: Any = await answered(lambda _: JSONResponse(ISSUE), READS["issues/get"])
    assert (state.issue.body, state.issue.author, state.issue.labels) == ("", "ghost", ("plain", "full"))
    assert state.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    comments = [{"id": 5, "body": None, "user": None}]
    assert await answered(lambda _: JSONResponse(comments), READS["issues/list-comments"]) == [
        (5, Comment(author="ghost", association="NONE", body=""))
    ]


async def test_a_branch_of_that_name_in_a_fork_is_not_ours() -> None:
    fork = PULL | {"number": 8, "head": {"ref": "topic", "sha": "1", "repo": {"full_name": "demo/fork"}}}
    gone = PULL | {"number": 9, "head": {"ref": "topic", "sha": "1", "repo": None}}
    other = PULL | {"number": 10, "head": {"ref": "Topic", "sha": "1", "repo": {"full_name": "demo/calc"}}}
    pulls: Any = await answered(lambda _: JSONResponse([gone, fork, other, PULL]), READS["pulls/list"])
    assert [(pull.number, pull.merged, pull.open) for pull in pulls] == [(7, True, False)]


@pytest.mark.parametrize("answer", [{}, [], None, "text", ISSUE | {"number": "one"}])
async def test_an_answer_of_another_shape_is_not_believed(answer: object) -> None:
    error = await failure(answered(lambda _: JSONResponse(answer), READS["issues/get"]))
    assert isinstance(error, ForgeUnavailable)
    error = await failure(answered(lambda _: JSONResponse({"items": 3}), READS["issues/list-for-repo"]))
    assert isinstance(error, ForgeUnavailable)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b""])
@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=klingon", "text/html"])
async def test_bytes_that_are_no_json_are_not_believed(content: bytes, kind: str) -> None:
    error = await failure(answered(lambda _: Response(content, media_type=kind), READS["issues/get"]))
    assert isinstance(error, ForgeUnavailable)


async def test_a_repository_that_moved_is_named() -> None:
    error = await failure(answered(lambda _: RedirectResponse("/elsewhere", 301), READS["repos/get"]))
    assert isinstance(error, ForgeRefused)
    assert "OVERLORD_REPOS" in str(error)


@pytest.mark.parametrize("status", [301, 308])
@pytest.mark.parametrize(
    ("location", "to"),
    [
        ("/repos/demo/other/issues/3", "demo/other#3"),
        ("", ""),
        ("/repos/demo/other", "{url}/repos/demo/other"),
        ("/repos/demo/ot%0Aher/issues/3", "{url}/repos/demo/ot%0Aher/issues/3"),
        ("/repositories/7/issues/3", "{url}/repositories/7/issues/3"),  # which has moved on in turn
    ],
)
async def test_an_issue_that_was_transferred_says_where_it_is(status: int, location: str, to: str) -> None:
    asked: list[str] = []

    def moved(request: Request) -> Response:
        asked.append(str(request.base_url).rstrip("/"))
        return Response(status_code=status, headers={"location": location} if location else {})

    error = await failure(answered(moved, READS["issues/get"]))
    assert isinstance(error, ForgeMoved)
    assert error.to == to.replace("{url}", asked[0])
    assert error.__cause__ is None


@pytest.mark.parametrize("url", [None, "", "http://[", "https://github.com/repos/demo/other/issues/3"])
async def test_a_new_place_that_is_told_as_no_address_of_the_api_is_not_believed(url: str | None) -> None:
    def moved(request: Request) -> Response:
        if request.url.path.startswith("/repositories/"):
            return JSONResponse(ISSUE | {"url": url})
        return RedirectResponse("/repositories/7/issues/3", 301)

    error = await failure(answered(moved, READS["issues/get"]))
    assert isinstance(error, ForgeMoved)
    assert error.to.endswith("/repositories/7/issues/3")


@pytest.mark.parametrize("operation", ["issues/list-comments", "issues/add-labels", "issues/list-for-repo"])
async def test_only_an_issue_itself_is_said_to_have_moved(operation: str) -> None:
    moved = RedirectResponse("/repositories/7/issues/3", 301)
    error = await failure(answered(lambda _: moved, (READS | WRITES)[operation]))
    assert isinstance(error, ForgeRefused) and not isinstance(error, ForgeMissing)


@asynccontextmanager
async def another_host(port: int) -> AsyncIterator[asyncio.Event]:
    """Somebody who notes whether they are connected to."""
    connected = asyncio.Event()

    async def listen(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", port):
        yield connected


async def test_an_issue_is_not_followed_to_another_host(unused_tcp_port: int) -> None:
    place = f"http://127.0.0.1:{unused_tcp_port}/repositories/7/issues/3"
    async with another_host(unused_tcp_port) as connected:
        error = await failure(answered(lambda _: RedirectResponse(place, 301), READS["issues/get"]))
    assert isinstance(error, ForgeMoved)
    assert error.to == place
    assert not connected.is_set()


async def test_a_next_page_on_another_host_is_not_followed(unused_tcp_port: int) -> None:
    link = {"link": f'<http://127.0.0.1:{unused_tcp_port}/repos/demo/calc/issues?page=2>; rel="next"'}
    async with another_host(unused_tcp_port) as connected:
        error = await failure(
            answered(lambda _: JSONResponse([ISSUE], headers=link), READS["issues/list-for-repo"])
        )
    assert isinstance(error, ForgeUnavailable)
    assert not connected.is_set()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("NOT_FOUND", ForgeMissing), ("FORBIDDEN", ForgeRefused), ("RATE_LIMITED", ForgeUnavailable)],
)
async def test_graphql_refuses_with_a_200(kind: str, expected: type[ExternalServiceError]) -> None:
    body = {"data": None, "errors": [{"type": kind, "message": "No\x1b[31m."}]}
    error = await failure(answered(lambda _: JSONResponse(body), WRITES["graphql"]))
    assert type(error) is expected
    assert "\x1b" not in str(error)
