"""The REST and GraphQL operations Overlord's GitHub client calls, under GitHub's own operation ids, and no others.

A test compares this table with the client's: what nobody calls is not offered.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from overlord.embedded.forge.api import (
    content,
    conversation,
    graphql,
    labelling,
    relation,
    rest,
    review,
    sign_in,
)
from overlord.embedded.forge.api.rest import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing GitHub can be asked, under the name its documentation has for it."""

    name: str
    method: str
    template: str
    answer: Callable[[Call], Awaitable[Response]]

    @property
    def path(self) -> str:
        """The template as a Starlette path: numbers are numbers, and a label's or branch's name may hold slashes."""
        path = self.template.replace("/labels/{name}", "/labels/{name:path}").replace("{ref}", "{ref:path}")
        path = path.replace("{tree_sha}", "{tree_sha:path}")
        for number in ("issue_number", "comment_id", "pull_number", "installation_id", "job_id", "issue_id"):
            path = path.replace(f"{{{number}}}", f"{{{number}:int}}")
        return path


def _operation(
    name: str, method: str, template: str, answer: Callable[[Call], Awaitable[Response]]
) -> Operation:
    return Operation(name=name, method=method, template=template, answer=answer)


REPO = "/repos/{owner}/{repo}"
ISSUE = REPO + "/issues/{issue_number}"
BLOCKED_BY = ISSUE + "/dependencies/blocked_by"
PULL = REPO + "/pulls/{pull_number}"
OPERATIONS = (
    _operation("repos/get", "GET", REPO, rest.get_repository),
    _operation("users/get-authenticated", "GET", "/user", sign_in.get_authenticated),
    _operation("rate-limit/get", "GET", "/rate_limit", sign_in.get_rate_limit),
    _operation("issues/list-labels-for-repo", "GET", REPO + "/labels", labelling.list_labels),
    _operation("issues/create-label", "POST", REPO + "/labels", labelling.create_label),
    _operation("issues/list-for-repo", "GET", REPO + "/issues", rest.list_issues),
    _operation("issues/create", "POST", REPO + "/issues", rest.create_issue),
    _operation("issues/get", "GET", ISSUE, rest.get_issue),
    _operation("issues/update", "PATCH", ISSUE, rest.update_issue),
    _operation("issues/list-events", "GET", ISSUE + "/events", conversation.list_events),
    _operation(
        "repos/get-collaborator-permission-level",
        "GET",
        REPO + "/collaborators/{username}/permission",
        conversation.get_permission,
    ),
    _operation(
        "issues/list-comments-for-repo", "GET", REPO + "/issues/comments", conversation.list_recent_comments
    ),
    _operation(
        "reactions/create-for-issue-comment",
        "POST",
        REPO + "/issues/comments/{comment_id}/reactions",
        conversation.create_reaction,
    ),
    _operation("issues/list-comments", "GET", ISSUE + "/comments", rest.list_comments),
    _operation("issues/create-comment", "POST", ISSUE + "/comments", rest.create_comment),
    _operation("issues/update-comment", "PATCH", REPO + "/issues/comments/{comment_id}", rest.update_comment),
    _operation("issues/add-labels", "POST", ISSUE + "/labels", rest.add_labels),
    _operation("issues/remove-label", "DELETE", ISSUE + "/labels/{name}", rest.remove_label),
    _operation("issues/list-sub-issues", "GET", ISSUE + "/sub_issues", relation.list_sub_issues),
    _operation("issues/add-sub-issue", "POST", ISSUE + "/sub_issues", relation.add_sub_issue),
    _operation("issues/list-dependencies-blocked-by", "GET", BLOCKED_BY, relation.list_blocked_by),
    _operation("issues/add-blocked-by-dependency", "POST", BLOCKED_BY, relation.add_blocked_by),
    _operation(
        "issues/remove-dependency-blocked-by",
        "DELETE",
        BLOCKED_BY + "/{issue_id}",
        relation.remove_blocked_by,
    ),
    _operation("pulls/list", "GET", REPO + "/pulls", rest.list_pulls),
    _operation("pulls/get", "GET", PULL, rest.get_pull),
    _operation("pulls/create", "POST", REPO + "/pulls", rest.create_pull),
    _operation("pulls/update", "PATCH", PULL, rest.update_pull),
    _operation("pulls/list-files", "GET", PULL + "/files", content.list_files),
    _operation("git/get-tree", "GET", REPO + "/git/trees/{tree_sha}", content.get_tree),
    _operation("git/get-blob", "GET", REPO + "/git/blobs/{file_sha}", content.get_blob),
    _operation("pulls/list-reviews", "GET", PULL + "/reviews", review.list_reviews),
    _operation("pulls/list-review-comments", "GET", PULL + "/comments", review.list_review_comments),
    _operation(
        "pulls/create-reply-for-review-comment",
        "POST",
        PULL + "/comments/{comment_id}/replies",
        review.create_reply,
    ),
    _operation("checks/list-for-ref", "GET", REPO + "/commits/{ref}/check-runs", review.list_check_runs),
    _operation(
        "repos/get-combined-status-for-ref", "GET", REPO + "/commits/{ref}/status", review.get_combined_status
    ),
    _operation(
        "actions/download-job-logs-for-workflow-run",
        "GET",
        REPO + "/actions/jobs/{job_id}/logs",
        review.download_job_logs,
    ),
    _operation("git/delete-ref", "DELETE", REPO + "/git/refs/{ref}", review.delete_reference),
    _operation("repos/create-commit-status", "POST", REPO + "/statuses/{sha}", rest.create_status),
    _operation("apps/get-repo-installation", "GET", REPO + "/installation", sign_in.get_installation),
    _operation(
        "apps/create-installation-access-token",
        "POST",
        "/app/installations/{installation_id}/access_tokens",
        sign_in.create_installation_token,
    ),
    _operation("graphql", "POST", "/graphql", graphql.graphql),
)
