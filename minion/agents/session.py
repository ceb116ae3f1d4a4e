"""A work session of an agent that is not the native one: the working copy, the session's own tools, the agent and its report."""

import time
from contextlib import nullcontext

from minion.agents.agent import Given, Server
from minion.agents.ending import AgentSession
from minion.agents.permissions import permissions_of
from minion.agents.registry import conversation_with, takes_servers
from minion.agents.servers import servers_of
from minion.agents.session_tools.server import ToolsServer
from minion.agents.surroundings import Surroundings, Teller
from minion.errors import AgentFailed
from minion.heartbeat import Heartbeat
from minion.native.ending import stopped
from minion.native.mailbox import Mailbox
from minion.native.prompt import fence_mark, instructions, mission
from minion.native.work_session import Prepared
from minion.portfolio import PortfolioTool
from minion.protocol import ACP, Brief, Outcome, Report
from minion.session import Session
from minion.start import Start

RESCUE_EVERY_S = 180.0
"""How often work in progress is saved while an agent's program runs."""


def work_with(start: Start, prepared: Prepared, beat: Heartbeat) -> Report:
    """Run the brief's agent to its report. Raises GitFailed when there is no working copy to work on."""
    brief = prepared.session.brief
    prepared.session.beat = beat
    tools: ToolsServer | None = None
    try:
        has_servers = takes_servers(brief.agent)
        _check_terms(brief, has_servers=has_servers)
        tools = ToolsServer(prepared.session) if has_servers else None
        return _run(start, prepared, tools, beat)
    except AgentFailed as error:
        return stopped(prepared.session, beat, Outcome.ERROR, "agent", str(error))
    finally:
        if tools is not None:
            tools.close()


def _check_terms(brief: Brief, *, has_servers: bool) -> None:
    terms, portfolio = brief.terms, brief.portfolio
    plans = portfolio is not None and PortfolioTool.PROPOSE_PLAN in portfolio.tools
    answers = terms is not None and (terms.consultation or terms.bootstrap)
    if not has_servers and (answers or plans):
        raise AgentFailed(
            f"{brief.agent.name} takes no tools of ours, which the role {brief.role} answers with. Choose another agent for it."
        )


def _run(start: Start, prepared: Prepared, tools: ToolsServer | None, beat: Heartbeat) -> Report:
    session = prepared.session
    brief = session.brief
    fence = fence_mark()
    servers: tuple[Server, ...] = ()
    if tools is not None:
        servers = (tools.start(), *servers_of(brief, prepared.loopback.url))
    rules = instructions(brief, fence)

    def given() -> Given:
        return _given(start, prepared, rules, servers)

    around = Surroundings(
        session=session,
        given=given,
        environment=lambda: dict(session.command_environment),
        beat=beat,
        traffic=prepared.loopback.traffic,
        teller=Teller(beat),
        tick=_Rescue(session).tick,
        quiet=nullcontext if tools is None else tools.quiet,
        is_decided=(lambda: False) if tools is None else tools.ended.is_set,
    )
    mailbox = Mailbox(start.session_api, fence, start.interrupts, last_turn=brief.limits.turns)
    conversation = conversation_with(brief.agent, around)
    if tools is not None:
        # Over ACP each call is judged by us, with the scope there is then.
        tools.grants_at_next_prompt = (
            brief.agent.program != ACP and conversation.capabilities.permission_before_call
        )
    return AgentSession(around, conversation, mailbox, tools, fence).run(mission(brief, fence))


def _given(start: Start, prepared: Prepared, rules: str, servers: tuple[Server, ...]) -> Given:
    session = prepared.session
    brief, limits = session.brief, session.brief.limits
    files = session.workspace.contract_files
    permissions = permissions_of(
        brief, session.territory.scope, files.refusal if files is not None else lambda _path: ""
    )
    return Given(
        choice=brief.agent,
        role=brief.role,
        rules=rules,
        root=session.territory.root,
        home=start.home / "agent",
        base_url=prepared.loopback.url,
        model=brief.agent.model or brief.model,
        servers=servers,
        permissions=permissions,
        turns=max(limits.turns - session.turn, 1),
        time_s=limits.time_s,
        command_s=limits.command_s,
        context_tokens=limits.context_tokens,
    )


class _Rescue:
    """Saves work in progress every few minutes. On the thread that reads the program's output: what it says meanwhile waits in its
    pipe, and no git of ours runs beside the program's end."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._saved_at = time.monotonic()

    def tick(self) -> None:
        """Save, if it is time."""
        if time.monotonic() - self._saved_at > RESCUE_EVERY_S:
            self._session.workspace.rescue(f"Work in progress, turn {self._session.turn}")
            self._saved_at = time.monotonic()
