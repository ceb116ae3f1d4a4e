"""The description covers what is called, and what does not fit it is found: in an answer, in a request, on the wire."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overlord.adapters.github.operation import OPERATIONS
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.server import cut_connection
from tests.github_openapi import regenerate
from tests.github_openapi.check import Exchange, Recorder, served, violations
from tests.github_openapi.description import described, find

ISSUE, ISSUES = "/repos/demo/calc/issues/1", "/repos/demo/calc/issues"
PULLS, LABELS = "/repos/demo/calc/pulls", "/repos/demo/calc/issues/1/labels"
LABEL = {
    "id": 1,
    "node_id": "LA_1",
    "url": "http://127.0.0.1/labels/x",
    "name": "x",
    "description": None,
    "color": "ededed",
    "default": False,
}


def asked(method: str, path: str, query: str = "", body: object = None) -> Exchange:
    """A request that was left without an answer."""
    request = b"" if body is None else json.dumps(body).encode()
    return Exchange(method=method, path=path, query=query, request=request)


def answered(status: int, body: object, *, method: str = "GET", path: str = LABELS) -> Exchange:
    return Exchange(method=method, path=path, status=status, response=json.dumps(body).encode())


def test_every_operation_that_is_called_is_described_under_its_name_and_address() -> None:
    known = {item.name: item for item in described()}
    assert known.keys() == OPERATIONS.keys() - regenerate.OUTSIDE
    for name, (method, template) in OPERATIONS.items():
        if name in regenerate.OUTSIDE:
            continue
        path, _, query = template.partition("{?")
        assert find(method, re.sub(r"\{\w+\}", "1", path)) is known[name]
        asked_for = set(query.removesuffix("}").split(",")) - {""}
        described_in_query = {item.name for item in known[name].parameters.values() if item.place == "query"}
        assert asked_for <= described_in_query, name


def test_the_kept_description_is_as_the_script_writes_it() -> None:
    text = regenerate.OUTPUT.read_text(encoding="utf-8")
    kept = json.loads(text)
    assert text == regenerate.written(kept)
    assert kept["source"]["version"] == regenerate.VERSION
    assert regenerate.VERSION in Path(__file__).with_name("README.md").read_text(encoding="utf-8")


def test_an_answer_that_fits_and_says_more_is_none_of_our_business() -> None:
    assert violations(answered(200, [LABEL | {"new": 1}], path="/repos/demo/calc/labels")) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": None}, "at $[*].name: None is not of type 'string'"),
        ({"id": "1"}, "at $[*].id: '1' is not of type 'integer'"),
        ({"url": "/labels/x"}, "at $[*].url: '/labels/x' is not a 'uri'"),
    ],
)
def test_a_field_of_an_answer_that_is_something_else_is_found(change: dict[str, Any], fault: str) -> None:
    found = violations(answered(200, [LABEL | change], path="/repos/demo/calc/labels"))
    assert found == [f"issues/list-labels-for-repo: response 200 {fault}"]


def test_a_field_that_github_always_sends_is_missed() -> None:
    without = {name: value for name, value in LABEL.items() if name != "color"}
    found = violations(answered(200, [without], path="/repos/demo/calc/labels"))
    assert found == [
        "issues/list-labels-for-repo: response 200 at $[*]: 'color' is a required property",
    ]


def test_a_time_without_a_zone_and_a_word_github_does_not_know_are_found() -> None:
    reaction = {
        "id": 1,
        "node_id": "R",
        "user": None,
        "content": "shrug",
        "created_at": "2026-01-01T00:00:00",
    }
    path = "/repos/demo/calc/issues/comments/1/reactions"
    found = violations(answered(200, reaction, method="POST", path=path))
    assert any("at $.created_at: '2026-01-01T00:00:00' is not a 'date-time'" in what for what in found)
    assert any("at $.content: 'shrug' is not one of" in what for what in found)


def test_of_several_shapes_the_one_that_was_meant_is_held_against_it() -> None:
    found = violations(answered(200, {"labels": ["x", {"id": "1"}], "milestone": {"id": 1}}, path=ISSUE))
    assert "issues/get: response 200 at $.labels[*].id: '1' is not of type 'integer'" in found
    assert "issues/get: response 200 at $.milestone: 'due_on' is a required property" in found
    assert not [what for what in found if "at $.labels[*]:" in what]


def test_refusals_are_held_against_their_description_where_there_is_one() -> None:
    assert violations(answered(404, {"message": "Not Found", "status": "404"}, path=ISSUE)) == []
    assert violations(answered(404, {"message": 1}, path=ISSUE)) == [
        "issues/get: response 404 at $.message: 1 is not of type 'string'"
    ]
    assert violations(answered(500, "Unicorn", path=ISSUE)) == []


def test_a_success_of_another_kind_and_a_body_that_should_not_be_are_found() -> None:
    assert violations(answered(202, {}, path=ISSUE)) == [
        "issues/get: response 202 is not among 200, 301, 304, 404, 410"
    ]
    reference = "/repos/demo/calc/git/refs/heads/minion/issue-1"
    assert violations(answered(204, {}, method="DELETE", path=reference)) == [
        "git/delete-ref: response 204 has a body"
    ]


def test_what_is_no_json_is_found_but_for_what_was_ordered_to_be_broken() -> None:
    broken = Exchange(method="GET", path=ISSUE, status=200, response=b"<html>")
    assert violations(broken) == ["issues/get: response 200 at $: None is not of type 'object'"]
    ordered = Exchange(method="GET", path=ISSUE, status=200, response=b'{"id": 1, "numb')
    assert violations(ordered) == []


@pytest.mark.parametrize(
    ("exchange", "fault"),
    [
        (asked("GET", ISSUES, "label=x"), "query parameter 'label' is unknown"),
        (
            asked("GET", ISSUES, "per_page=many"),
            "query parameter 'per_page' at $: 'many' is not of type 'integer'",
        ),
        (
            asked("GET", ISSUES, "direction=up"),
            "query parameter 'direction' at $: 'up' is not one of ['asc', 'desc']",
        ),
        (asked("GET", ISSUES, "owner=x"), "query parameter 'owner' is unknown"),
        (asked("GET", ISSUES, body={}), "request has a body"),
        (asked("POST", PULLS), "request has no body"),
        (asked("POST", PULLS, body={"base": "main"}), "request at $: 'head' is a required property"),
        (
            asked("POST", PULLS, body={"base": "main", "head": "b", "draft": "yes"}),
            "request at $.draft: 'yes' is not of type 'boolean'",
        ),
        (
            asked("POST", PULLS, body={"base": "main", "head": "b", "drafty": True}),
            "request at $: Additional properties are not allowed ('drafty' was unexpected)",
        ),
        (
            asked("POST", LABELS, body={"labels": [{"name": "x", "colour": "ededed"}]}),
            "request at $.labels[*]: Additional properties are not allowed ('colour' was unexpected)",
        ),
    ],
)
def test_what_github_would_not_take_or_not_know_is_found_in_a_request(exchange: Exchange, fault: str) -> None:
    assert [what.partition(": ")[2] for what in violations(exchange)] == [fault]


def test_names_with_slashes_are_part_of_their_address() -> None:
    label = find("DELETE", f"{LABELS}/in%20progress%2Fnow")
    reference = find("DELETE", "/repos/demo/calc/git/refs/heads%2Fminion/issue-1")
    assert (label and label.name, reference and reference.name) == ("issues/remove-label", "git/delete-ref")


@pytest.mark.parametrize("path", ["/graphql", "/demo/calc.git/info/refs", "/logs/1"])
def test_what_github_does_not_describe_here_is_let_pass(path: str) -> None:
    assert violations(answered(200, {}, path=path)) == []


async def test_a_wrong_answer_on_the_wire_fails_whoever_served_it_and_reaches_the_client() -> None:
    app: ASGIApp = JSONResponse({"message": 404}, 404)
    with pytest.raises(AssertionError, match=r"issues/get: response 404 at \$\.message: 404 is not"):
        async with served(app) as url, httpx.AsyncClient(base_url=url) as client:
            assert (await client.get(ISSUE)).json() == {"message": 404}


async def test_a_wrong_request_on_the_wire_fails_whoever_served_it(tmp_path: Path) -> None:
    forge = EmbeddedForge(tmp_path / "forge")
    await forge.create_repository("demo/calc", files={"a.txt": "a\n"})
    with pytest.raises(AssertionError, match="issues/create-label: request at"):
        async with served(forge) as url, httpx.AsyncClient(base_url=url) as client:
            client.headers["authorization"] = f"Bearer {forge.token}"
            await client.post("/repos/demo/calc/labels", json={"name": "x", "colour": "ededed"})
    forge.close()


async def test_a_block_that_fails_by_itself_fails_as_itself() -> None:
    with pytest.raises(LookupError):
        async with served(JSONResponse([], 404)) as url, httpx.AsyncClient(base_url=url) as client:
            await client.get(ISSUE)
            raise LookupError


async def test_what_was_sent_reaches_the_application_and_is_kept_once() -> None:
    async def echo(scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        await Response(body, 422)(scope, receive, send)

    recorder, body = Recorder(echo), {"body": "é" * 100_000}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(recorder), base_url="http://forge") as client:
        for _ in range(2):
            assert (await client.post(f"{ISSUE}/comments", json=body)).json() == body
        assert (await client.get("/elsewhere")).status_code == 422
    [kept] = recorder.exchanges
    assert json.loads(kept.request) == body
    assert kept.response == kept.request


async def test_a_request_that_was_cut_off_reaches_the_application_as_that_and_is_held_against_nobody() -> (
    None
):
    seen: list[str] = []

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        while not seen or seen[-1] != "http.disconnect":
            seen.append((await receive())["type"])

    messages: list[Message] = [
        {"type": "http.request", "body": b'{"bo', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return messages.pop(0)

    async def send(_message: Message) -> None:
        raise AssertionError("there is nobody to answer")

    recorder, path = Recorder(app), f"{ISSUE}/comments"
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    await recorder(scope, receive, send)
    assert seen == ["http.request", "http.disconnect"]
    assert list(recorder.exchanges) == []


async def test_a_request_without_an_answer_is_kept_as_that() -> None:
    async def cut(scope: Scope, receive: Receive, send: Send) -> None:
        await cut_connection(scope, receive)

    with pytest.raises(AssertionError, match=r"issues/get: query parameter 'x' is unknown$"):
        async with served(cut) as url, httpx.AsyncClient(base_url=url) as client:
            with pytest.raises(httpx.TransportError):
                await client.get(ISSUE, params={"x": 1})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True, "example": "x"}, {"type": ["string", "null"]}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"$ref": "#/components/schemas/thing"}, {"$ref": "#/$defs/thing"}),
        (
            {"oneOf": [{"type": "string", "description": "x"}], "nullable": True},
            {"anyOf": [{"anyOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        (
            {"type": "object", "properties": {"example": {"type": "string", "example": "x"}}},
            {"type": "object", "properties": {"example": {"type": "string"}}},
        ),
    ],
)
def test_openapis_schemas_become_json_schemas(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    things = {"thing": {"type": "integer", "description": "A thing", "x-github": {}}}
    answer = {"content": {"application/json": {"schema": schema}}}
    operation = {"operationId": "repos/get", "responses": {"200": answer}}
    description = regenerate.Description(
        {"paths": {"/a": {"get": operation}}, "components": {"schemas": things}}
    )
    [(_, kept)] = description.operations()
    assert kept["responses"]["200"] == expected
    assert description.shared == ({"thing": {"type": "integer"}} if "$ref" in expected else {})


def test_a_description_without_an_operation_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"does not describe .*issues/get"):
        regenerate.trimmed({"paths": {}})
