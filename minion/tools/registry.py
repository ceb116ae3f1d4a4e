"""Every tool, under one name each, and the one place a call is made and its failure put into words."""

from minion import skills
from minion.errors import ToolError
from minion.model import ToolCall
from minion.session import Session
from minion.tools import ask, edit, read, run, search, submit
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
SCHEMAS = [tool.schema() for tool in _ALL]


def perform(session: Session, call: ToolCall) -> str | Submission:
    """Do what a model asked for. Raises ToolError with a sentence it can act on, and nothing else of a tool's own."""
    tool = TOOLS.get(call.name)
    if tool is None:
        raise ToolError(f"There is no tool {call.name}. Known: {', '.join(TOOLS)}.")
    if call.problem:
        raise ToolError(f"{call.name} was not called: {call.problem}.")
    try:
        return tool.run(session, **tool.read(call.arguments))
    except OSError as error:
        place = "" if error.filename is None else f": {error.filename}"
        raise ToolError(f"{call.name} failed: {error.strerror or error}{place}") from error
