"""What is wrong with a model that gives no reply, and what a person can do: the one place that reads endpoints' refusals.

Endpoints do not agree on statuses: an unknown model is 404 at one and 400 at another, a spent account 402 or 429. So the code and
the words are read too. What is not known for certain is no fault: the session gets the answer, and decides.
"""

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from overlord.domain.text.plain import count, plain_line

DETAIL_CHARS = 160
"""As much of an endpoint's own words as is shown."""


class FaultKind(StrEnum):
    """Why there is no reply."""

    UNREACHABLE = "unreachable"
    BUSY = "busy"
    FAILING = "failing"
    KEY = "key"
    DENIED = "denied"
    MODEL = "model"
    CREDIT = "credit"
    ADDRESS = "address"


_PASSES = frozenset({FaultKind.UNREACHABLE, FaultKind.BUSY, FaultKind.FAILING})
_CLAUSES = {
    FaultKind.UNREACHABLE: "the model {model} does not answer",
    FaultKind.BUSY: "the model {model} is busy",
    FaultKind.FAILING: "the model {model} answers with an error",
    FaultKind.KEY: "the endpoint of the model {model} does not take the key",
    FaultKind.DENIED: "the endpoint of the model {model} refuses access",
    FaultKind.MODEL: "the endpoint does not know the model {model}",
    FaultKind.CREDIT: "the account for the model {model} has no credit left",
    FaultKind.ADDRESS: "there is no model at the address that is set for {model}",
}
_ADVICE = {
    FaultKind.UNREACHABLE: "Check OPENAI_BASE_URL, and that the endpoint runs and can be reached from here.",
    FaultKind.BUSY: "Wait for a while, or ask the provider for a higher limit.",
    FaultKind.FAILING: "Wait for a while, or look at the endpoint's own log.",
    FaultKind.KEY: "See OPENAI_API_KEY.",
    FaultKind.DENIED: "See OPENAI_API_KEY, and what the provider allows this key.",
    FaultKind.MODEL: "See OVERLORD_MODEL.",
    FaultKind.CREDIT: "Add credit at the provider.",
    FaultKind.ADDRESS: "See OPENAI_BASE_URL; it ends where /chat/completions begins, as https://api.openai.com/v1.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFault:
    """`detail`: what was seen, in a few words, as `connection refused` or `401: Incorrect API key`."""

    kind: FaultKind
    detail: str

    @property
    def passes(self) -> bool:
        """Whether another try may have a reply without a person."""
        return self.kind in _PASSES

    @property
    def advice(self) -> str:
        """What a person can do, as a sentence."""
        return _ADVICE[self.kind]

    def describe(self, model: str) -> str:
        """What is wrong, as a clause."""
        return f"{_CLAUSES[self.kind].format(model=model)} ({self.detail})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutage:
    """A row: a model that gives no replies. `until`: how long sessions try again; None for what trying does not change."""

    model: str
    kind: FaultKind
    detail: str
    since: datetime
    until: datetime | None = None

    @property
    def fault(self) -> ModelFault:
        return ModelFault(kind=self.kind, detail=self.detail)

    def verdict(self, at: datetime) -> str:
        """What is put to a person once it is given up: what is wrong, how long it was tried, what they can do."""
        sentence = self.fault.describe(self.model)
        tried = (
            f"; it was tried for {minutes_text((at - self.since).total_seconds())}"
            if self.fault.passes
            else ""
        )
        return f"{sentence[:1].upper()}{sentence[1:]}{tried}. {self.fault.advice} Then try again."

    def line(self, at: datetime, *, is_short: bool = False) -> str:
        """How it is now, in one line: what is wrong, and for how long it is tried again. `is_short`: without the endpoint's words."""
        fault = self.fault
        if is_short and fault.passes:
            fault = replace(fault, detail=fault.detail.partition(":")[0])
        sentence = fault.describe(self.model)
        if not fault.passes:
            return f"{sentence}. {fault.advice.rstrip('.')}"
        if self.until is not None and self.until > at:
            return f"{sentence}, trying again for {minutes_text((self.until - at).total_seconds())}"
        return f"{sentence}, for {minutes_text((at - self.since).total_seconds())} now"


def minutes_text(seconds: float) -> str:
    """A length of time in whole minutes, or in seconds below one."""
    if seconds < 60:
        return count(max(0, round(seconds)), "second")
    return count(round(seconds / 60), "minute")


_UNKNOWN_MODEL = re.compile(
    r"not.?found|does not exist|not a valid|unknown|invalid model|no such|unsupported|not supported"
)
_BAD_KEY = re.compile(
    r"(api.?key|token).{0,20}(not valid|invalid|incorrect)|(incorrect|invalid).{0,20}(api.?key|token)"
)


_NO_CREDIT = re.compile(r"credit balance is too low|enable billing|billing (is )?(disabled|not enabled)")
"""How Anthropic and Google say it, with a status that says something else."""
_SPENT = frozenset({"insufficient_quota", "billing_error"})
_BUSY = frozenset({"rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"})
_OVERLOADED = frozenset({"overloaded_error", "UNAVAILABLE"})


def read_refusal(status: int, body: str, model: str) -> ModelFault | None:
    """What an endpoint's answer says is wrong with it as a whole; None for one that is about its request alone."""
    code, words = error_of(body)
    detail = _detail(status, words)
    if status < 300:
        return None
    kind = _kind(status, code, words.casefold(), model.casefold())
    return None if kind is None else ModelFault(kind=kind, detail=detail)


def _kind(status: int, code: str, words: str, model: str) -> FaultKind | None:
    if status < 400 or status == 405 or (status == 404 and not words):
        return FaultKind.ADDRESS
    if status == 402 or code in _SPENT or (status in {400, 403} and _NO_CREDIT.search(words)):
        return FaultKind.CREDIT
    if status == 429 or code in _BUSY:
        return FaultKind.BUSY
    if status in {408, 425} or status >= 500 or code in _OVERLOADED:
        return FaultKind.FAILING
    if status == 401 or (status == 400 and _BAD_KEY.search(words)):
        return FaultKind.KEY
    if status == 403:
        return FaultKind.DENIED
    is_unknown = model in words and _UNKNOWN_MODEL.search(words) is not None
    return FaultKind.MODEL if status == 404 or code == "model_not_found" or is_unknown else None


def error_of(body: str) -> tuple[str, str]:
    """The code and the words of an error, wherever an endpoint puts them, whatever its wire; empty where it says none."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return "", ""
    value = value[0] if isinstance(value, list) and value else value
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, str):
        return "", error
    if not isinstance(error, dict):
        return "", ""
    codes = (
        error.get(key) for key in ("code", "type", "status")
    )  # Google's code is a number, its status a word
    code = next((code for code in codes if isinstance(code, str) and code), "")
    words = error.get("message") or error.get("detail")
    return code, words if isinstance(words, str) else ""


def _detail(status: int, words: str) -> str:
    try:
        name = HTTPStatus(status).phrase
    except ValueError:
        name = ""
    text = plain_line(words, limit=DETAIL_CHARS).rstrip(".") or name
    return f"{status}: {text}" if text else str(status)
