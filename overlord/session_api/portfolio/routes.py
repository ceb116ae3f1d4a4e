"""Which call of a session of the portfolio is answered where. A new one is a new row of the table, and nothing else."""

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from minion.protocol import (
    COMPLETION_PATH,
    ESCALATIONS_PATH,
    IDLE_PATH,
    KNOWLEDGE_PATH,
    PLAN_PATH,
    TASKS_PATH,
    SessionKind,
)
from overlord.domain.session import Session
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.portfolio import completion, escalations, idle, knowledge, plan, tasks

Call = Callable[[Request, SessionApiParts, Session], Awaitable[Response]]

CALLS: Mapping[tuple[str, str], Call] = {
    ("GET", KNOWLEDGE_PATH): knowledge.search,
    ("POST", KNOWLEDGE_PATH): knowledge.note,
    ("POST", COMPLETION_PATH): completion.record,
    ("POST", IDLE_PATH): idle.ask,
    ("POST", ESCALATIONS_PATH): escalations.escalate,
    ("POST", PLAN_PATH): plan.plan,
    ("POST", TASKS_PATH): tasks.add_task,
}


def portfolio_routes(call: Callable[..., Callable[[Request], Awaitable[Response]]]) -> list[Route]:
    """What sessions of the portfolio call; each is refused to a session whose brief does not have the tool."""
    return [
        Route(path, call(act, SessionKind.WORK), methods=[method]) for (method, path), act in CALLS.items()
    ]
