"""Records as GitHub shows them: its field names, its nesting, its spelling of times."""

import base64
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from overlord.embedded.forge.api import address
from overlord.embedded.forge.record import (
    Comment,
    Issue,
    Label,
    Occurrence,
    Pull,
    Reaction,
    Repository,
    ReviewComment,
    Status,
    User,
)
from overlord.embedded.forge.relation import RelatedState

Json = dict[str, Any]
ABSENT = ("has_projects", "has_wiki", "has_pages", "has_discussions", "has_downloads")
"""What no repository has here."""
UNCOUNTED = {"commits": 0, "additions": 0, "deletions": 0, "changed_files": 0}
"""GitHub counts what a pull request changes. That takes a diff for each answer, and nobody here reads it."""


def node_id(kind: str, number: int) -> str:
    """An opaque global id, as the GraphQL endpoint takes it."""
    return f"{kind}_" + base64.urlsafe_b64encode(f"{number:010}".encode()).decode().rstrip("=")


def moment(at: datetime | None) -> str | None:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


class Shape:
    """Renders records with addresses that begin at `origin`, where this forge is being served."""

    def __init__(self, state: RelatedState, origin: str) -> None:
        self.state = state
        self.origin = origin.rstrip("/")

    def user(self, login: str) -> Json:
        user = self.state.user(login)
        url = f"{self.origin}/users/{user.login}"
        return address.below(url, address.OF_USER) | {
            "login": user.login,
            "id": user.id,
            "node_id": node_id("U", user.id),
            "avatar_url": self._avatar(user),
            "gravatar_id": "",
            "url": url,
            "html_url": f"{self.origin}/{user.login}",
            "type": user.kind,
            "site_admin": False,
        }

    def repository(self, repository: Repository, viewer: User) -> Json:
        # These are an account's; an app's token has none, whatever it was granted.
        writes = viewer.may_write and viewer.permissions is None
        admin = viewer.association == "OWNER"
        return self._repository(repository) | {
            "network_count": 0,
            "subscribers_count": 0,
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
        shown |= self._relations(issue)
        if isinstance(issue, Pull):
            at = address.of_pull(api, shown["html_url"], issue.number, issue.head_sha)
            named = {name: at[name] for name in ("url", "html_url", "diff_url", "patch_url")}
            shown |= {
                "draft": issue.draft,
                "pull_request": {**named, "merged_at": moment(issue.merged_at)},
            }
        return shown

    def pull(self, pull: Pull, *, alone: bool, merges: bool | None = None) -> Json:
        """A pull request; some fields are shown only when it is asked for alone."""
        api, page = self._api(pull.repository), f"{self.origin}/{pull.repository}/pull/{pull.number}"
        at = address.of_pull(api, page, pull.number, pull.head_sha)
        repository = self._repository(self.state.repository(pull.repository))
        shown = (
            self._thread(pull)
            | at
            | {
                "node_id": node_id("PR", pull.id),
                "draft": pull.draft,
                "merged_at": moment(pull.merged_at),
                "merge_commit_sha": pull.merge_commit_sha,
                "head": self._end(self._fork(repository, pull), pull.head_branch, pull.head_sha),
                "base": self._end(repository, pull.base_branch, pull.base_sha),
                "requested_reviewers": [],
                "requested_teams": [],
                "auto_merge": None,
                "_links": address.links(
                    self=at["url"],
                    html=page,
                    issue=at["issue_url"],
                    comments=at["comments_url"],
                    review_comments=at["review_comments_url"],
                    review_comment=at["review_comment_url"],
                    commits=at["commits_url"],
                    statuses=at["statuses_url"],
                ),
            }
        )
        if alone:
            shown |= {
                "merged": pull.merged,
                "merged_by": self.user(pull.merged_by) if pull.merged_by else None,
                "mergeable": merges,
                "mergeable_state": {None: "unknown", True: "clean", False: "dirty"}[merges],
                "comments": len(self.state.comments(pull.repository, pull.number)),
                "review_comments": self._remarks(pull),
                "maintainer_can_modify": False,
                **UNCOUNTED,
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
            known = self.state.records.get(Label, f"{item.repository}/{item.label}")
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
            "avatar_url": self._avatar(self.state.user(status.creator)),
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

    def _relations(self, issue: Issue) -> Json:
        """What an issue says of its parent, its sub-issues, and those it blocks or is blocked by, where the forge has them."""
        shown: Json = {}
        if self.state.has_sub_issues:
            parent, below = self.state.parent(issue), self.state.sub_issues(issue)
            done = sum(not child.open for child in below)
            percent = 100 * done // len(below) if below else 0
            summary = {"total": len(below), "completed": done, "percent_completed": percent}
            at = f"{self._api(parent.repository)}/issues/{parent.number}" if parent else None
            shown |= {"parent_issue_url": at, "sub_issues_summary": summary}
        if self.state.has_dependencies:
            blockers, blocked = self.state.blockers(issue), self.state.blocked(issue)
            shown["issue_dependencies_summary"] = {
                "blocked_by": sum(item.open for item in blockers),
                "blocking": sum(item.open for item in blocked),
                "total_blocked_by": len(blockers),
                "total_blocking": len(blocked),
            }
        return shown

    def _repository(self, repository: Repository) -> Json:
        """A repository as whoever may see it is shown it. Nobody stars, forks or watches one here."""
        api, page = self.addresses(repository.name)
        waiting = sum(thread.open for thread in self.state.threads(repository.name))
        return address.below(api, address.OF_REPOSITORY) | {
            "id": repository.id,
            "node_id": node_id("R", repository.id),
            "name": repository.name.split("/")[1],
            "full_name": repository.name,
            "private": repository.private,
            "visibility": "private" if repository.private else "public",
            "owner": self.user(repository.owner),
            "description": None,
            "homepage": None,
            "language": None,
            "license": None,
            "fork": False,
            "url": api,
            "html_url": page,
            "clone_url": f"{page}.git",
            "git_url": f"git:{page.partition(':')[2]}.git",
            "ssh_url": f"git@{page.partition('://')[2].replace('/', ':', 1)}.git",
            "svn_url": page,
            "mirror_url": None,
            "default_branch": repository.default_branch,
            "archived": False,
            "disabled": False,
            "has_issues": True,
            **dict.fromkeys(ABSENT, False),
            **dict.fromkeys(("forks", "forks_count", "stargazers_count"), 0),
            **dict.fromkeys(("watchers", "watchers_count", "size"), 0),
            **dict.fromkeys(("open_issues", "open_issues_count"), waiting),
            **dict.fromkeys(("created_at", "updated_at", "pushed_at"), moment(repository.created_at)),
        }

    def _remarks(self, pull: Pull) -> int:
        """How many comments its diff has."""
        found = self.state.records.all(ReviewComment)
        return sum((item.repository, item.number) == (pull.repository, pull.number) for item in found)

    def _avatar(self, user: User) -> str:
        return f"{self.origin}/avatars/{user.id}"

    def _fork(self, repository: Json, pull: Pull) -> Json:
        """The repository a pull request's head is in."""
        if not pull.head_repository:
            return repository
        named = {"full_name": pull.head_repository, "fork": True}
        return repository | named | {"owner": self.user(pull.head_repository.partition("/")[0])}

    def _end(self, repository: Json, branch: str, sha: str) -> Json:
        owner = repository["owner"]
        label = f"{owner['login']}:{branch}"
        return {"label": label, "ref": branch, "sha": sha, "user": owner, "repo": repository}
