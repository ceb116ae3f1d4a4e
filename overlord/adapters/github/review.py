"""What others say of a pull request, as GitHub has it: reviews, comments on the diff, check runs and statuses."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from overlord.adapters.github.client import ForgeElsewhere, ForgeForbidden
from overlord.adapters.github.conversation import PAGE
from overlord.adapters.github.log import read_tail
from overlord.adapters.github.operation import OPERATIONS
from overlord.adapters.github.payload import CreatedPayload
from overlord.adapters.github.requests import GitHubRequests, parsed
from overlord.adapters.github.review_payload import (
    CheckRunPayload,
    CheckRunsPayload,
    CombinedStatusPayload,
    ReviewCommentPayload,
    ReviewPayload,
    StatusPayload,
)
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.repositories.forge import HeadChecks, Review, ReviewComment
from overlord.errors import ForgeMissing, ForgeUnavailable
from overlord.failpoints import Failpoint, outward

NOT_FOR_TOKENS = "Resource not accessible by personal access token"
"""How GitHub refuses check runs to every fine-grained token: there is no permission for them that one could have."""
LOG = "actions/download-job-logs-for-workflow-run"


class GitHubReview(GitHubRequests):
    """The part of `ports.Forge` that is about what reviewers and other people's checks say."""

    async def reviews(self, name: RepositoryName, number: int) -> Sequence[Review]:
        asked: dict[str, Any] = {"pull_number": number, "per_page": PAGE}
        found = self._pages(ReviewPayload, "pulls/list-reviews", name, **asked)
        return [review async for payload in found if (review := payload.record()) is not None]

    async def review_comments(self, name: RepositoryName, number: int) -> Sequence[ReviewComment]:
        asked = {"pull_number": number, "sort": "created", "direction": "asc", "per_page": PAGE}
        found = self._pages(ReviewCommentPayload, "pulls/list-review-comments", name, **asked)
        return [payload.record() async for payload in found]

    @outward(Failpoint.ANSWER_REVIEW)
    async def answer_review_comment(
        self, name: RepositoryName, number: int, comment_id: int, body: str
    ) -> int:
        operation, asked = "pulls/create-reply-for-review-comment", {"pull_number": number}
        answer = await self._call(operation, name, {"body": body}, **asked, comment_id=comment_id)
        return parsed(CreatedPayload, answer).id

    async def checks_of(self, name: RepositoryName, sha: Sha, *, but: Collection[str]) -> HeadChecks:
        """A run that waits for a person to let it go on is not waited for, nor is it failed. A fine-grained token is
        shown the statuses alone."""
        lines: list[CheckRunPayload | StatusPayload] = [*await self._check_runs(name, sha)]
        lines += [status for status in await self._statuses(name, sha) if status.context not in but]
        return HeadChecks(
            is_pending=any(item.is_pending for item in lines),
            failed=tuple(item.record() for item in lines if item.has_failed),
        )

    async def check_log(self, name: RepositoryName, log: int, *, limit_bytes: int) -> str:
        """Where it is kept, a refusal counts when it is said twice as well."""
        tail = await self._log_tail(name, log, limit_bytes)
        if not tail:
            await asyncio.sleep(self._retry_wait_s)
            tail = await self._log_tail(name, log, limit_bytes)
        return tail

    async def _log_tail(self, name: RepositoryName, log: int, limit_bytes: int) -> str:
        owner, _, repo = name.partition("/")
        asked = {"owner": owner, "repo": repo, "job_id": log}
        try:
            await self._patiently(*OPERATIONS[LOG], name, asked)
        except ForgeElsewhere as elsewhere:
            return await read_tail(
                elsewhere.address,
                forge_url=self._client.base_url,
                limit_bytes=limit_bytes,
                timeout_s=self._client.timeout_s,
            )
        except (ForgeMissing, ForgeForbidden):
            return ""
        raise ForgeUnavailable(f"{LOG} on {name}: GitHub named no address")

    async def _check_runs(self, name: RepositoryName, sha: Sha) -> list[CheckRunPayload]:
        asked: dict[str, Any] = {"ref": sha, "filter": "latest", "per_page": PAGE}
        pages = self._whole_pages(CheckRunsPayload, "checks/list-for-ref", name, **asked)
        try:
            return [run async for page in pages for run in page.check_runs]
        except ForgeForbidden as refusal:
            if NOT_FOR_TOKENS not in str(refusal):
                raise
            return []

    async def _statuses(self, name: RepositoryName, sha: Sha) -> list[StatusPayload]:
        asked: dict[str, Any] = {"ref": sha, "per_page": PAGE}
        operation = "repos/get-combined-status-for-ref"
        pages = self._whole_pages(CombinedStatusPayload, operation, name, **asked)
        return [status async for page in pages for status in page.statuses]
