"""Records as GitHub shows them: its field names, its nesting, its spelling of times."""

import base64
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from overlord.embedded.forge.record import (
    Comment,
    Issue,
    Label,
    Occurrence,
    Pull,
    Reaction,
    Repository,
    Status,
    User,
)
from overlord.embedded.forge.state import ForgeState

Json = dict[str, Any]


def node_id(kind: str, number: int) -> str:
    """An opaque global id, as the GraphQL endpoint takes it."""
    return f"{kind}_" + base64.urlsafe_b64encode(f"{number:010}".encode()).decode().rstrip("=")


def moment(at: datetime | None) -> str | None:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


class Shape:
    """Renders records with addresses that begin at `origin`, where this forge is being served."""

    def __init__(self, state: ForgeState, origin: str) -> None:
        self.state = state
        self.origin = origin.rstrip("/")

    def user(self, login: str) -> Json:
        user = self.state.user(login)
        return {
            "login": user.login,
            "id": user.id,
            "node_id": node_id("U", user.id),
            "url": f"{self.origin}/users/{user.login}",
            "html_url": f"{self.origin}/{user.login}",
            "type": user.kind,
            "site_admin": False,
        }

    def repository(self, repository: Repository, viewer: User) -> Json:
        # These are an account's; an app's token has none, whatever it was granted.
        writes = viewer.may_write and viewer.permissions is None
        admin = viewer.association == "OWNER"
        return {
            "id": repository.id,
            "node_id": node_id("R", repository.id),
            "name": repository.name.split("/")[1],
            "full_name": repository.name,
            "private": repository.private,
            "visibility": "private" if repository.private else "public",
            "owner": self.user(repository.owner),
            "html_url": f"{self.origin}/{repository.name}",
            "description": None,
            "fork": False,
            "url": self._api(repository.name),
            "clone_url": f"{self.origin}/{repository.name}.git",
            "default_branch": repository.default_branch,
            "archived": False,
            "disabled": False,
            "has_issues": True,
            "created_at": moment(repository.created_at),
            "permissions": {
                "admin": admin,
                "maintain": admin,
                "push": writes,
                "triage": writes,
                "pull": True,
            },
        }

    def label(self, label: Label) -> Json:
        return {
            "id": label.id,
            "node_id": node_id("LA", label.id),
            "url": f"{self._api(label.repository)}/labels/{label.name}",
            "name": label.name,
            "color": label.color,
            "default": False,
            "description": label.description,
        }

    def labels(self, thread: Issue) -> list[Json]:
        known = {label.name: label for label in self.state.labels(thread.repository)}
        return [self.label(known[name]) for name in thread.labels]

    def issue(self, issue: Issue) -> Json:
        """An issue, or a pull request as the issue endpoints show it."""
        api, page = self._api(issue.repository), "pull" if isinstance(issue, Pull) else "issues"
        shown = self._thread(issue) | {
            "node_id": node_id("PR" if isinstance(issue, Pull) else "I", issue.id),
            "url": f"{api}/issues/{issue.number}",
            "repository_url": api,
            "labels_url": f"{api}/issues/{issue.number}/labels{{/name}}",
            "comments_url": f"{api}/issues/{issue.number}/comments",
            "events_url": f"{api}/issues/{issue.number}/events",
            "html_url": f"{self.origin}/{issue.repository}/{page}/{issue.number}",
            "comments": len(self.state.comments(issue.repository, issue.number)),
            "state_reason": issue.state_reason,
        }
        if isinstance(issue, Pull):
            url = f"{api}/pulls/{issue.number}"
            shown |= {"draft": issue.draft, "pull_request": {"url": url, "html_url": shown["html_url"]}}
        return shown

    def pull(self, pull: Pull, *, alone: bool, merges: bool | None = None) -> Json:
        """A pull request; some fields are shown only when it is asked for alone."""
        api = self._api(pull.repository)
        shown = self._thread(pull) | {
            "node_id": node_id("PR", pull.id),
            "url": f"{api}/pulls/{pull.number}",
            "issue_url": f"{api}/issues/{pull.number}",
            "comments_url": f"{api}/issues/{pull.number}/comments",
            "statuses_url": f"{api}/statuses/{pull.head_sha}",
            "html_url": f"{self.origin}/{pull.repository}/pull/{pull.number}",
            "diff_url": f"{self.origin}/{pull.repository}/pull/{pull.number}.diff",
            "draft": pull.draft,
            "merged_at": moment(pull.merged_at),
            "merge_commit_sha": pull.merge_commit_sha,
            "head": self._end(pull, pull.head_branch, pull.head_sha),
            "base": self._end(pull, pull.base_branch, pull.base_sha),
            "requested_reviewers": [],
            "auto_merge": None,
        }
        if alone:
            shown |= {
                "merged": pull.merged,
                "merged_by": self.user(pull.merged_by) if pull.merged_by else None,
                "mergeable": merges,
                "mergeable_state": {None: "unknown", True: "clean", False: "dirty"}[merges],
                "comments": len(self.state.comments(pull.repository, pull.number)),
                "maintainer_can_modify": False,
            }
        return shown

    def comment(self, comment: Comment) -> Json:
        api = self._api(comment.repository)
        thread = self.state.issue(comment.repository, comment.number)
        return {
            "id": comment.id,
            "node_id": node_id("IC", comment.id),
            "url": f"{api}/issues/comments/{comment.id}",
            "html_url": f"{self.issue(thread)['html_url']}#issuecomment-{comment.id}",
            "issue_url": f"{api}/issues/{comment.number}",
            "body": comment.body,
            "user": self.user(comment.author),
            "author_association": self.state.user(comment.author).association,
            "created_at": moment(comment.created_at),
            "updated_at": moment(comment.updated_at),
        }

    def occurrence(self, item: Occurrence) -> Json:
        """An issue event, as the issue's list of them shows it."""
        shown: Json = {
            "id": item.id,
            "node_id": node_id("LE", item.id),
            "url": f"{self._api(item.repository)}/issues/events/{item.id}",
            "actor": self.user(item.actor),
            "event": item.event,
            "commit_id": None,
            "commit_url": None,
            "created_at": moment(item.created_at),
            "performed_via_github_app": None,
        }
        if item.label is not None:
            known = self.state.shelf.get(Label, f"{item.repository}/{item.label}")
            shown["label"] = {"name": item.label, "color": known.color if known else "ededed"}
        if item.renamed is not None:
            shown["rename"] = {"from": item.renamed[0], "to": item.renamed[1]}
        return shown

    def reaction(self, reaction: Reaction) -> Json:
        return {
            "id": reaction.id,
            "node_id": node_id("REA", reaction.id),
            "user": self.user(reaction.login),
            "content": reaction.content,
            "created_at": moment(reaction.created_at),
        }

    def status(self, status: Status) -> Json:
        return {
            "id": status.id,
            "node_id": node_id("SC", status.id),
            "url": f"{self._api(status.repository)}/statuses/{status.sha}",
            "state": status.state,
            "description": status.description,
            "target_url": status.target_url,
            "context": status.context,
            "creator": self.user(status.creator),
            "created_at": moment(status.created_at),
            "updated_at": moment(status.created_at),
        }

    def each(self, issues: Iterable[Issue]) -> list[Json]:
        return [self.issue(issue) for issue in issues]

    def addresses(self, repository: str) -> tuple[str, str]:
        """A repository's, at the API and for people."""
        return self._api(repository), f"{self.origin}/{repository}"

    def _api(self, repository: str) -> str:
        return f"{self.origin}/repos/{repository}"

    def _thread(self, thread: Issue) -> Json:
        return {
            "id": thread.id,
            "number": thread.number,
            "state": "open" if thread.open else "closed",
            "locked": thread.locked,
            "active_lock_reason": None,
            "title": thread.title,
            "body": thread.body or None,
            "user": self.user(thread.author),
            "author_association": self.state.user(thread.author).association,
            "labels": self.labels(thread),
            "assignee": None,
            "assignees": [],
            "milestone": None,
            "created_at": moment(thread.created_at),
            "updated_at": moment(thread.updated_at),
            "closed_at": moment(thread.closed_at),
        }

    def _end(self, pull: Pull, branch: str, sha: str) -> Json:
        repository = self.state.repository(pull.repository)
        owner = self.user(repository.owner)
        return {
            "label": f"{repository.owner}:{branch}",
            "ref": branch,
            "sha": sha,
            "user": owner,
            "repo": {
                "id": repository.id,
                "name": repository.name.split("/")[1],
                "full_name": repository.name,
                "private": repository.private,
                "owner": owner,
                "default_branch": repository.default_branch,
                "url": self._api(repository.name),
            },
        }
