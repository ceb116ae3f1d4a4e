"""What a contract's terms make of a session's tools: fewer of them, and words that only its phase knows.

The tools that end a session are always there, and so is the one that records for a repository's first job. A consultation reads, runs commands and answers; it writes nothing.
"""

from collections.abc import Mapping
from dataclasses import replace

from minion.protocol import Brief, Terms
from minion.tools import answer, bootstrap, read, search
from minion.tools.command_list import may_start
from minion.tools.tool import Parameter, Tool

ENDINGS = ("task_complete", "task_blocked", "ask_question")
"""What no contract takes away."""
NEEDS_ESCALATION = "needs_escalation"
_CONSULTED = (*(tool.name for tool in (*read.TOOLS, *search.TOOLS)), "run_command")


def tools_under(brief: Brief, terms: Terms, tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """The tools of a session with these terms, of those there are. A name that no tool has is passed over."""
    kept = dict(tools)
    if terms.tools:
        always = (*ENDINGS, "use_skill") if brief.skills else ENDINGS
        kept = {name: tool for name, tool in kept.items() if name in terms.tools or name in always}
    if terms.bootstrap is not None and terms.consultation is None:
        tool = bootstrap.tool_for(terms.bootstrap, terms.contract_schema)
        kept[tool.name] = tool
    if terms.consultation is not None:
        kept = {name: tool for name, tool in kept.items() if name in (*_CONSULTED, "task_blocked")}
        kept["give_answer"] = answer.tool_for(terms.consultation)
    if terms.commands is not None and (found := kept.get("run_command")):
        kept["run_command"] = replace(found, meaning=f"{found.meaning} {may_start(terms.commands)}")
    if set(terms.outcomes) - {"done"} and (found := kept.get("task_complete")):
        kept["task_complete"] = replace(found, parameters=(*found.parameters, _outcome(terms)))
    if terms.events and (found := kept.get("task_blocked")):
        kept["task_blocked"] = replace(found, parameters=(*found.parameters, _event(terms)))
    return kept


def _outcome(terms: Terms) -> Parameter:
    return Parameter(
        name="outcome",
        meaning="How the work of this phase ended.",
        required="done" not in terms.outcomes,
        choices=terms.outcomes,
    )


def _event(terms: Terms) -> Parameter:
    events = tuple(dict.fromkeys((NEEDS_ESCALATION, *terms.events)))
    return Parameter(
        name="event", meaning=f"Why it is handed up; {NEEDS_ESCALATION} when left out.", choices=events
    )
