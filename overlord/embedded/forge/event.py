"""What the embedded forge tells its webhooks: each act on repositories, issues and pull requests, in GitHub's words.

Payloads are trimmed, and what is left has GitHub's names and nesting. They are drawn up once the act is through.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from overlord.embedded.forge.account import utc_now
from overlord.embedded.forge.api.review_shape import ReviewShape
from overlord.embedded.forge.api.shape import Json, Shape
from overlord.embedded.forge.departure import DepartingState
from overlord.embedded.forge.hook import Hook
from overlord.embedded.forge.judgement import Remark
from overlord.embedded.forge.record import (
    CheckRun,
    Comment,
    Issue,
    Label,
    Pull,
    Repository,
    Review,
    ReviewComment,
)
from overlord.embedded.forge.state import T

ORIGIN = "https://forge.embedded.invalid"
"""Where addresses in payloads begin. Nobody may follow them."""
NONE = "0" * 40
"""Where a branch is that is not there."""
DELIVERED = frozenset({"labeled", "unlabeled", "closed", "reopened", "locked", "unlocked"})


class EventState(DepartingState):
    """A forge that tells what happens to it."""

    def __init__(self, root: Path, *, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, now=now)
        self.hooks: list[Hook] = []
        self._heads: dict[str, dict[str, str]] = {}
        self._following = asyncio.Lock()
        self._shape = Shape(self, ORIGIN)
        self._review_shape = ReviewShape(self._shape)

    async def hook(self, url: str, secret: str) -> Hook:
        """Have every event sent to an address from now on, after a ping, until the forge is closed."""
        for repository in self.repositories():
            self._heads[repository.name] = await self.heads(repository.name)
        hook = Hook(self.records.next_id(), url, secret)
        hook.open()
        self.hooks.append(hook)
        config = {"url": url, "content_type": "json", "insecure_ssl": "0", "secret": "********"}
        shown = {"type": "Repository", "id": hook.id, "name": "web", "active": True, "events": ["*"]}
        ping = {"zen": "Anything added dilutes everything else.", "hook_id": hook.id}
        hook.send("ping", ping | {"hook": shown | {"config": config}}, target_id=hook.id)
        return hook

    def close_hooks(self) -> None:
        for hook in self.hooks:
            hook.close()

    # What happens

    def create_issue(
        self, name: str, *, title: str, body: str, author: str, labels: Sequence[str] = ()
    ) -> Issue:
        issue = super().create_issue(name, title=title, body=body, author=author)
        self._deliver(issue, "opened", author)
        return self.add_labels(issue, labels, actor=author) if labels else issue

    async def create_pull(
        self, name: str, *, title: str, body: str, head: str, base: str, draft: bool, author: str
    ) -> Pull:
        pull = await super().create_pull(
            name, title=title, body=body, head=head, base=base, draft=draft, author=author
        )
        self._deliver(pull, "opened", author)
        return pull

    def edit_thread(self, thread: T, *, title: str | None, body: str | None, actor: str) -> T:
        edited = super().edit_thread(thread, title=title, body=body, actor=actor)
        both = {"title": (thread.title, edited.title), "body": (thread.body, edited.body)}
        changes = {name: {"from": old} for name, (old, new) in both.items() if old != new}
        if changes:
            self._deliver(edited, "edited", actor, changes=changes)
        return edited

    def move_issue(self, issue: Issue, name: str, *, actor: str) -> Issue:
        before, left = self._shape.issue(issue), self._shown(issue.repository, actor)
        moved = super().move_issue(issue, name, actor=actor)
        after, reached = self._shape.issue(moved), self._shown(moved.repository, actor)
        changes = {"new_issue": after, "new_repository": reached}
        self._deliver_departed(issue, "transferred", actor, {"issue": before, "changes": changes})
        self._deliver(moved, "opened", actor, changes={"old_issue": before, "old_repository": left})
        return moved

    def remove_issue(self, issue: Issue, *, actor: str) -> None:
        before = self._shape.issue(issue)
        super().remove_issue(issue, actor=actor)
        self._deliver_departed(issue, "deleted", actor, {"issue": before})

    def mark_ready(self, pull: Pull) -> Pull:
        ready = super().mark_ready(pull)
        self._deliver(ready, "ready_for_review", pull.author)
        return ready

    def add_comment(self, thread: Issue, body: str, author: str) -> Comment:
        comment = super().add_comment(thread, body, author)
        self.describe_comment(comment, "created")
        return comment

    def edit_comment(self, name: str, comment_id: int, body: str) -> Comment:
        known = self.records.get(Comment, str(comment_id))
        comment = super().edit_comment(name, comment_id, body)
        self.describe_comment(comment, "edited", changes={"body": {"from": known.body if known else ""}})
        return comment

    async def submit_review(
        self, name: str, number: int, *, author: str, state: str, body: str, comments: Sequence[Remark]
    ) -> Review:
        review = await super().submit_review(
            name, number, author=author, state=state, body=body, comments=comments
        )
        self._deliver_review(review, "submitted")
        for comment in self.review_comments(name, number):
            if comment.review_id == review.id:
                self._deliver_review_comment(comment)
        return review

    def dismiss(self, name: str, review_id: int) -> Review:
        review = super().dismiss(name, review_id)
        self._deliver_review(review, "dismissed")
        return review

    def reply_to(self, name: str, number: int, thread: int, body: str, author: str) -> ReviewComment:
        comment = super().reply_to(name, number, thread, body, author)
        [review] = [item for item in self.reviews(name, number) if item.id == comment.review_id]
        self._deliver_review(review, "submitted")
        self._deliver_review_comment(comment)
        return comment

    async def put_check_run(self, name: str, sha: str, check: str, **about: Any) -> CheckRun:
        run = await super().put_check_run(name, sha, check, **about)
        action = "completed" if run.status == "completed" else "created"
        shown = {"action": action, "check_run": self._review_shape.check_run(run)}
        self._soon("check_run", run.repository, f"{run.app}[bot]", lambda: shown)
        return run

    async def follow_branches(self, name: str) -> None:
        async with self._following:
            before = {pull.number: pull for pull in self.pulls(name)}
            await super().follow_branches(name)
            for pull in self.pulls(name):
                known = before.get(pull.number, pull)
                if pull.head_sha != known.head_sha:
                    self._deliver(
                        pull, "synchronize", pull.author, before=known.head_sha, after=pull.head_sha
                    )
            if self.hooks:
                self._deliver_pushes(self.repository(name), await self.heads(name))

    def _occurred(self, thread: Issue, event: Any, actor: str, **details: Any) -> None:
        super()._occurred(thread, event, actor, **details)
        if event in DELIVERED:
            label = details.get("label")
            known = self.records.get(Label, f"{thread.repository}/{label}") if label else None
            self._deliver(thread, event, actor, **({"label": self._shape.label(known)} if known else {}))

    # How it is told

    def describe_comment(self, comment: Comment, action: str, **more: Any) -> None:
        """Send that something became of a comment; `comment` is how it is now, or was."""
        fields = {"action": action, **more}
        self._soon(
            "issue_comment", comment.repository, comment.author, partial(self._of_comment, comment, fields)
        )

    def _deliver_review(self, review: Review, action: str) -> None:
        """Hooks spell a review's state in small letters, and an empty text is none."""
        shown = self._review_shape.review(review)
        as_delivered = shown | {"state": review.state.lower(), "body": review.body or None}
        self._soon(
            "pull_request_review",
            review.repository,
            review.author,
            partial(self._with_pull, review, {"action": action, "review": as_delivered}),
        )

    def _deliver_review_comment(self, comment: ReviewComment) -> None:
        shown = self._review_shape.review_comment(comment, comment.line)
        self._soon(
            "pull_request_review_comment",
            comment.repository,
            comment.author,
            partial(self._with_pull, comment, {"action": "created", "comment": shown}),
        )

    def _deliver(self, thread: Issue, action: str, actor: str, **more: Any) -> None:
        event = "pull_request" if isinstance(thread, Pull) else "issues"
        self._soon(
            event, thread.repository, actor, partial(self._of_thread, thread, {"action": action, **more})
        )

    def _deliver_departed(self, issue: Issue, action: str, actor: str, shown: Json) -> None:
        """Send what became of an issue that is not there to be looked at any more."""
        self._soon("issues", issue.repository, actor, partial(dict, shown, action=action))

    def _deliver_pushes(self, repository: Repository, heads: dict[str, str]) -> None:
        known = self._heads.get(repository.name, {})
        self._heads[repository.name] = heads
        for branch in sorted(known.keys() | heads.keys()):
            before, after = known.get(branch, NONE), heads.get(branch, NONE)
            if before != after:
                shown = self._of_push(repository, branch, before, after)
                self._soon("push", repository.name, repository.owner, partial(dict, shown))

    def _of_thread(self, thread: Issue, fields: Json) -> Json:
        now = self.issue(thread.repository, thread.number)
        if isinstance(now, Pull):
            return {**fields, "number": now.number, "pull_request": self._shape.pull(now, alone=True)}
        return {**fields, "issue": self._shape.issue(now)}

    def _with_pull(self, about: Review | ReviewComment, fields: Json) -> Json:
        pull = self.pull(about.repository, about.number)
        return {**fields, "pull_request": self._shape.pull(pull, alone=False)}

    def _of_comment(self, comment: Comment, fields: Json) -> Json:
        thread = self.issue(comment.repository, comment.number)
        return {**fields, "issue": self._shape.issue(thread), "comment": self._shape.comment(comment)}

    def _of_push(self, repository: Repository, branch: str, before: str, after: str) -> Json:
        return {
            "ref": f"refs/heads/{branch}",
            "before": before,
            "after": after,
            "created": before == NONE,
            "deleted": after == NONE,
            "forced": False,
            "base_ref": None,
            "compare": f"{ORIGIN}/{repository.name}/compare/{before[:12]}...{after[:12]}",
            "commits": [],
            "head_commit": None,
            "pusher": {"name": repository.owner},
        }

    def _soon(self, event: str, repository: str, actor: str, draw: Callable[[], Json]) -> None:
        if self.hooks:
            asyncio.get_running_loop().call_soon(self._send, event, repository, actor, draw)

    def _send(self, event: str, repository: str, actor: str, draw: Callable[[], Json]) -> None:
        about = {"repository": self._shown(repository, actor), "sender": self._shape.user(actor)}
        payload = draw() | about
        for hook in self.hooks:
            hook.send(event, payload, target_id=self.repository(repository).id)

    def _shown(self, repository: str, actor: str) -> Json:
        return self._shape.repository(self.repository(repository), self.user(actor))
