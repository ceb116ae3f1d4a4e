"""Every operation of the GitHub adapter, asked for once, and an external service that answers what a test tells it to."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from overlord.adapters.github.forge import GitHubForge
from overlord.domain.conversation.comment import Reaction
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.repositories.forge import Pull
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.server import serve
from overlord.errors import ExternalServiceError

REPO = RepositoryName("demo/calc")

Ask = Callable[[GitHubForge], Awaitable[object]]

A_PULL = Pull(
    number=9,
    node_id="PR_x",
    url="http://127.0.0.1/demo/calc/pull/9",
    head_branch="b",
    head_sha=Sha("0"),
    draft=True,
    open=True,
    merged=False,
    title="",
    body="",
)
SINCE = datetime(2026, 1, 1, tzinfo=UTC)

READS: dict[str, Ask] = {
    "repos/get": lambda forge: forge.repository(REPO),
    "issues/list-for-repo": lambda forge: forge.issues_labelled(REPO, "ready"),
    "issues/list-sub-issues": lambda forge: forge.sub_issues(REPO, 1),
    "issues/list-dependencies-blocked-by": lambda forge: forge.blocked_by(REPO, 1),
    "issues/get": lambda forge: forge.issue(REPO, 1),
    "issues/list-events": lambda forge: forge.labelling(REPO, 1, "ready"),
    "issues/list-comments": lambda forge: forge.comments(REPO, 1),
    "issues/list-comments-for-repo": lambda forge: forge.comments_since(REPO, SINCE),
    "repos/get-collaborator-permission-level": lambda forge: forge.may_write(REPO, "alice"),
    "pulls/list": lambda forge: forge.pulls_from(REPO, "topic"),
    "pulls/list-files": lambda forge: forge.pull_files(REPO, 1),
    "git/get-tree": lambda forge: forge.folder(REPO, Sha("0" * 40), "skills"),
    "git/get-blob": lambda forge: forge.blob(REPO, "0" * 40),
    "pulls/get": lambda forge: forge.pull(REPO, 1),
    "pulls/list-reviews": lambda forge: forge.reviews(REPO, 1),
    "pulls/list-review-comments": lambda forge: forge.review_comments(REPO, 1),
    "checks/list-for-ref": lambda forge: forge.checks_of(REPO, Sha("main"), but=()),
    "repos/get-combined-status-for-ref": lambda forge: forge.checks_of(REPO, Sha("main"), but=()),
    "actions/download-job-logs-for-workflow-run": lambda forge: forge.check_log(REPO, 1, limit_bytes=9),
}
WRITES: dict[str, Ask] = {
    "issues/create-comment": lambda forge: forge.add_comment(REPO, 1, "Hello"),
    "issues/update-comment": lambda forge: forge.edit_comment(REPO, 1, "Hello"),
    "reactions/create-for-issue-comment": lambda forge: forge.react(REPO, 1, Reaction.SEEN),
    "issues/create": lambda forge: forge.open_issue(REPO, title="T", body="B"),
    "issues/update": lambda forge: forge.close_issue(REPO, 1),
    "issues/add-labels": lambda forge: forge.add_label(REPO, 1, "x"),
    "issues/remove-label": lambda forge: forge.remove_label(REPO, 1, "x"),
    "issues/add-sub-issue": lambda forge: forge.add_sub_issue(REPO, 1, 2),
    "issues/add-blocked-by-dependency": lambda forge: forge.add_blocked_by(REPO, 1, REPO, 2),
    "issues/remove-dependency-blocked-by": lambda forge: forge.remove_blocked_by(REPO, 1, REPO, 3),
    "pulls/create": lambda forge: forge.open_pull(
        REPO, branch="b", base="main", title="T", body="", draft=True
    ),
    "pulls/update": lambda forge: forge.edit_pull(REPO, 1, title="T", body=""),
    "pulls/create-reply-for-review-comment": lambda forge: forge.answer_review_comment(REPO, 1, 2, "Done"),
    "git/delete-ref": lambda forge: forge.delete_branch(REPO, "minion/issue-1"),
    "repos/create-commit-status": lambda forge: forge.set_status(
        REPO, Sha("0" * 40), state="success", context="c", description=""
    ),
    "graphql": lambda forge: forge.mark_ready(A_PULL),
}


async def arrange_relations(people: EmbeddedForge) -> None:
    """Issues 2 and 3, of which 3 blocks the first: some operations are asked for only where there is something to do."""
    for title in ("Two", "Three"):
        await people.open_issue(REPO, title)
    people.add_blocker(people.issue(REPO, 1), people.issue(REPO, 3))


async def failure(asked: Awaitable[object]) -> ExternalServiceError:
    with pytest.raises(ExternalServiceError) as caught:
        await asked
    return caught.value


async def answered(respond: Callable[[Request], Response], ask: Ask) -> object:
    async def everything(request: Request) -> Response:
        return respond(request)

    methods = ["GET", "POST", "PATCH", "DELETE"]
    app = Starlette(routes=[Route("/{path:path}", everything, methods=methods)])
    async with serve(app) as url:
        forge = GitHubForge.with_token("ghp_secret", base_url=url, retry_wait_s=0)
        try:
            return await ask(forge)
        finally:
            await forge.close()
