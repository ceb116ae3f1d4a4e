"""What an endpoint's answer means: each provider says it in its own way, and what is about one request alone is no fault."""

import json
from datetime import timedelta
from typing import Any

import pytest

from overlord.domain.model_fault import FaultKind, ModelFault, ModelOutage, read_refusal
from tests.records import NOW

K = FaultKind


def said(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, said("Incorrect API key provided", code="invalid_api_key"), K.KEY),
        (400, [said("API key not valid. Please pass a valid API key.")], K.KEY),
        (403, said("Country, region, or territory not supported"), K.DENIED),
        (404, said("The model `gpt-x` does not exist", code="model_not_found"), K.MODEL),
        (404, {"object": "error", "message": "The model `gpt-x` does not exist.", "code": 404}, K.MODEL),
        (404, said('model "gpt-x" not found, try pulling it first'), K.MODEL),
        (404, {"error": "model 'gpt-x' not found"}, K.MODEL),
        (400, said("gpt-x is not a valid model ID", code=400), K.MODEL),
        (400, said("invalid", code="model_not_found"), K.MODEL),
        (402, said("Insufficient Balance"), K.CREDIT),
        (429, said("You exceeded your current quota", code="insufficient_quota"), K.CREDIT),
        (429, said("You exceeded your current quota", status="RESOURCE_EXHAUSTED"), K.BUSY),
        (429, "slow down", K.BUSY),
        (500, "", K.FAILING),
        (503, "<html>", K.FAILING),
        (529, said("Overloaded"), K.FAILING),
        (408, "", K.FAILING),
        (529, said("Overloaded", type="overloaded_error"), K.FAILING),
        (400, said("Overloaded", type="overloaded_error"), K.FAILING),
        (429, said("This request would exceed your rate limit", type="rate_limit_error"), K.BUSY),
        (
            400,
            said("Your credit balance is too low to access the API", type="invalid_request_error"),
            K.CREDIT,
        ),
        (402, said("Check your payment details", type="billing_error"), K.CREDIT),
        (401, said("invalid x-api-key", type="authentication_error"), K.KEY),
        (404, said("model: gpt-x", type="not_found_error"), K.MODEL),
        (429, said("Resource has been exhausted", code=429, status="RESOURCE_EXHAUSTED"), K.BUSY),
        (503, said("The model is overloaded", code=503, status="UNAVAILABLE"), K.FAILING),
        (
            404,
            said("models/gpt-x is not found for API version v1beta", code=404, status="NOT_FOUND"),
            K.MODEL,
        ),
        (400, said("Please enable billing on your project", status="FAILED_PRECONDITION"), K.CREDIT),
        (400, said("API key not valid", code=400, status="INVALID_ARGUMENT"), K.KEY),
        (404, "<html>not here</html>", K.ADDRESS),
        (405, "", K.ADDRESS),
        (301, "", K.ADDRESS),
    ],
)
def test_a_refusal_is_read_as_what_it_means(status: int, body: Any, kind: FaultKind) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    fault = read_refusal(status, text, "gpt-x")
    assert fault is not None
    assert (fault.kind, fault.detail.startswith(str(status))) == (kind, True)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"choices": []}),
        (400, said("This model's maximum context length is 8192 tokens", code="context_length_exceeded")),
        (400, said("Unsupported parameter: 'max_tokens' is not supported with this model.")),
        (413, "too large"),
        (422, said("messages: field required")),
    ],
)
def test_what_is_about_a_request_is_no_fault_of_the_model(status: int, body: Any) -> None:
    assert read_refusal(status, body if isinstance(body, str) else json.dumps(body), "gpt-x") is None


@pytest.mark.parametrize(
    "body", ["", "[" * 100_000, "null", "[]", '{"error": 7}', '{"error": {"message": {}}}']
)
def test_any_body_can_be_read(body: str) -> None:
    assert read_refusal(500, body, "gpt-x") == ModelFault(kind=K.FAILING, detail="500: Internal Server Error")


def test_an_endpoints_words_are_cut_and_stay_in_their_line() -> None:
    fault = read_refusal(503, json.dumps(said("a\x1b[31m\n@alice " + "x" * 999)), "gpt-x")
    assert fault is not None
    assert fault.detail.startswith("503: a[31m alice x")
    assert len(fault.detail) < 180


def outage(kind: FaultKind, detail: str, **given: Any) -> ModelOutage:
    return ModelOutage(model="gpt-x", kind=kind, detail=detail, since=NOW - timedelta(minutes=2), **given)


def test_how_it_is_now_says_for_how_long_it_is_tried_again_or_what_to_do() -> None:
    away = outage(K.UNREACHABLE, "connection refused", until=NOW + timedelta(minutes=7))
    assert away.line(NOW) == (
        "the model gpt-x does not answer (connection refused), trying again for 7 minutes"
    )
    assert away.line(NOW + timedelta(minutes=8)).endswith("(connection refused), for 10 minutes now")
    busy = outage(K.BUSY, "429: Rate limit reached", until=NOW + timedelta(seconds=40))
    assert busy.line(NOW, is_short=True) == "the model gpt-x is busy (429), trying again for 40 seconds"
    key = outage(K.KEY, "401: Incorrect API key")
    assert key.line(NOW, is_short=True) == (
        "the endpoint of the model gpt-x does not take the key (401: Incorrect API key). See OPENAI_API_KEY"
    )


def test_what_is_put_to_a_person_names_the_time_that_was_spent_and_the_fix() -> None:
    assert outage(K.BUSY, "429").verdict(NOW) == (
        "The model gpt-x is busy (429); it was tried for 2 minutes."
        " Wait for a while, or ask the provider for a higher limit. Then try again."
    )
    assert outage(K.MODEL, "404").verdict(NOW) == (
        "The endpoint does not know the model gpt-x (404). See OVERLORD_MODEL. Then try again."
    )
