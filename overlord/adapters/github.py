"""The forge as GitHub has it.

What only reads is repeated a few times when GitHub does not answer. What changes something never is: its effect
may have happened, and only whoever asked for it knows how to look.
"""

import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import stamina
from pydantic import BaseModel, ValidationError

from minion.protocol import Comment
from overlord.adapters.credentials import AppCredentials, Credentials, TokenCredentials
from overlord.adapters.github_client import (
    GITHUB_API_URL,
    SECONDARY_LIMIT_WAIT_S,
    TIMEOUT_S,
    ForgeUnauthorized,
    GitHubClient,
    SignIn,
    quoted,
)
from overlord.adapters.github_operation import OPERATIONS
from overlord.adapters.github_payload import (
    CommentPayload,
    CreatedPayload,
    IssuePayload,
    PullPayload,
    RepositoryPayload,
)
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable
from overlord.ports import IssueState, Pull, Remote, Repository, RepositoryName, Sha

MARK_READY = """mutation($id: ID!) {
  markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } }
}"""
PAGE = 100
DESCRIPTION_CHARS = 140
READ_ATTEMPTS = 3
NO_LABEL = "Label does not exist"

Payload = TypeVar("Payload", bound=BaseModel)


class GitHubForge:
    """`ports.Forge` over GitHub's REST API; GraphQL for the one thing REST does not have."""

    def __init__(self, client: GitHubClient, credentials: Credentials, *, retry_wait_s: float = 1.0) -> None:
        self._client = client
        self._credentials = credentials
        self._retry_wait_s = retry_wait_s

    @classmethod
    def with_token(
        cls,
        token: str,
        *,
        base_url: str = GITHUB_API_URL,
        timeout_s: float = TIMEOUT_S,
        retry_wait_s: float = 1.0,
    ) -> Self:
        """Signed in with a personal access token."""
        client = GitHubClient(base_url, timeout_s=timeout_s)
        return cls(client, TokenCredentials(token), retry_wait_s=retry_wait_s)

    @classmethod
    def with_app(
        cls,
        app_id: str,
        private_key: str,
        *,
        base_url: str = GITHUB_API_URL,
        timeout_s: float = TIMEOUT_S,
        retry_wait_s: float = 1.0,
    ) -> Self:
        """Signed in as a GitHub App; `private_key` is the PEM text."""
        client = GitHubClient(base_url, timeout_s=timeout_s)
        credentials = AppCredentials(client, app_id=app_id, private_key=private_key)
        return cls(client, credentials, retry_wait_s=retry_wait_s)

    async def close(self) -> None:
        await self._client.close()

    async def repository(self, name: RepositoryName) -> Repository:
        payload = await self._read(RepositoryPayload, "repos/get", name)
        return payload.record(self._clone_url(name))

    async def remote(self, name: RepositoryName) -> Remote:
        token = await self._credentials.token(name, fresh=True)
        encoded = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        return Remote(url=self._clone_url(name), authorization=f"Basic {encoded}")

    async def issues_labelled(self, name: RepositoryName, label: str) -> Sequence[IssueState]:
        asked = {"labels": label, "state": "open", "sort": "created", "direction": "asc", "per_page": PAGE}
        return [
            payload.record()
            async for payload in self._pages(IssuePayload, "issues/list-for-repo", name, **asked)
            if payload.pull_request is None
        ]

    async def issue(self, name: RepositoryName, number: int) -> IssueState:
        return (await self._read(IssuePayload, "issues/get", name, issue_number=number)).record()

    async def comments(self, name: RepositoryName, number: int) -> Sequence[tuple[int, Comment]]:
        asked = {"issue_number": number, "per_page": PAGE}
        return [
            (payload.id, payload.record())
            async for payload in self._pages(CommentPayload, "issues/list-comments", name, **asked)
        ]

    async def add_comment(self, name: RepositoryName, number: int, body: str) -> int:
        data = {"body": body}
        answer = await self._call("issues/create-comment", name, data, issue_number=number)
        return _parsed(CreatedPayload, answer).id

    async def edit_comment(self, name: RepositoryName, comment_id: int, body: str) -> None:
        await self._call("issues/update-comment", name, {"body": body}, comment_id=comment_id)

    async def add_label(self, name: RepositoryName, number: int, label: str) -> None:
        await self._call("issues/add-labels", name, {"labels": [label]}, issue_number=number)

    async def remove_label(self, name: RepositoryName, number: int, label: str) -> None:
        try:
            await self._call("issues/remove-label", name, issue_number=number, name=label)
        except ForgeMissing as missing:
            if NO_LABEL not in str(missing):
                raise

    async def pulls_from(self, name: RepositoryName, branch: str) -> Sequence[Pull]:
        owner = name.split("/")[0]
        asked = {"head": f"{owner}:{branch}", "state": "all", "sort": "created", "direction": "desc"}
        return [
            payload.record()
            async for payload in self._pages(PullPayload, "pulls/list", name, **asked, per_page=PAGE)
            if payload.head.ref == branch and payload.is_from(name)
        ]

    async def pull(self, name: RepositoryName, number: int) -> Pull:
        return (await self._read(PullPayload, "pulls/get", name, pull_number=number)).record()

    async def open_pull(
        self, name: RepositoryName, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> Pull:
        data = {"head": branch, "base": base, "title": title, "body": body, "draft": draft}
        return _parsed(PullPayload, await self._call("pulls/create", name, data)).record()

    async def edit_pull(self, name: RepositoryName, number: int, *, title: str, body: str) -> None:
        await self._call("pulls/update", name, {"title": title, "body": body}, pull_number=number)

    async def mark_ready(self, pull: Pull) -> None:
        data = {"query": MARK_READY, "variables": {"id": pull.node_id}}
        answer = await self._call("graphql", _repository_of(pull), data)
        errors = answer.get("errors") if isinstance(answer, dict) else None
        if errors:
            raise _graphql_refusal(errors)

    async def set_status(
        self, name: RepositoryName, sha: Sha, *, state: str, context: str, description: str
    ) -> None:
        data = {"state": state, "context": context, "description": _shortened(description)}
        await self._call("repos/create-commit-status", name, data, sha=sha)

    def _clone_url(self, name: RepositoryName) -> str:
        return f"{self._client.web_url}/{name}.git"

    async def _read(
        self, kind: type[Payload], operation: str, name: RepositoryName, /, **variables: Any
    ) -> Payload:
        answer, _ = await self._patiently(*OPERATIONS[operation], name, _path(name) | variables)
        return _parsed(kind, answer)

    async def _pages(
        self, kind: type[Payload], operation: str, name: RepositoryName, /, **variables: Any
    ) -> AsyncIterator[Payload]:
        """Every item of every page; a page that fails fails the whole listing."""
        method, template = OPERATIONS[operation]
        following: str | None = template
        variables = _path(name) | variables
        while following:
            items, following = await self._patiently(method, following, name, variables)
            if not isinstance(items, list):
                raise ForgeUnavailable(
                    f"{operation} on {name}: GitHub answered with something that is no list"
                )
            for item in items:
                yield _parsed(kind, item)

    async def _patiently(
        self, method: str, address: str, name: RepositoryName, variables: Mapping[str, Any]
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
                return await self._signed(method, address, name, variables)
        raise AssertionError("stamina gives at least one attempt")

    async def _call(self, operation: str, name: RepositoryName, data: Any = b"", /, **variables: Any) -> Any:
        """A request that changes something, sent once."""
        answer, _ = await self._signed(*OPERATIONS[operation], name, _path(name) | variables, data)
        return answer

    async def _signed(
        self, method: str, address: str, name: RepositoryName, variables: Mapping[str, Any], data: Any = b""
    ) -> tuple[Any, str | None]:
        """One request; a refused token is replaced once if there may be a better one (nothing was done with it)."""
        address = self._client.graphql_url if address == "/graphql" else address
        token = await self._credentials.token(name)
        try:
            return await self._client.ask(method, address, SignIn(token=token), variables, data)
        except ForgeUnauthorized:
            if not self._credentials.forget(name, token):
                raise
        token = await self._credentials.token(name)
        return await self._client.ask(method, address, SignIn(token=token), variables, data)


def _path(name: RepositoryName) -> dict[str, Any]:
    owner, _, repo = name.partition("/")
    return {"owner": owner, "repo": repo}


def _repository_of(pull: Pull) -> RepositoryName:
    """`https://host/owner/name/pull/7` → `owner/name`."""
    return RepositoryName("/".join(pull.url.split("/")[-4:-2]))


def _may_pass_soon(error: Exception) -> bool:
    return isinstance(error, ForgeUnavailable) and error.retry_after_s is None


def _parsed(kind: type[Payload], answer: Any) -> Payload:
    try:
        return kind.model_validate(answer)
    except ValidationError as error:
        wrong = ", ".join(".".join(map(str, item["loc"])) or "all" for item in error.errors()[:3])
        raise ForgeUnavailable(f"GitHub's answer does not fit what we know of it ({wrong})") from None


def _shortened(description: str) -> str:
    return (
        description if len(description) <= DESCRIPTION_CHARS else description[: DESCRIPTION_CHARS - 1] + "…"
    )


def _graphql_refusal(errors: Any) -> ForgeRefused | ForgeUnavailable:
    first = errors[0] if isinstance(errors, list) and isinstance(errors[0], dict) else {}
    kind, said = first.get("type"), f"graphql: {quoted(str(first.get('message', errors)))}"
    if kind == "RATE_LIMITED":
        return ForgeUnavailable(said, retry_after_s=SECONDARY_LIMIT_WAIT_S)
    return ForgeMissing(said) if kind == "NOT_FOUND" else ForgeRefused(said)
