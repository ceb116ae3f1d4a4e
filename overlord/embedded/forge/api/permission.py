"""Which permission of an app each operation needs, as GitHub documents them; any one of several sets is enough.

A person's token is not narrowed here: it may what its account may.
"""

from collections.abc import Mapping, Sequence

from overlord.embedded.forge.api.problem import Problem
from overlord.embedded.forge.api.rest import Call
from overlord.embedded.forge.record import User

Grants = Mapping[str, str]
METADATA = ({"metadata": "read"},)
ISSUES_READ, ISSUES_WRITE = [({"issues": level}, {"pull_requests": level}) for level in ("read", "write")]
PULLS_READ, PULLS_WRITE = [({"pull_requests": level},) for level in ("read", "write")]
NEEDS: Mapping[str, Sequence[Grants]] = {
    "repos/get": METADATA,
    "issues/list-for-repo": ISSUES_READ,
    "issues/get": ISSUES_READ,
    "issues/create": ({"issues": "write"},),
    "issues/update": ISSUES_WRITE,
    "issues/list-comments": ISSUES_READ,
    "issues/create-comment": ISSUES_WRITE,
    "issues/update-comment": ISSUES_WRITE,
    "issues/add-labels": ISSUES_WRITE,
    "issues/remove-label": ISSUES_WRITE,
    "issues/list-sub-issues": ISSUES_READ,
    "issues/add-sub-issue": ({"issues": "write"},),
    "issues/list-dependencies-blocked-by": ({"issues": "read"},),
    "issues/add-blocked-by-dependency": ({"issues": "write"},),
    "issues/remove-dependency-blocked-by": ({"issues": "write"},),
    "issues/list-comments-for-repo": ISSUES_READ,
    "issues/list-events": ISSUES_READ,
    "issues/list-labels-for-repo": ISSUES_READ,
    "issues/create-label": ISSUES_WRITE,
    "reactions/create-for-issue-comment": ISSUES_WRITE,
    "repos/get-collaborator-permission-level": METADATA,
    "pulls/list": PULLS_READ,
    "pulls/get": PULLS_READ,
    "pulls/create": PULLS_WRITE,
    "pulls/update": PULLS_WRITE,
    "pulls/list-files": PULLS_READ,
    "git/get-tree": ({"contents": "read"},),
    "git/get-blob": ({"contents": "read"},),
    "pulls/list-reviews": PULLS_READ,
    "pulls/list-review-comments": PULLS_READ,
    "pulls/create-reply-for-review-comment": PULLS_WRITE,
    "repos/create-commit-status": ({"statuses": "write"},),
    "repos/get-combined-status-for-ref": ({"statuses": "read"},),
    "checks/list-for-ref": ({"checks": "read"},),
    "actions/download-job-logs-for-workflow-run": ({"actions": "read"},),
    "git/delete-ref": ({"contents": "write"},),
    "git/upload-pack": ({"contents": "read"},),
    "git/receive-pack": ({"contents": "write"},),
}
"""`graphql` looks by itself, and what asks about oneself needs nothing beyond the sign-in."""
SUSPENDED = "This installation has been suspended"
REFUSED = "Resource not accessible by integration"


def permits(user: User, operation: str) -> bool:
    """Whether a sign-in's own permissions allow an operation."""
    needs = NEEDS.get(operation, ())
    return not needs or any(user.permits(**each) for each in needs)


def check(call: Call, user: User | None, operation: str) -> None:
    """Raises Problem as GitHub refuses an app: what it cannot see is missing first, then what it may not do."""
    if user is None or user.permissions is None:
        return
    if user.suspended:
        raise Problem(403, SUSPENDED)
    if "repo" in call.request.path_params:
        call.repository()
    if not permits(user, operation):
        raise Problem(403, REFUSED)


def accepted(operation: str) -> dict[str, str]:
    """The header that says which permissions an operation takes."""
    sets = [",".join(f"{name}={level}" for name, level in each.items()) for each in NEEDS.get(operation, ())]
    return {"x-accepted-github-permissions": "; ".join(sets)} if sets else {}
