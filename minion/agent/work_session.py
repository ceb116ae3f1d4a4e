"""A work session: the working copy, the conversation's beginning, and the loop."""

from dataclasses import replace
from functools import partial

from minion.agent.agent import Agent
from minion.agent.conversation import Conversation
from minion.agent.mailbox import Mailbox
from minion.agent.model import Model
from minion.agent.prompt import fence_mark, instructions, mission
from minion.errors import DoorRefused
from minion.git import Git
from minion.heartbeat import Beat
from minion.loopback import Shim
from minion.protocol import REPOSITORY_PATH, SCOPE_PATH, Brief, Report, Scope, ScopeError
from minion.session import Session
from minion.session_api import Door
from minion.shell import command_environment, search_path
from minion.start import Start
from minion.tools.registry import schemas_of
from minion.workspace.ready import ReadyCopy
from minion.workspace.scope import Territory
from minion.workspace.workspace import Workspace


def work(start: Start, brief: Brief, scope: Scope, beat: Beat) -> Report:
    """Run the agent to its report. Raises GitFailed when there is no working copy to work on."""
    start.interrupts.limit(brief.limits.time_s)
    brief = replace(brief, scope=scope)
    shim = Shim(start.door.path, patience_s=start.door.patience_s)
    git = Git(search_path(start.search_path))
    remote = shim.url + REPOSITORY_PATH
    ready = ReadyCopy.given(start.environment, brief.base_sha)
    workspace = Workspace(
        start.home,
        remote,
        brief,
        git,
        ready=ready,
        environment=start.repository_environment(),
        patience_s=start.door.patience_s,
    )
    workspace.begin()
    session = Session(
        brief=brief,
        door=start.door,
        territory=Territory(
            workspace.root,
            scope,
            modules=ready.modules if ready is not None else (),
            scope_now=partial(scope_now, start.door),
        ),
        workspace=workspace,
        command_environment=command_environment(
            start.environment,
            start.home,
            tree=workspace.root,
            OPENAI_BASE_URL=f"{shim.url}/v1",
            OPENAI_API_KEY="none-needed",
        ),
        interrupts=start.interrupts,
    )
    fence = fence_mark()
    conversation = Conversation(brief.limits.context_tokens)
    conversation.add("system", instructions(brief, fence))
    conversation.add("user", mission(brief, fence))
    model = Model(start.door, brief.model, schemas_of(brief))
    mailbox = Mailbox(start.door, fence, start.interrupts, last_turn=brief.limits.turns)
    return Agent(session, model, conversation, beat, mailbox).run()


def scope_now(door: Door) -> Scope | None:
    """What may be written now; None where the door does not say."""
    try:
        return Scope.parse(door.call("GET", SCOPE_PATH).body.decode())
    except (DoorRefused, ScopeError, UnicodeDecodeError):
        return None
