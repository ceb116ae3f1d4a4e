"""What is said and done around issues, as GitHub has it: issues, labels, comments, reactions, and who did what."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from pydantic import BaseModel

from minion.protocol import Comment
from overlord.adapters.github.client import ForgeRelocated
from overlord.adapters.github.payload import (
    GHOST,
    CommentPayload,
    CreatedPayload,
    EditPayload,
    EventPayload,
    IssuePayload,
    NewestPayload,
    PermissionPayload,
)
from overlord.adapters.github.requests import NO_LABEL, GitHubRequests, parsed
from overlord.domain.conversation.comment import Labelling, PostedComment, Reaction
from overlord.domain.identifiers import RepositoryName
from overlord.domain.repositories.forge import ClosedAs, IssueState
from overlord.errors import ExternalServiceError, ForgeMissing, ForgeMoved
from overlord.failpoints import Failpoint, outward

PAGE = 100
NEWEST = 10
"""How many of the issues that changed last tell whether any did."""
EDITED = """query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { issue(number: $number) { lastEditedAt } }
}"""
PLACE = re.compile(r"(?a:/repos/([\w.-]+/[\w.-]+)/issues/(\d+))")
NUMBERED_PLACE = re.compile(r"(?a:/repositories/\d+/issues/\d+)")
"""The address of an issue in a repository that is named by its id, as GitHub writes it where something has moved."""
MAY_WRITE = frozenset({"admin", "maintain", "write"})


class PlacePayload(BaseModel):
    """An issue, for its address alone."""

    url: str


class NumberPayload(BaseModel):
    """An issue, for its number alone."""

    number: int


class GitHubConversation(GitHubRequests):
    """The part of `ports.Forge` that is about issues and the people around them."""

    async def activity(self, name: RepositoryName) -> str:
        asked = {"state": "all", "sort": "updated", "direction": "desc", "per_page": NEWEST}
        newest = await self._read(NewestPayload, "issues/list-for-repo", name, **asked)
        return sha256(newest.model_dump_json().encode()).hexdigest()

    async def issues_labelled(self, name: RepositoryName, label: str) -> Sequence[IssueState]:
        asked = {"labels": label, "state": "open", "sort": "created", "direction": "asc", "per_page": PAGE}
        return [
            payload.record()
            async for payload in self._pages(IssuePayload, "issues/list-for-repo", name, **asked)
            if payload.pull_request is None
        ]

    async def issue(self, name: RepositoryName, number: int) -> IssueState:
        """Raises ForgeMoved for one that was transferred, and for one of a repository that was renamed."""
        try:
            return (await self._read(IssuePayload, "issues/get", name, issue_number=number)).record()
        except ForgeRelocated as relocated:
            to = await self._place(name, relocated.address)
            raise ForgeMoved(str(relocated), to=to) from None

    @outward(Failpoint.OPEN_ISSUE)
    async def open_issue(self, name: RepositoryName, *, title: str, body: str) -> int:
        data = {"title": title, "body": body}
        return parsed(NumberPayload, await self._call("issues/create", name, data)).number

    @outward(Failpoint.CLOSE_ISSUE)
    async def close_issue(self, name: RepositoryName, number: int, reason: ClosedAs = "completed") -> None:
        data = {"state": "closed", "state_reason": reason}
        await self._call("issues/update", name, data, issue_number=number)

    @outward(Failpoint.REOPEN_ISSUE)
    async def reopen_issue(self, name: RepositoryName, number: int) -> None:
        data = {"state": "open", "state_reason": "reopened"}
        await self._call("issues/update", name, data, issue_number=number)

    @outward(Failpoint.EDIT_ISSUE)
    async def edit_issue(
        self, name: RepositoryName, number: int, *, title: str | None = None, body: str | None = None
    ) -> None:
        data = {field: text for field, text in (("title", title), ("body", body)) if text is not None}
        if data:
            await self._call("issues/update", name, data, issue_number=number)

    async def comments(self, name: RepositoryName, number: int) -> Sequence[tuple[int, Comment]]:
        asked = {"issue_number": number, "per_page": PAGE}
        return [
            (payload.id, payload.record())
            async for payload in self._pages(CommentPayload, "issues/list-comments", name, **asked)
        ]

    @outward(Failpoint.ADD_COMMENT)
    async def add_comment(self, name: RepositoryName, number: int, body: str) -> int:
        data = {"body": body}
        answer = await self._call("issues/create-comment", name, data, issue_number=number)
        return parsed(CreatedPayload, answer).id

    @outward(Failpoint.EDIT_COMMENT)
    async def edit_comment(self, name: RepositoryName, comment_id: int, body: str) -> None:
        await self._call("issues/update-comment", name, {"body": body}, comment_id=comment_id)

    @outward(Failpoint.ADD_LABEL)
    async def add_label(self, name: RepositoryName, number: int, label: str) -> None:
        await self._call("issues/add-labels", name, {"labels": [label]}, issue_number=number)

    @outward(Failpoint.REMOVE_LABEL)
    async def remove_label(self, name: RepositoryName, number: int, label: str) -> None:
        try:
            await self._call("issues/remove-label", name, issue_number=number, name=label)
        except ForgeMissing as missing:
            if NO_LABEL not in str(missing):
                raise

    async def issues_since(self, name: RepositoryName, since: datetime) -> Sequence[IssueState]:
        asked = {"state": "all", "sort": "updated", "direction": "asc", "since": _moment(since)}
        found = self._pages(IssuePayload, "issues/list-for-repo", name, **asked, per_page=PAGE)
        return [payload.record() async for payload in found if payload.pull_request is None]

    async def labelling(self, name: RepositoryName, number: int, label: str) -> Labelling | None:
        found: Labelling | None = None
        renamed_at: datetime | None = None
        asked: dict[str, Any] = {"issue_number": number, "per_page": PAGE}
        async for payload in self._pages(EventPayload, "issues/list-events", name, **asked):
            if payload.event == "labeled" and payload.label.casefold() == label.casefold():
                found = payload.labelling()
            elif payload.event == "unlabeled" and payload.label.casefold() == label.casefold() and found:
                found = replace(found, is_off=True)
            elif payload.event == "renamed":
                renamed_at = payload.created_at
        if found is None:
            return None
        return found.with_changes(renamed_at, await self._text_edited_at(name, number))

    async def edited_at(self, name: RepositoryName, number: int) -> datetime | None:
        asked: dict[str, Any] = {"issue_number": number, "per_page": PAGE}
        events = self._pages(EventPayload, "issues/list-events", name, **asked)
        renamed = [payload.created_at async for payload in events if payload.event == "renamed"]
        edited = await self._text_edited_at(name, number)
        return max([*renamed, *([edited] if edited else [])], default=None)

    async def _text_edited_at(self, name: RepositoryName, number: int) -> datetime | None:
        owner, _, repository = name.partition("/")
        variables = {"owner": owner, "name": repository, "number": number}
        return parsed(EditPayload, await self._graphql(name, EDITED, variables)).edited_at

    async def may_write(self, name: RepositoryName, login: str) -> bool:
        if login == GHOST:
            return False
        operation = "repos/get-collaborator-permission-level"
        found = await self._read(PermissionPayload, operation, name, username=login)
        return not MAY_WRITE.isdisjoint({found.permission, found.role_name})

    async def comments_since(self, name: RepositoryName, since: datetime) -> Sequence[PostedComment]:
        asked = {"sort": "updated", "direction": "asc", "since": _moment(since), "per_page": PAGE}
        found = self._pages(CommentPayload, "issues/list-comments-for-repo", name, **asked)
        return [payload.posted() async for payload in found]

    @outward(Failpoint.REACT)
    async def react(self, name: RepositoryName, comment_id: int, reaction: Reaction) -> None:
        operation = "reactions/create-for-issue-comment"
        await self._call(operation, name, {"content": reaction}, comment_id=comment_id)

    async def _place(self, name: RepositoryName, address: str) -> str:
        """An issue's address as `owner/name#number`; as it is when it is on another host, which is asked nothing, or leads
        to no issue."""
        path = self._client.path_of(address) or ""
        if NUMBERED_PLACE.fullmatch(path):
            try:
                answer, _ = await self._patiently("GET", address, name, {})
                path = self._client.path_of(parsed(PlacePayload, answer).url) or ""
            except ExternalServiceError:
                return address
        found = PLACE.fullmatch(path)
        return f"{found[1]}#{found[2]}" if found else address


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
