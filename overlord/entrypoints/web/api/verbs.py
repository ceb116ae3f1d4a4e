"""Verbs, each at an address of its own: `POST /verbs/NAME`, once for each idempotency key."""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from starlette.responses import Response

from overlord.domain.conversation.argument import ApprovalArgument, arguments_of
from overlord.domain.interface import Interface
from overlord.domain.text.json_text import json_text
from overlord.entrypoints.web.api.endpoint import Asked, Endpoint, Parameter
from overlord.entrypoints.web.api.problem import Problem, hint_json
from overlord.entrypoints.web.giving import command_of_json, give, outcome_of
from overlord.errors import Refused
from overlord.store import api_replies
from overlord.verbs import registry
from overlord.verbs.argument_json import schema_of
from overlord.verbs.registry import help_of
from overlord.verbs.right import OF_TOKEN, Right
from overlord.verbs.verb import Done, Verb

MOST_WAIT_S = 60
KEY = "idempotency-key"
_KEY = re.compile(r"[\x21-\x7e]{1,100}")
_WAIT = re.compile(r"\bwait=([0-9]{1,4})\b")
MOST_BYTES = 100_000
HEADERS = (
    Parameter(
        name="Idempotency-Key",
        schema={
            "type": "string",
            "pattern": "^[!-~]{1,100}$",
            "description": "A word of the client's own, another one for each request. The same request with the same key within a "
            "day is carried out once, and answered as the first time.",
        },
        where="header",
    ),
    Parameter(
        name="Prefer",
        schema={
            "type": "string",
            "examples": ["wait=10"],
            "description": f"`wait=10`: answer once it is known what became of it, or after so many seconds ({MOST_WAIT_S} at most).",
        },
        where="header",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was done."""

    text: str
    """In a sentence."""
    hint: list[Any] = field(default_factory=list)
    """What can be done next: words, and commands as `{"command", "arguments"}`."""
    is_under_way: bool = False
    """Whether what becomes of it is still to be known."""
    work_request: int | None = None
    message: int | None = None
    secret: str | None = None
    """What is shown this once, and written down nowhere: of a new token, its text."""
    is_replayed: bool = False
    """Whether it was done by an earlier request with the same key."""


def verb_endpoints() -> Iterator[Endpoint]:
    """One for each verb."""
    for name, verb in registry.offered(Interface.API).items():
        yield Endpoint(
            path=f"/verbs/{name}",
            method="POST",
            tag="verbs",
            answer=_given(name, verb),
            summary=help_of(name).partition("\n")[0],
            returns=Given,
            parameters=HEADERS,
            body=_body(verb),
            right=_right(verb.right),
            problems={
                404: "There is no such thing.",
                409: "It cannot be done as things stand, or what was shown has changed.",
                413: "The body is too long.",
                415: "The body is no JSON.",
                422: "The key was used for another request.",
            },
        )


def _right(needed: Right) -> str:
    return next(right.value for right, held in OF_TOKEN.items() if held >= needed)


def _body(verb: Verb) -> dict[str, Any]:
    properties: dict[str, Any] = {"arguments": schema_of(verb.arguments)}
    if _is_about_an_approval(verb):
        what = "That of what was shown: where it has changed since, nothing is done."
        properties["digest"] = {"type": "string", "description": what, "maxLength": 200}
    needed = ["arguments"] if "required" in properties["arguments"] else []
    return {"type": "object", "properties": properties, "additionalProperties": False, "required": needed}


def _is_about_an_approval(verb: Verb) -> bool:
    return any(isinstance(kind, ApprovalArgument) for _, kind in arguments_of(verb.arguments))


def _given(name: str, verb: Verb) -> Any:
    async def answer(asked: Asked) -> Response:
        body = await _json_body(asked)
        arguments, digest = _read(body, verb)
        command = command_of_json(name, arguments)
        key = _key(asked)
        once = _Once(asked, key, sha256(json.dumps([name, body], sort_keys=True).encode()).hexdigest())
        try:
            done = await give(
                asked.site,
                asked.visitor,
                command,
                digest,
                interface=Interface.API,
                once=once if key else None,
            )
        except _Replayed as known:
            return _response({**json.loads(known.text), "is_replayed": True})
        if done.is_refused:
            raise Refused(f"{done.text[:1].lower()}{done.text[1:]}", hint=done.hint)
        return _response(await _told(asked, done))

    return answer


async def _told(asked: Asked, done: Done) -> Mapping[str, Any]:
    """What was done, with what became of it so far. Raises Refused."""
    wait_s = _wait(asked)
    shown = _shown(done)
    found = await outcome_of(asked.site, done, wait_s=wait_s)
    if found is None:
        return shown
    if found.is_refused:
        raise Refused(found.text)
    told = {"text": found.text, "hint": hint_json(found.hint)} if found.text else {}
    return {**shown, **told, "is_under_way": not found.is_final}


def _shown(done: Done) -> dict[str, Any]:
    under_way = (done.work_request_id, done.message_id, done.issue_request_id)
    return {
        "text": done.text,
        "hint": hint_json(done.hint),
        "is_under_way": any(number is not None for number in under_way),
        "work_request": done.work_request_id,
        "message": done.message_id,
        "issue_request": done.issue_request_id,
        "secret": done.secret or None,
        "is_replayed": False,
    }


def _response(value: Mapping[str, Any]) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(json_text(value), headers=headers, media_type="application/json")


async def _json_body(asked: Asked) -> Mapping[str, Any]:
    """What is sent. Raises Problem."""
    kind = asked.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = bytearray()
    async for piece in asked.request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise Problem(413, "too-long", f"a request has {MOST_BYTES:,} bytes at most")
    if not body:
        return {}
    if kind != "application/json":
        raise Problem(415, "not-understood", "send JSON, as application/json")
    try:
        found = json.loads(body)
        json.dumps(found, ensure_ascii=False).encode()  # half a character can be kept nowhere
    except (ValueError, RecursionError):
        raise Problem(400, "not-understood", "that is no JSON") from None
    if not isinstance(found, dict):
        raise Problem(400, "not-understood", "send a JSON object")
    return found


def _read(body: Mapping[str, Any], verb: Verb) -> tuple[Mapping[str, object], str]:
    """The arguments, and the digest of what was shown. Raises Problem."""
    known = {"arguments", *(["digest"] if _is_about_an_approval(verb) else [])}
    if unknown := [name for name in body if name not in known]:
        said = f"a request has {' and '.join(sorted(known))}, and nothing else"
        raise Problem(400, "not-understood", said, more={"field": str(unknown[0])[:40]})
    arguments, digest = body.get("arguments", {}), body.get("digest", "")
    if not isinstance(arguments, dict):
        raise Problem(400, "not-understood", "the arguments are an object", more={"field": "arguments"})
    if not isinstance(digest, str):
        raise Problem(400, "not-understood", "the digest is a text", more={"field": "digest"})
    return arguments, digest


def _key(asked: Asked) -> str:
    """Raises Problem."""
    key = asked.request.headers.get(KEY, "")
    if key and not _KEY.fullmatch(key):
        raise Problem(
            400, "not-understood", "an idempotency key is 1 to 100 letters of ASCII, without blanks"
        )
    return key


def _wait(asked: Asked) -> int:
    found = _WAIT.search(asked.request.headers.get("prefer", ""))
    return min(int(found[1]), MOST_WAIT_S) if found else 0


class _Replayed(Exception):
    """It was done before."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


@dataclass(frozen=True, slots=True)
class _Once:
    """A request with a key."""

    asked: Asked
    key: str
    digest: str

    def check(self, connection: sqlite3.Connection) -> None:
        """Raises _Replayed, Problem."""
        found = api_replies.find(connection, self.asked.visitor.actor, self.key, at=self.asked.site.now)
        if found is None:
            return
        if found.request != self.digest:
            raise Problem(422, "key-used", "this key was used for another request; take a new one")
        raise _Replayed(found.text)

    def keep(self, connection: sqlite3.Connection, done: Done) -> None:
        """What is shown once alone is not kept."""
        if done.is_refused:
            return
        api_replies.keep(
            connection,
            self.asked.visitor.actor,
            self.key,
            request=self.digest,
            text=json_text({**_shown(done), "secret": None}),
            at=self.asked.site.now,
        )
