"""Every tool, under one name each, and the one place a call is made and its failure put into words."""

from collections.abc import Mapping
from typing import Any

from minion.errors import ToolError
from minion.native.model import ToolCall
from minion.protocol import Brief
from minion.session import Session
from minion.tools import ask, edit, read, run, search, skills, submit
from minion.tools.tool import Submission, Tool

_ALL = (
    *read.TOOLS,
    *search.TOOLS,
    *edit.TOOLS,
    *run.TOOLS,
    *skills.TOOLS,
    *ask.TOOLS,
    *submit.TOOLS,
)
TOOLS: dict[str, Tool] = {tool.name: tool for tool in _ALL}


def tools_of(brief: Brief) -> dict[str, Tool]:
    """The tools of a session, by name: without skills there is nothing to load any with; a contract may take some away, and a
    discipline has its own few."""
    if brief.discipline is not None:
        from minion.tools.discipline import tools_for  # few sessions are of a discipline

        return tools_for(brief.discipline, {tool.name: tool for tool in _ALL})
    without = () if brief.skills else skills.TOOLS
    found = {tool.name: tool for tool in _ALL if tool not in without}
    if brief.terms is not None:
        from minion.tools.contract_tools import tools_under  # most sessions have no contract's terms

        found = tools_under(brief, brief.terms, found)
        if brief.terms.consultation is not None:
            return found
    if brief.portfolio is None:
        return found
    from minion.tools.portfolio import with_portfolio  # nor a part in the portfolio

    return with_portfolio(brief, found)


def schemas_of(brief: Brief) -> list[dict[str, Any]]:
    """The tools of a session as chat completions list them."""
    return [tool.schema() for tool in tools_of(brief).values()]


def perform(session: Session, call: ToolCall) -> str | Submission:
    """Do what a model asked for. Raises ToolError with a sentence it can act on, and nothing else of a tool's own."""
    known = {**tools_of(session.brief), **session.server_tools}
    tool = known.get(call.name)
    if tool is None:
        raise ToolError(f"There is no tool {call.name}. Known: {', '.join(known)}.")
    if call.problem:
        raise ToolError(f"{call.name} was not called: {call.problem}.")
    return use(session, tool, call.arguments)


def use(session: Session, tool: Tool, arguments: Mapping[str, Any]) -> str | Submission:
    """Check a call's arguments and do what the tool does. Raises ToolError."""
    try:
        return tool.run(session, **tool.read(arguments))
    except OSError as error:
        place = "" if error.filename is None else f": {error.filename}"
        raise ToolError(f"{tool.name} failed: {error.strerror or error}{place}") from error
