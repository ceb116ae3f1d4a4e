"""Whose token a program comes with, over the API and over MCP."""

import structlog
from starlette.requests import Request

from overlord.entrypoints.web.api.problem import Problem
from overlord.entrypoints.web.sign_in import address_of, is_at, is_this_machine
from overlord.entrypoints.web.site import Site
from overlord.entrypoints.web.visitor import Visitor

CHALLENGE = {"www-authenticate": 'Bearer realm="overlord"'}

log = structlog.get_logger()


def check_address(site: Site, request: Request) -> None:
    """Raises Problem for who asks by another name, where only this machine may: a page elsewhere that had its name lead here."""
    if site.is_local and not (is_this_machine(request) or is_at(request, site.url)):
        raise Problem(421, "not-allowed", "this is for this machine alone")


def check_length(request: Request, most: int) -> None:
    """Raises Problem for what says itself that it is too long."""
    if int(request.headers.get("content-length") or 0) > most:
        raise Problem(413, "too-long", f"a request has {most:,} bytes at most")


async def bearer_of(site: Site, request: Request) -> Visitor:
    """Raises Problem for who has no token that counts; who tries again and again is told to wait."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.casefold() != "bearer" or not token.strip():
        said = "come with a token: `Authorization: Bearer ovl_…`"
        raise Problem(401, "not-signed-in", said, headers=CHALLENGE)
    visitor = await site.bearer(token.strip())
    if visitor is not None:
        return visitor
    address = address_of(request, is_behind_proxy=bool(site.url))
    if wait_s := site.attempts.wait_s(address):
        headers = {"retry-after": str(int(wait_s) + 1)}
        raise Problem(429, "too-many-tries", "too many wrong tokens; wait a minute", headers=headers)
    site.attempts.note(address)
    log.warning("sign_in_refused", address=address)
    await site.note_stranger(token)
    said = "that is no token of this Overlord, or none that counts any more"
    raise Problem(401, "not-signed-in", said, headers=CHALLENGE)
