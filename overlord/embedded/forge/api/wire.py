"""The forge on the wire: who is asking, which fault was ordered, what was answered; REST and git on one address."""

import base64
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from overlord.embedded.fault import EVERY_OPERATION
from overlord.embedded.forge import fault as faults
from overlord.embedded.forge import lfs
from overlord.embedded.forge.api import oauth, permission
from overlord.embedded.forge.api.operation import OPERATIONS, Operation
from overlord.embedded.forge.api.problem import Problem, Renamed, missing
from overlord.embedded.forge.api.reply import bearer, refusal, unchanged_or
from overlord.embedded.forge.api.rest import Call, may_see
from overlord.embedded.forge.api.review import LOG_PATH, get_log
from overlord.embedded.forge.record import Repository, User
from overlord.embedded.forge.ruling import RuledState
from overlord.smart_http import serve_git, service_of

GIT_PATH = re.compile(r"/(?P<name>[^/]+/[^/]+)\.git(?P<rest>/.*)")
NUMBERED_PATH = re.compile(r"/repositories/(?P<id>[0-9]{1,18})(?P<rest>/.*)?")
"""Where GitHub's redirects lead: the address of a repository that keeps when it is renamed."""
GIT_OPERATIONS = ("git/refs", "git/upload-pack", "git/receive-pack", "lfs")
PUSH = "git-receive-pack"
FETCH_OPERATION, PUSH_OPERATION = "git/upload-pack", "git/receive-pack"
LIMITLESS = "rate-limit/get"
"""The one request that costs nothing."""
OAUTH = (
    Operation(name="oauth/authorize", method="GET", template=oauth.AUTHORIZE, answer=oauth.authorize),
    Operation(name="oauth/access-token", method="POST", template=oauth.EXCHANGE, answer=oauth.exchange),
)
"""Where people sign in: the forge's pages, and no part of its API."""
LOG = Operation(name="log", method="GET", template=LOG_PATH, answer=get_log)
"""Where the API sends who asks for a job's log. It is no part of the API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """One request the forge has had, for the transcript. Status 0: it was left without an answer."""

    operation: str
    method: str
    path: str
    status: int
    login: str = ""


class Wire:
    """The ASGI application."""

    def __init__(self, state: RuledState) -> None:
        self.state = state
        self.faults = faults.faults()
        self.requests: list[RecordedRequest] = []
        routes = [
            Route(operation.path, self._endpoint(operation), methods=[operation.method])
            for operation in (*OPERATIONS, *OAUTH, LOG)
        ]
        self._rest = Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_found})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        git = GIT_PATH.fullmatch(scope["path"])
        if git is None:
            await self._rest(self._named(scope), receive, send)
        else:
            await self._git(git, scope, receive, send)

    # REST

    def _named(self, scope: Scope) -> Scope:
        """A request to a repository by its id, as one by its name."""
        found = NUMBERED_PATH.fullmatch(scope["path"])
        names = [known.name for known in self.state.repositories() if found and known.id == int(found["id"])]
        if found is None or not names:
            return scope
        path = f"/repos/{names[0]}{found['rest'] or ''}"
        return {**scope, "path": path, "raw_path": path.encode()}

    def _endpoint(self, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            fault = self.faults.take(operation.name)
            user = self._bearer(request)
            if fault is None or fault.is_after:
                response = await self._answer(operation, user, request)
            if fault is not None:
                response = faults.answer(fault, self._window_end())
            self._see(operation.name, request, response.status_code, user)
            return response

        return endpoint

    async def _answer(self, operation: Operation, user: User | None, request: Request) -> Response:
        try:
            call = Call(self.state, user, request)
            permission.check(call, user, operation.name)
            response = unchanged_or(request, await operation.answer(call))
        except Problem as problem:
            response = refusal(problem)
        response.headers.update(permission.accepted(operation.name))
        if user is not None:
            costs = response.status_code != 304 and operation.name != LIMITLESS
            response.headers.update(self._limits(user, costs))
        return response

    def _bearer(self, request: Request) -> User | None:
        token = bearer(request)
        return self.state.user_with(token) if token else None

    def _window_end(self) -> int:
        return self.state.limit.resets_at(self.state.now().timestamp())

    def _limits(self, user: User, costs: bool) -> dict[str, str]:
        now_s = self.state.now().timestamp()
        self.state.limit.spend(user.login, now_s, int(costs))
        return self.state.limit.headers(user.login, now_s)

    def _see(self, operation: str, request: Request, status: int, user: User | None) -> None:
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        login = user.login if user else ""
        self.requests.append(
            RecordedRequest(operation=operation, method=request.method, path=path, status=status, login=login)
        )

    # git

    async def _git(self, path: re.Match[str], scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        service = service_of(scope, path["rest"]) or ""
        operation = "git/refs" if path["rest"] == "/info/refs" else f"git/{service.removeprefix('git-')}"
        operation = "lfs" if lfs.PATH.fullmatch(path["rest"]) else operation
        user = self._basic(request)
        statuses: list[int] = []

        async def seeing(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        fault = self.faults.take(operation)
        if fault is None:
            await self._serve_repository(path, scope, receive, seeing)
        elif fault.is_after:
            await self._serve_repository(path, scope, receive, _discard)
        if fault is not None:
            await faults.answer(fault, self._window_end())(scope, receive, seeing)
        self._see(operation, request, statuses[0] if statuses else 0, user)

    async def _serve_repository(
        self, path: re.Match[str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        pushes = service_of(scope, path["rest"]) == PUSH
        request = Request(scope)
        user = self._basic(request)
        try:
            repository = self._admitted(path["name"], user, request, pushes=pushes)
        except Problem as problem:
            headers = {"www-authenticate": 'Basic realm="GitHub"'} if problem.status == 401 else {}
            await PlainTextResponse(problem.message, problem.status, headers)(scope, receive, send)
            return
        if repository.key != path["name"].casefold():
            there = request.url.replace(path=f"/{repository.name}.git{path['rest']}")
            await RedirectResponse(str(there), 301)(scope, receive, send)
            return
        if kept := lfs.PATH.fullmatch(path["rest"]):
            answer = await lfs.answer(Request(scope, receive), kept, self.state.directory(repository.name))
            await answer(scope, receive, send)
            return
        follows = pushes and scope["method"] == "POST"
        await serve_git(
            scope,
            receive,
            self._following(repository, send) if follows else send,
            repository=self.state.directory(repository.name),
            path_info=path["rest"],
            user=user.login if user else None,
            environment=self.state.push_environment(repository.name) if pushes else None,
            forward_protocol=True,
        )
        if follows:
            await self.state.follow_branches(repository.name)  # also for a client that left before its answer

    def _following(self, repository: Repository, send: Send) -> Send:
        """An answer to a push that ends only when the branches are looked at: who has pushed sees it in what is read next."""

        async def following(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                await self.state.follow_branches(repository.name)
            await send(message)

        return following

    def _admitted(self, name: str, user: User | None, request: Request, *, pushes: bool) -> Repository:
        """The repository, for someone who may read it, or write to it when they push."""
        if user is None and "authorization" in request.headers:
            raise Problem(401, "Invalid username or token.")
        try:
            repository = self.state.repository(name)
        except Renamed as renamed:
            repository = self.state.repository_with(renamed.repository_id)
        if user is None and (pushes or repository.private):
            raise Problem(401, "No anonymous access.")
        if user is not None and not may_see(user, repository):
            raise missing("Repository not found.")
        if user is not None and user.suspended:
            raise Problem(403, permission.SUSPENDED)
        if user is not None and not permission.permits(user, PUSH_OPERATION if pushes else FETCH_OPERATION):
            raise Problem(403, "Write access to repository not granted.")
        if user is not None and pushes and not user.may_write:
            raise Problem(403, f"Permission to {name}.git denied to {user.login}.")
        return repository

    def _basic(self, request: Request) -> User | None:
        """Whose token the password of `Basic` sign-in is; the name beside it does not matter."""
        kind, _, encoded = request.headers.get("authorization", "").partition(" ")
        try:
            _, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except ValueError:
            return None
        return self.state.user_with(password) if kind.lower() == "basic" and password else None


KNOWN_OPERATIONS = frozenset(
    {EVERY_OPERATION, *GIT_OPERATIONS, LOG.name, *(operation.name for operation in (*OPERATIONS, *OAUTH))}
)


async def _discard(message: Message) -> None:
    """Swallow an answer the client is not to have."""


async def _not_found(_request: Request, _error: Exception) -> Response:
    return refusal(missing())
