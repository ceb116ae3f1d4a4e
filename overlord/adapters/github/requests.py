"""Requests to GitHub's API: signed, repeated where that is right, their answers read as what was expected.

What only reads is repeated a few times when GitHub does not answer. What changes something is not: its effect may have
happened, and only whoever asked for it knows how to look. What GitHub refuses has had none and is sent once more: what
was just made or granted is not everywhere at GitHub at once, and is missing or invalid for a moment.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

import stamina
import stamina.instrumentation
import structlog
from pydantic import BaseModel, ValidationError

from overlord.adapters.github.client import (
    NOT_ACCESSIBLE,
    SECONDARY_LIMIT_WAIT_S,
    ForgeElsewhere,
    ForgeUnauthorized,
    GitHubClient,
    SignIn,
    quoted,
)
from overlord.adapters.github.credentials import Credentials
from overlord.adapters.github.operation import OPERATIONS
from overlord.domain.identifiers import RepositoryName
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable

log = structlog.get_logger()
stamina.instrumentation.set_on_retry_hooks(
    ()
)  # its own line names a block of code: what was asked of whom is said here

READ_ATTEMPTS = 3
NO_LABEL = "Label does not exist"
NO_REFERENCE = "Reference does not exist"

Payload = TypeVar("Payload", bound=BaseModel)


class GitHubRequests:
    """What every operation is made of."""

    def __init__(self, client: GitHubClient, credentials: Credentials, *, retry_wait_s: float = 1.0) -> None:
        self._client = client
        self._credentials = credentials
        self._retry_wait_s = retry_wait_s
        self._logins: dict[RepositoryName, str] = {}
        self._is_silent = False
        self._lacks: set[str] = set()

    async def close(self) -> None:
        await self._client.close()

    def renew_sign_in(self, name: RepositoryName) -> None:
        self._credentials.renew(name)

    async def _read(
        self, kind: type[Payload], operation: str, name: RepositoryName, /, **variables: Any
    ) -> Payload:
        answer, _ = await self._patiently(*OPERATIONS[operation], name, _path(name) | variables)
        return parsed(kind, answer)

    def _pages(
        self, kind: type[Payload], operation: str, name: RepositoryName, /, **variables: Any
    ) -> AsyncIterator[Payload]:
        """Every item of every page; a page that fails fails the whole listing."""
        return self._items(kind, operation, name, variables)

    async def _items(
        self,
        kind: type[Payload],
        operation: str,
        name: RepositoryName,
        variables: Mapping[str, Any],
        beside: RepositoryName | None = None,
    ) -> AsyncIterator[Payload]:
        """As `_pages`. `beside`: another repository whose issues may be among them."""
        async for items in self._answers(operation, name, variables, beside):
            if not isinstance(items, list):
                raise ForgeUnavailable(
                    f"{operation} on {name}: GitHub answered with something that is no list"
                )
            for item in items:
                yield parsed(kind, item)

    async def _whole_pages(
        self, kind: type[Payload], operation: str, name: RepositoryName, /, **variables: Any
    ) -> AsyncIterator[Payload]:
        """As `_pages`, of a listing whose pages are objects with the items somewhere in them."""
        async for page in self._answers(operation, name, variables):
            yield parsed(kind, page)

    async def _answers(
        self,
        operation: str,
        name: RepositoryName,
        variables: Mapping[str, Any],
        beside: RepositoryName | None = None,
    ) -> AsyncIterator[Any]:
        method, template = OPERATIONS[operation]
        following: str | None = template
        while following:
            filled = {**_path(name), **variables}
            answer, following = await self._patiently(method, following, name, filled, beside)
            yield answer

    async def _patiently(
        self,
        method: str,
        address: str,
        name: RepositoryName,
        variables: Mapping[str, Any],
        beside: RepositoryName | None = None,
    ) -> tuple[Any, str | None]:
        """A GET, repeated a few times when there was no answer; a limit is for the caller to wait out."""
        attempts = stamina.retry_context(
            _may_pass_soon,
            attempts=READ_ATTEMPTS,
            timeout=None,
            wait_initial=self._retry_wait_s,
            wait_jitter=self._retry_wait_s,
        )
        async for attempt in attempts:
            with attempt:
                try:
                    answer = await self._confirmed(method, address, name, variables, beside=beside)
                except ForgeUnavailable as error:
                    if _may_pass_soon(error) and attempt.num < READ_ATTEMPTS:
                        self._note_silence(error, name, attempt.next_wait)
                    raise
                self._is_silent = False
                return answer
        raise AssertionError("stamina gives at least one attempt")

    def _note_silence(self, error: ForgeUnavailable, name: RepositoryName, again_in_s: float) -> None:
        """Say that GitHub does not answer and is asked again: once, until it has answered. How a whole poll ends is said anyway."""
        if not self._is_silent:
            about = {"space": name, "forge": self._client.base_url, "again_in_s": round(again_in_s, 1)}
            log.warning("forge_does_not_answer", trouble=str(error), **about)
        self._is_silent = True

    async def _call(self, operation: str, name: RepositoryName, data: Any = b"", /, **variables: Any) -> Any:
        """A request that changes something."""
        return await self._change(operation, name, data, variables)

    async def _change(
        self,
        operation: str,
        name: RepositoryName,
        data: Any,
        variables: Mapping[str, Any],
        beside: RepositoryName | None = None,
    ) -> Any:
        """As `_call`. `beside`: another repository that it is about too."""
        method, template = OPERATIONS[operation]
        filled = {**_path(name), **variables}
        answer, _ = await self._confirmed(method, template, name, filled, data, beside=beside)
        return answer

    async def _graphql(self, name: RepositoryName, query: str, variables: Mapping[str, Any]) -> Any:
        """What a query or mutation answers; raises ForgeRefused or ForgeUnavailable for its errors."""
        token = await self._credentials.token(name)
        answer = await self._answered(name, query, variables)
        if answer.get("errors"):
            refusal = _graphql_refusal(answer["errors"])
            if NOT_ACCESSIBLE not in str(refusal) or not self._credentials.forget(name, token):
                raise refusal
            answer = await self._answered(name, query, variables)
        if answer.get("errors"):
            raise _graphql_refusal(answer["errors"])
        return answer.get("data")

    async def _answered(
        self, name: RepositoryName, query: str, variables: Mapping[str, Any]
    ) -> dict[str, Any]:
        answer = await self._call("graphql", name, {"query": query, "variables": variables})
        if not isinstance(answer, dict):
            raise ForgeUnavailable("graphql: GitHub answered with something that is no object")
        return answer

    async def _confirmed(
        self,
        method: str,
        address: str,
        name: RepositoryName,
        variables: Mapping[str, Any],
        data: Any = b"",
        *,
        beside: RepositoryName | None = None,
    ) -> tuple[Any, str | None]:
        """One request; a refusal counts when it is said twice, and so does one of the sign-in's own requests. A token that
        lacks a permission is not used again: it may be older than the grant."""
        token = await self._credentials.token(name, beside=beside)
        try:
            return await self._signed(method, address, name, variables, data, token=token, beside=beside)
        except ForgeRefused as refusal:
            text = str(refusal)
            if isinstance(refusal, ForgeElsewhere) or NO_LABEL in text or NO_REFERENCE in text:
                raise
            if NOT_ACCESSIBLE in text:
                self._credentials.forget(name, token)
        await asyncio.sleep(self._retry_wait_s)
        token = await self._credentials.token(name, beside=beside)
        return await self._signed(method, address, name, variables, data, token=token, beside=beside)

    async def _signed(
        self,
        method: str,
        address: str,
        name: RepositoryName,
        variables: Mapping[str, Any],
        data: Any,
        *,
        token: str,
        beside: RepositoryName | None = None,
    ) -> tuple[Any, str | None]:
        """One request; a refused token is replaced once if there may be a better one (nothing was done with it)."""
        address = self._client.graphql_url if address == "/graphql" else address
        try:
            return await self._client.ask(method, address, SignIn(token=token), variables, data)
        except ForgeUnauthorized:
            if not self._credentials.forget(name, token):
                raise
        token = await self._credentials.token(name, beside=beside)
        return await self._client.ask(method, address, SignIn(token=token), variables, data)


def _path(name: RepositoryName) -> dict[str, Any]:
    owner, _, repo = name.partition("/")
    return {"owner": owner, "repo": repo}


def _may_pass_soon(error: Exception) -> bool:
    return isinstance(error, ForgeUnavailable) and error.retry_after_s is None


def parsed(kind: type[Payload], answer: Any) -> Payload:
    try:
        return kind.model_validate(answer)
    except ValidationError as error:
        wrong = ", ".join(".".join(map(str, item["loc"])) or "all" for item in error.errors()[:3])
        raise ForgeUnavailable(f"GitHub's answer does not fit what we know of it ({wrong})") from None


def _graphql_refusal(errors: Any) -> ForgeRefused | ForgeUnavailable:
    first = errors[0] if isinstance(errors, list) and isinstance(errors[0], dict) else {}
    kind, text = first.get("type"), f"graphql: {quoted(str(first.get('message', errors)))}"
    if kind == "RATE_LIMITED":
        return ForgeUnavailable(text, retry_after_s=SECONDARY_LIMIT_WAIT_S)
    return ForgeMissing(text) if kind == "NOT_FOUND" else ForgeRefused(text)
