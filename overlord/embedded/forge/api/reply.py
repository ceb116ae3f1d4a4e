"""HTTP as GitHub speaks it: error bodies, pages with `Link`, and `ETag` answered by 304."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from overlord.embedded.forge.api.problem import Problem

Item = TypeVar("Item")
MEDIA_TYPE = "application/json; charset=utf-8"


def reply(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(body, status, headers, media_type=MEDIA_TYPE)


def refusal(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    location = {"location": problem.location} if problem.location else {}
    return reply(problem.body(), problem.status, {**(headers or {}), **location})


def unchanged_or(request: Request, response: Response) -> Response:
    """Tag a successful GET, or say 304 to a client that has it already."""
    if request.method != "GET" or response.status_code != 200:
        return response
    tag = f'W/"{hashlib.sha256(bytes(response.body)).hexdigest()}"'
    if request.headers.get("if-none-match") == tag:
        kept = {name: value for name, value in response.headers.items() if name == "link"}
        return Response(status_code=304, headers=kept | {"etag": tag})
    response.headers["etag"] = tag
    response.headers["cache-control"] = "private, max-age=60, s-maxage=60"
    return response


def page_of(request: Request, items: Sequence[Item]) -> tuple[Sequence[Item], dict[str, str]]:
    """The page a request asks for, and its `Link` header where there are more."""
    size = min(max(_number(request, "per_page", 30), 1), 100)
    page = max(_number(request, "page", 1), 1)
    last = max((len(items) + size - 1) // size, 1)
    wanted = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
    shown = {
        relation: number
        for relation, number in wanted.items()
        if (relation in ("prev", "first") and page > 1) or (relation in ("next", "last") and page < last)
    }
    link = ", ".join(f'<{_address(request, number)}>; rel="{relation}"' for relation, number in shown.items())
    return items[(page - 1) * size : page * size], {"link": link} if link else {}


def bearer(request: Request) -> str:
    """The token a request is signed with, or nothing."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind.lower() in ("token", "bearer") else ""


async def fields(request: Request) -> dict[str, Any]:
    """The JSON object a request carries."""
    try:
        value = json.loads(await request.body() or b"{}")
    except ValueError:
        raise Problem(400, "Problems parsing JSON") from None
    if not isinstance(value, dict):
        raise Problem(400, "Body should be a JSON object")
    return value


def _number(request: Request, name: str, default: int) -> int:
    value = request.query_params.get(name, "")
    return int(value) if value.isdecimal() else default


def _address(request: Request, page: int) -> str:
    query = [(name, value) for name, value in request.query_params.multi_items() if name != "page"]
    return f"{str(request.url).split('?')[0]}?{urlencode([*query, ('page', str(page))])}"
