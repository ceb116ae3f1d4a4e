"""The forge as GitHub has it: repositories, pull requests and statuses, and how one signs in."""

import base64
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Self

from overlord.adapters.github.client import GITHUB_API_URL, TIMEOUT_S, GitHubClient, utc_now
from overlord.adapters.github.content import GitHubContent
from overlord.adapters.github.conversation import PAGE, GitHubConversation
from overlord.adapters.github.credentials import AppCredentials, TokenCredentials
from overlord.adapters.github.payload import PullPayload, RepositoryPayload
from overlord.adapters.github.relation import GitHubRelations
from overlord.adapters.github.requests import NO_REFERENCE, parsed
from overlord.adapters.github.review import GitHubReview
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.forge import Pull, Repository
from overlord.errors import ForgeRefused
from overlord.failpoints import Failpoint, outward
from overlord.metrics import Meters

MARK_READY = """mutation($id: ID!) {
  markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } }
}"""
DESCRIPTION_CHARS = 140
OWN_BRANCHES = "minion/"


class GitHubForge(GitHubConversation, GitHubRelations, GitHubReview, GitHubContent):
    """`ports.Forge` over GitHub's REST API; GraphQL for what REST does not have."""

    @classmethod
    def with_token(
        cls,
        token: str,
        *,
        base_url: str = GITHUB_API_URL,
        timeout_s: float = TIMEOUT_S,
        retry_wait_s: float = 1.0,
        meters: Meters | None = None,
    ) -> Self:
        """Signed in with a personal access token."""
        client = GitHubClient(base_url, timeout_s=timeout_s, meters=meters)
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
        now: Callable[[], datetime] = utc_now,
        meters: Meters | None = None,
    ) -> Self:
        """Signed in as a GitHub App; `private_key` is the PEM text, and tokens go by the clock `now`."""
        client = GitHubClient(base_url, timeout_s=timeout_s, now=now, meters=meters)
        credentials = AppCredentials(
            client, app_id=app_id, private_key=private_key, retry_wait_s=retry_wait_s, now=now
        )
        return cls(client, credentials, retry_wait_s=retry_wait_s)

    async def repository(self, name: RepositoryName) -> Repository:
        payload = await self._read(RepositoryPayload, "repos/get", name)
        return payload.record(self._clone_url(name))

    async def remote(self, name: RepositoryName) -> Remote:
        token = await self._credentials.token(name, fresh=True)
        encoded = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        return Remote(url=self._clone_url(name), authorization=f"Basic {encoded}")

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

    @outward(Failpoint.OPEN_PULL)
    async def open_pull(
        self, name: RepositoryName, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> Pull:
        data = {"head": branch, "base": base, "title": title, "body": body, "draft": draft}
        return parsed(PullPayload, await self._call("pulls/create", name, data)).record()

    @outward(Failpoint.EDIT_PULL)
    async def edit_pull(self, name: RepositoryName, number: int, *, title: str, body: str) -> None:
        await self._call("pulls/update", name, {"title": title, "body": body}, pull_number=number)

    @outward(Failpoint.MARK_READY)
    async def mark_ready(self, pull: Pull) -> None:
        await self._graphql(_repository_of(pull), MARK_READY, {"id": pull.node_id})

    @outward(Failpoint.DELETE_BRANCH)
    async def delete_branch(self, name: RepositoryName, branch: str) -> None:
        if not branch.startswith(OWN_BRANCHES):
            raise ForgeRefused(f"Overlord deletes branches below {OWN_BRANCHES} only, not {branch!r}")
        try:
            await self._call("git/delete-ref", name, ref=f"heads/{branch}")
        except ForgeRefused as refusal:
            if NO_REFERENCE not in str(refusal):
                raise

    @outward(Failpoint.SET_STATUS)
    async def set_status(
        self, name: RepositoryName, sha: Sha, *, state: str, context: str, description: str
    ) -> None:
        data = {"state": state, "context": context, "description": _shortened(description)}
        await self._call("repos/create-commit-status", name, data, sha=sha)

    def _clone_url(self, name: RepositoryName) -> str:
        return f"{self._client.web_url}/{name}.git"


def _repository_of(pull: Pull) -> RepositoryName:
    """`https://host/owner/name/pull/7` → `owner/name`."""
    return RepositoryName("/".join(pull.url.split("/")[-4:-2]))


def _shortened(description: str) -> str:
    return (
        description if len(description) <= DESCRIPTION_CHARS else description[: DESCRIPTION_CHARS - 1] + "…"
    )
