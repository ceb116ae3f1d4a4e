"""Everything Overlord ever asks of GitHub's API. The embedded forge offers this and no more; a test compares them."""

from collections.abc import Mapping

_REPO = "/repos/{owner}/{repo}"
_ISSUE = _REPO + "/issues/{issue_number}"
_PULL = _REPO + "/pulls/{pull_number}"
OPERATIONS: Mapping[str, tuple[str, str]] = {
    "repos/get": ("GET", _REPO),
    "users/get-authenticated": ("GET", "/user"),
    "rate-limit/get": ("GET", "/rate_limit"),
    "issues/list-labels-for-repo": ("GET", _REPO + "/labels{?per_page}"),
    "issues/create-label": ("POST", _REPO + "/labels"),
    "issues/list-for-repo": ("GET", _REPO + "/issues{?labels,state,sort,direction,since,per_page}"),
    "issues/list-events": ("GET", _ISSUE + "/events{?per_page}"),
    "repos/get-collaborator-permission-level": ("GET", _REPO + "/collaborators/{username}/permission"),
    "issues/list-comments-for-repo": ("GET", _REPO + "/issues/comments{?sort,direction,since,per_page}"),
    "reactions/create-for-issue-comment": ("POST", _REPO + "/issues/comments/{comment_id}/reactions"),
    "issues/create": ("POST", _REPO + "/issues"),
    "issues/get": ("GET", _ISSUE),
    "issues/update": ("PATCH", _ISSUE),
    "issues/list-comments": ("GET", _ISSUE + "/comments{?per_page}"),
    "issues/create-comment": ("POST", _ISSUE + "/comments"),
    "issues/update-comment": ("PATCH", _REPO + "/issues/comments/{comment_id}"),
    "issues/add-labels": ("POST", _ISSUE + "/labels"),
    "issues/remove-label": ("DELETE", _ISSUE + "/labels/{name}"),
    "issues/list-sub-issues": ("GET", _ISSUE + "/sub_issues{?per_page}"),
    "issues/add-sub-issue": ("POST", _ISSUE + "/sub_issues"),
    "issues/list-dependencies-blocked-by": ("GET", _ISSUE + "/dependencies/blocked_by{?per_page}"),
    "issues/add-blocked-by-dependency": ("POST", _ISSUE + "/dependencies/blocked_by"),
    "issues/remove-dependency-blocked-by": ("DELETE", _ISSUE + "/dependencies/blocked_by/{issue_id}"),
    "pulls/list": ("GET", _REPO + "/pulls{?head,state,sort,direction,per_page}"),
    "pulls/get": ("GET", _PULL),
    "pulls/create": ("POST", _REPO + "/pulls"),
    "pulls/update": ("PATCH", _PULL),
    "pulls/list-files": ("GET", _PULL + "/files{?per_page}"),
    "git/get-tree": ("GET", _REPO + "/git/trees/{tree_sha}"),
    "git/get-blob": ("GET", _REPO + "/git/blobs/{file_sha}"),
    "pulls/list-reviews": ("GET", _PULL + "/reviews{?per_page}"),
    "pulls/list-review-comments": ("GET", _PULL + "/comments{?sort,direction,per_page}"),
    "pulls/create-reply-for-review-comment": ("POST", _PULL + "/comments/{comment_id}/replies"),
    "checks/list-for-ref": ("GET", _REPO + "/commits/{ref}/check-runs{?filter,per_page}"),
    "repos/get-combined-status-for-ref": ("GET", _REPO + "/commits/{ref}/status{?per_page}"),
    "actions/download-job-logs-for-workflow-run": ("GET", _REPO + "/actions/jobs/{job_id}/logs"),
    "git/delete-ref": ("DELETE", _REPO + "/git/refs/{ref}"),
    "repos/create-commit-status": ("POST", _REPO + "/statuses/{sha}"),
    "apps/get-repo-installation": ("GET", _REPO + "/installation"),
    "apps/create-installation-access-token": ("POST", "/app/installations/{installation_id}/access_tokens"),
    "graphql": ("POST", "/graphql"),
}
"""GitHub's operation id → method and URI template."""
