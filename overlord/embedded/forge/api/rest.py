"""How the operations on repositories, issues, pull requests and apps are answered; `operation.py` has the table of all."""

from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from overlord.embedded.forge.api.problem import Problem, Renamed, Transferred, forbidden, invalid, missing
from overlord.embedded.forge.api.reply import bearer, fields, page_of, reply
from overlord.embedded.forge.api.shape import Shape, moment
from overlord.embedded.forge.judgement import JudgedState
from overlord.embedded.forge.record import App, Issue, Pull, Repository, User

T = TypeVar("T", bound=Issue)
REASONS = ("completed", "not_planned", "duplicate", "reopened")


def may_see(user: User, repository: Repository) -> bool:
    """Whether this sign-in reaches the repository at all."""
    if user.only is not None:
        return repository.name in user.only
    return user.may_write or not repository.private


class Call:
    """One request: who asks, about which repository, for what."""

    def __init__(self, state: JudgedState, user: User | None, request: Request) -> None:
        self.state = state
        self._user = user
        self.request = request
        self.shape = Shape(state, str(request.base_url))

    @property
    def user(self) -> User:
        """Who asks; an app by itself is nobody."""
        if self._user is None:
            presented = "authorization" in self.request.headers
            raise Problem(401, "Bad credentials" if presented else "Requires authentication")
        return self._user

    @property
    def repository_name(self) -> str:
        return f"{self.request.path_params['owner']}/{self.request.path_params['repo']}"

    def app(self) -> App:
        """The app that asks, on the operations only apps have."""
        return self.state.app_with(bearer(self.request))

    def repository(self, *, to_write: bool = False) -> Repository:
        """The repository of the path, if this account may see it (404 otherwise) and write to it (403)."""
        viewer = self.user
        try:
            repository = self.state.repository(self.repository_name)
        except Renamed as renamed:
            raise self._moved(renamed) from None
        if not may_see(viewer, repository):
            raise missing()
        if to_write and not viewer.may_write:
            raise forbidden()
        return repository

    def _moved(self, renamed: Renamed) -> Problem:
        """Where a repository is that was renamed, for an account that may see it there."""
        there = self.state.repository_with(renamed.repository_id)
        if not may_see(self.user, there):
            return missing()
        below = self.request.url.path.partition(f"/repos/{self.repository_name}")[2]
        path = f"/repositories/{there.id}{below}"
        return Problem(301, renamed.message, location=self.shape.origin + path)

    def thread(self, *, to_write: bool = False) -> Issue:
        """The issue of the path; of one that was transferred, where this account may see it there (404 otherwise)."""
        number = self.request.path_params["issue_number"]
        try:
            return self.state.issue(self.repository(to_write=to_write).name, number)
        except Transferred as transferred:
            there = self.state.repository(transferred.repository)
            if not may_see(self.user, there):
                raise missing() from None
            below = self.request.url.path.partition(f"/issues/{number}")[2]
            path = f"/repositories/{there.id}/issues/{transferred.number}{below}"
            raise Problem(301, transferred.message, location=self.shape.origin + path) from None

    def pull(self, *, to_write: bool = False) -> Pull:
        return self.state.pull(
            self.repository(to_write=to_write).name, self.request.path_params["pull_number"]
        )

    def query(self, name: str, default: str = "") -> str:
        return self.request.query_params.get(name, default)

    async def text(self, name: str, resource: str) -> str:
        """A field that must be there."""
        value = (await fields(self.request)).get(name)
        if not isinstance(value, str) or not value.strip():
            raise invalid(resource, name, "missing_field")
        return value


async def get_repository(call: Call) -> Response:
    return reply(call.shape.repository(call.repository(), call.user))


async def list_issues(call: Call) -> Response:
    """Issues and pull requests alike, as on GitHub."""
    threads = _in_state(call, call.state.threads(call.repository().name))
    wanted = {name.casefold() for name in call.query("labels").split(",") if name}
    since = call.query("since")
    lines = [
        thread
        for thread in threads
        if wanted <= {label.casefold() for label in thread.labels}
        and (not since or (moment(thread.updated_at) or "") >= since)
    ]
    page, link = page_of(call.request, _sorted(call, lines))
    return reply(call.shape.each(page), headers=link)


async def create_issue(call: Call) -> Response:
    """Whoever may read may write an issue; labels are for those who may write, and nobody here asks for them."""
    repository = call.repository()
    title, asked = await call.text("title", "Issue"), await fields(call.request)
    issue = call.state.create_issue(
        repository.name, title=title, body=asked.get("body") or "", author=call.user.login
    )
    return reply(call.shape.issue(issue), 201)


async def get_issue(call: Call) -> Response:
    return reply(call.shape.issue(call.thread()))


async def update_issue(call: Call) -> Response:
    """Change an issue's text, open or close it; what is so already stays as it is."""
    thread, asked = call.thread(to_write=True), await fields(call.request)
    state, reason = asked.get("state"), asked.get("state_reason")
    if state not in (None, "open", "closed"):
        raise invalid("Issue", "state")
    if reason not in (None, *REASONS):
        raise invalid("Issue", "state_reason")
    if "title" in asked or "body" in asked:
        title, body = asked.get("title"), asked.get("body")
        thread = call.state.edit_thread(thread, title=title, body=body, actor=call.user.login)
    if state is not None and thread.open != (state == "open"):
        reason = reason or ("reopened" if state == "open" else "completed")
        thread = call.state.set_open(thread, is_open=state == "open", actor=call.user.login, reason=reason)
    return reply(call.shape.issue(thread))


async def list_comments(call: Call) -> Response:
    thread = call.thread()
    page, link = page_of(call.request, call.state.comments(thread.repository, thread.number))
    return reply([call.shape.comment(comment) for comment in page], headers=link)


async def create_comment(call: Call) -> Response:
    thread = call.thread()
    comment = call.state.add_comment(thread, await call.text("body", "IssueComment"), call.user.login)
    return reply(call.shape.comment(comment), 201)


async def update_comment(call: Call) -> Response:
    repository = call.repository(to_write=True)
    body = await call.text("body", "IssueComment")
    comment = call.state.edit_comment(repository.name, call.request.path_params["comment_id"], body)
    return reply(call.shape.comment(comment))


async def add_labels(call: Call) -> Response:
    thread = call.thread(to_write=True)
    names = (await fields(call.request)).get("labels")
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise invalid("Label", "name")
    return reply(call.shape.labels(call.state.add_labels(thread, names, actor=call.user.login)))


async def remove_label(call: Call) -> Response:
    name = call.request.path_params["name"]
    thread = call.state.remove_label(call.thread(to_write=True), name, actor=call.user.login)
    return reply(call.shape.labels(thread))


async def list_pulls(call: Call) -> Response:
    repository = call.repository()
    await call.state.follow_branches(repository.name)
    owner, colon, branch = call.query("head").partition(":")
    pulls = [
        pull
        for pull in _in_state(call, call.state.pulls(repository.name))
        # As on GitHub, a head without an owner filters nothing.
        if not colon
        or (owner.casefold(), branch)
        == ((pull.head_repository or repository.name).partition("/")[0].casefold(), pull.head_branch)
        if call.query("base") in ("", pull.base_branch)
    ]
    page, link = page_of(call.request, _sorted(call, pulls))
    return reply([call.shape.pull(pull, alone=False) for pull in page], headers=link)


async def get_pull(call: Call) -> Response:
    await call.state.follow_branches(call.repository().name)
    pull = call.pull()
    return reply(call.shape.pull(pull, alone=True, merges=await call.state.merges(pull)))


async def create_pull(call: Call) -> Response:
    repository = call.repository(to_write=True)
    asked = await fields(call.request)
    head, base, title = [await call.text(name, "PullRequest") for name in ("head", "base", "title")]
    pull = await call.state.create_pull(
        repository.name,
        title=title,
        body=asked.get("body") or "",
        head=head,
        base=base,
        draft=bool(asked.get("draft", False)),
        author=call.user.login,
    )
    return reply(call.shape.pull(pull, alone=True), 201)


async def update_pull(call: Call) -> Response:
    pull = call.pull(to_write=True)
    asked = await fields(call.request)
    pull = call.state.edit_thread(
        pull, title=asked.get("title"), body=asked.get("body"), actor=call.user.login
    )
    return reply(call.shape.pull(pull, alone=True))


async def create_status(call: Call) -> Response:
    repository = call.repository(to_write=True)
    asked = await fields(call.request)
    status = await call.state.create_status(
        repository.name,
        call.request.path_params["sha"],
        state=await call.text("state", "Status"),
        context=asked.get("context") or "default",
        description=asked.get("description"),
        target_url=asked.get("target_url"),
        author=call.user.login,
    )
    return reply(call.shape.status(status), 201)


def _in_state(call: Call, threads: list[T]) -> list[T]:
    state = call.query("state", "open")
    return [thread for thread in threads if state == "all" or thread.open == (state == "open")]


def _sorted(call: Call, threads: list[T]) -> list[T]:
    moments: dict[str, Any] = {"updated": lambda thread: (thread.updated_at, thread.number)}
    order = moments.get(call.query("sort"), lambda thread: (thread.created_at, thread.number))
    return sorted(threads, key=order, reverse=call.query("direction", "desc") == "desc")
