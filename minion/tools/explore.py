"""Exploring: a question about the repository is answered by a conversation of its own that only reads, so that what it reads does not
fill the session's. One level: an exploration has no exploration of its own.
"""

from collections.abc import Mapping

from minion.errors import ToolError
from minion.protocol import Brief
from minion.session import Session
from minion.tools import read, search
from minion.tools.tool import Kind, Parameter, Tool

MOST_EXPLORATIONS = 8
"""Of one session."""
READS = tuple(tool.name for tool in (*read.TOOLS, *search.TOOLS))
"""All that an exploration can do."""


def explores(brief: Brief) -> bool:
    """Whether a session may have parts of the repository explored."""
    return brief.portfolio is not None and brief.portfolio.explores


def with_explore(brief: Brief, tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """A session's tools and the one that explores, where it may and has a tool that reads."""
    return {**tools, EXPLORE.name: EXPLORE} if explores(brief) and _reading(tools) else dict(tools)


def explore(session: Session, *, question: str, paths: tuple[str, ...] = ()) -> str:
    count(session, question)
    from minion.native.exploration import Ground, explored  # few sessions explore

    return explored(
        Ground(
            session=session,
            tools=reading_tools(session.brief),
            session_api=session.session_api,
            waiting=session.interrupts.waiting,
        ),
        question,
        paths,
    )


def count(session: Session, question: str) -> None:
    """Count an exploration that is about to begin. Raises ToolError where none is left."""
    if not question.strip():
        raise ToolError("question is empty; say what you want to know about the repository.")
    if session.explorations >= MOST_EXPLORATIONS:
        raise ToolError(f"This session has made its {MOST_EXPLORATIONS} explorations. Read by yourself.")
    session.explorations += 1


def reading_tools(brief: Brief) -> dict[str, Tool]:
    """What an exploration of this session can do: it reads as the session does, and no more than its contract leaves it."""
    from minion.tools.registry import tools_of  # which lists the tool of this module

    return _reading(tools_of(brief))


def _reading(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    return {name: tool for name, tool in tools.items() if name in READS}


EXPLORE = Tool(
    name="explore",
    meaning=(
        "Have one question about the repository answered by a helper that only reads (list, read, search). You get its summary, with "
        "the files and lines it read. For what takes many files to find out; read a file you know by yourself."
    ),
    run=explore,
    parameters=(
        Parameter(
            name="question",
            meaning="What you want to know. The helper knows nothing of your task: say all it needs.",
            required=True,
        ),
        Parameter(name="paths", meaning="Files or directories to begin with.", kind=Kind.TEXTS),
    ),
)
