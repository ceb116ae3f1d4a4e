"""A work session: the working copy, the conversation's beginning, and the loop."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from minion.errors import Interrupted, SessionApiRefused
from minion.git import Git
from minion.heartbeat import Heartbeat
from minion.loopback import Loopback
from minion.native.agent import Agent
from minion.native.conversation import Conversation
from minion.native.mailbox import Mailbox
from minion.native.model import Model
from minion.native.prompt import fence_mark, instructions, mission
from minion.protocol import REPOSITORY_PATH, SCOPE_PATH, Brief, Report, Scope, ScopeError
from minion.session import Session
from minion.session_api import SessionApi
from minion.shell import command_environment, search_path
from minion.start import Start
from minion.tools.registry import schemas_of
from minion.workspace.ready import ReadyCopy
from minion.workspace.scope import Territory
from minion.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A session over its working copy, which may still be on its way."""

    session: Session
    loopback: Loopback


def prepare(start: Start, brief: Brief, scope: Scope) -> Prepared:
    """Begin the working copy and the way to the session API, whichever agent is to work. Raises BadStart."""
    start.interrupts.limit(brief.limits.time_s)
    brief = replace(brief, scope=scope)
    loopback = Loopback(start.session_api.path, patience_s=start.session_api.patience_s)
    git = Git(search_path(start.search_path))
    remote = loopback.url + REPOSITORY_PATH
    ready = ReadyCopy.from_environment(start.environment, brief.base_sha)
    workspace = Workspace(
        start.home,
        remote,
        brief,
        git,
        ready=ready,
        environment=start.repository_environment(),
        patience_s=start.session_api.patience_s,
    )
    workspace.begin()
    session = Session(
        brief=brief,
        session_api=start.session_api,
        territory=Territory(
            workspace.root,
            scope,
            modules=ready.modules if ready is not None else (),
            scope_now=partial(scope_now, start.session_api),
            contract_files=workspace.contract_files,
            can_ask=brief.discipline is None,
        ),
        workspace=workspace,
        command_environment=command_environment(
            start.environment,
            start.home,
            tree=workspace.root,
            OPENAI_BASE_URL=f"{loopback.url}/v1",
            OPENAI_API_KEY="none-needed",
        ),
        interrupts=start.interrupts,
    )
    return Prepared(session=session, loopback=loopback)


def work(start: Start, brief: Brief, scope: Scope, beat: Heartbeat) -> Report:
    """Run the native agent to its report. Raises GitFailed when there is no working copy to work on."""
    session = prepare(start, brief, scope).session
    session.beat = beat
    brief = session.brief
    fence = fence_mark()
    conversation = Conversation(brief.limits.context_tokens)
    conversation.add("system", instructions(brief, fence))
    conversation.add("user", mission(brief, fence))
    mailbox = Mailbox(start.session_api, fence, start.interrupts, last_turn=brief.limits.turns)
    with _server_tools(session, beat):
        schemas = [*schemas_of(brief), *(tool.schema() for tool in session.server_tools.values())]
        model = Model(start.session_api, brief.model, schemas)
        return Agent(session, model, conversation, beat, mailbox).run()


@contextmanager
def _server_tools(session: Session, beat: Heartbeat) -> Iterator[None]:
    """While the block runs, the session has the tools of its MCP servers."""
    if not session.brief.mcp:
        yield
        return
    from minion.mcp.tools import ServerTools  # most sessions have no server

    servers = ServerTools(session, beat.log)
    try:
        with suppress(Interrupted):  # which the loop meets again where it first waits, and reports
            session.server_tools = servers.open()
        yield
    finally:
        servers.close()


def scope_now(session_api: SessionApi) -> Scope | None:
    """What may be written now; None where the session API does not say."""
    try:
        return Scope.parse(session_api.call("GET", SCOPE_PATH).body.decode())
    except (SessionApiRefused, ScopeError, UnicodeDecodeError):
        return None
