"""Whether a model can be used, asked before anything is set up: for nothing where its list says enough, else for one token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from overlord.adapters.model import OpenAIModel
from overlord.domain.model_fault import FaultKind, ModelFault
from overlord.domain.wires.wire import Wire
from overlord.embedded.model import EmbeddedModel, Refusal
from overlord.session_api.gateway import preflight
from tests.memory.model import MemoryModel
from tests.session_api.wire_endpoints import WireEndpoint, whole

K = FaultKind
NAME = "gpt-x"


async def fault_of(
    app: ASGIApp, key: str = "sk-right", *, name: str = NAME, has_key: bool = True
) -> ModelFault | None:
    return await preflight.check(
        MemoryModel(app, key),
        name,
        limit_parameter="max_tokens",
        has_key=has_key,
        redact=lambda text: text.replace("sk-wrong", "[redacted]"),
    )


@pytest.fixture
def model() -> EmbeddedModel:
    return EmbeddedModel(key="sk-right", names=[NAME])


async def test_a_list_that_names_the_model_and_wants_the_key_is_enough(model: EmbeddedModel) -> None:
    assert await fault_of(model) is None
    assert model.requests == [], "it costs nothing"


async def test_a_wrong_key_a_wrong_name_and_a_spent_account_are_told_apart(model: EmbeddedModel) -> None:
    found = [await fault_of(model, "sk-wrong"), await fault_of(model, name="gpt-y")]
    model.refusal = Refusal(status=429, message="You exceeded your quota", code="insufficient_quota")
    found.append(await fault_of(model))
    assert [fault.kind if fault else None for fault in found] == [K.KEY, K.MODEL, K.CREDIT]


class Public:
    """An endpoint that lists its models for everybody, and gives replies to who shows the key."""

    def __init__(self) -> None:
        self.completions: list[dict[str, object]] = []
        self.app = Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
            ]
        )

    async def _models(self, _request: Request) -> Response:
        return JSONResponse({"data": [{"id": NAME}]})

    async def _complete(self, request: Request) -> Response:
        self.completions.append(await request.json())
        if request.headers["authorization"] != "Bearer sk-right":
            return JSONResponse({"error": {"message": "No auth for sk-wrong"}}, 401)
        return JSONResponse({"choices": []})


async def test_a_list_for_everybody_says_nothing_of_the_key_so_one_token_is_asked_for() -> None:
    public = Public()
    assert await fault_of(public.app) is None
    assert [asked["max_tokens"] for asked in public.completions] == [1]
    assert await fault_of(public.app, "sk-wrong") == ModelFault(
        kind=K.KEY, detail="401: No auth for [redacted]"
    )
    assert await fault_of(public.app, has_key=False) is None
    assert len(public.completions) == 2, "without a key there is nothing to find out"


async def test_an_endpoint_without_a_list_is_asked_for_one_token(model: EmbeddedModel) -> None:
    async def without_list(scope: object, receive: object, send: object) -> None:
        missing = scope["path"] == "/v1/models"  # type: ignore[index]
        await (Response(status_code=404) if missing else model)(scope, receive, send)  # type: ignore[arg-type]

    assert await fault_of(without_list) is None
    assert [seen.status for seen in model.requests] == [200]


@pytest.mark.parametrize("status", [200, 404])
async def test_a_page_of_the_web_is_no_model(status: int) -> None:
    fault = await fault_of(HTMLResponse("<h1>Welcome</h1>", status))
    assert fault is not None
    assert fault.kind is K.ADDRESS


@pytest.mark.parametrize(("status", "kind"), [(429, K.BUSY), (503, K.FAILING)])
async def test_a_model_that_is_busy_is_there(model: EmbeddedModel, status: int, kind: FaultKind) -> None:
    model.refusal = Refusal(status=status, message="Later.")
    fault = await fault_of(model)
    assert fault is not None
    assert (fault.kind, fault.passes) == (kind, True)


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """An endpoint that takes every request and answers none."""
    from overlord.embedded.fault import Silence
    from overlord.embedded.server import serve

    async with serve(Silence()) as url:
        yield url


async def test_silence_is_no_sign_that_a_model_is_back() -> None:
    async with silent() as url:
        model = OpenAIModel(f"{url}/v1", "sk-right")
        fault = await preflight.check_again(
            model, NAME, limit_parameter="max_tokens", redact=str, within_s=0.2
        )
        await model.close()
    assert fault is not None
    assert fault.kind is K.UNREACHABLE


async def test_nobody_and_silence_are_named_within_seconds(unused_tcp_port: int) -> None:
    said = []
    async with silent() as url:
        for address in (f"http://127.0.0.1:{unused_tcp_port}", url):
            model = OpenAIModel(f"{address}/v1", "sk-right")
            said.append(
                await preflight.check(
                    model, NAME, limit_parameter="max_tokens", has_key=True, redact=str, list_s=0.2
                )
            )
            await model.close()
    assert [fault and (fault.kind, fault.detail) for fault in said] == [
        (K.UNREACHABLE, "connection refused"),
        (K.UNREACHABLE, "no answer within 0 s"),
    ]


ENDPOINTS: dict[Wire, dict[str, list[str]]] = {
    Wire.MESSAGES: {"content": []},
    Wire.RESPONSES: {"output": []},
    Wire.GEMINI: {"candidates": []},
}


@pytest.mark.parametrize("wire", ENDPOINTS)
async def test_an_endpoint_of_another_wire_is_tried_over_its_own(wire: Wire) -> None:
    endpoint = WireEndpoint(wire, key="sk-right", names=(NAME,))
    endpoint.will(whole(ENDPOINTS[wire]), whole({"choices": []}))

    async def found(key: str, name: str) -> FaultKind | None:
        model = OpenAIModel(f"{url}/v1", key)
        fault = await preflight.check(
            model, name, limit_parameter="max_tokens", has_key=True, redact=str, wire=wire
        )
        await model.close()
        return fault.kind if fault else None

    async with endpoint.serve() as url:
        assert await found("sk-right", NAME) is None
        assert endpoint.requests == [], "its list costs nothing"
        assert await found("sk-wrong", NAME) is K.KEY
        assert await found("sk-right", "not-listed") is None
        assert await found("sk-right", "not-listed") is K.ADDRESS, "the reply of another wire is none"
        [first, _] = endpoint.requests
        assert first.path.startswith("/v1/") and "yes" in str(first.body)


def test_an_endpoint_of_several_wires_is_tried_over_chat_completions() -> None:
    assert preflight.wire_asked((Wire.MESSAGES, Wire.CHAT)) is Wire.CHAT
    assert preflight.wire_asked((Wire.GEMINI,)) is Wire.GEMINI
