"""What the model of a session of the portfolio is told: where the initiative stands, its task, what was learned, how to go on.

The briefing comes before everything else. All texts are data, the briefing too: it quotes what people and sessions wrote.
"""

from collections.abc import Iterable, Iterator

from minion.native.prompt import ISSUE_CHARS, WORLD_CHARS, Words, fenced
from minion.portfolio import PortfolioBrief, PortfolioTool, ResolvedText, TaskText

_DUTIES = {
    PortfolioTool.PROPOSE_PLAN: (
        "You plan, and write nothing in the repository. See first whether the present plan still holds. Then propose_plan: the plan and "
        "its tasks, each small enough for one pull request and with criteria that can be checked; or that the plan still holds. A person "
        "approves it."
    ),
    PortfolioTool.EXPLORE: "Where many files have to be read to know one thing, have explore find it out.",
    PortfolioTool.SEARCH_KNOWLEDGE: "Before you put a question to anybody, search_knowledge: what is answered there is not asked again.",
    PortfolioTool.ESCALATE: (
        "Decide by yourself what only concerns how the code is written. What you cannot decide: escalate, then go on with what is not "
        "blocked. End with {blocked} only when everything that is left is blocked and escalated."
    ),
    PortfolioTool.ADD_TASK: "Work that you come upon and that is not yours: add_task, then go on with yours.",
    PortfolioTool.NOTE_KNOWLEDGE: (
        "Note with note_knowledge what later sessions should know: what was decided and why, how things are done here. A note may be "
        "wrong: say so with note_knowledge contradicts=12, and what is so instead."
    ),
    PortfolioTool.RECORD_COMPLETION: (
        "Before {complete}: record_completion, with what was done and, for each acceptance criterion by its number, what shows that it holds."
    ),
}
"""What a session does with each tool that it has, in the order it is told."""
_WITHOUT_TOOLS = """\
- Decide by yourself what only concerns how the code is written. Go on with what is not blocked; end with NEEDS_ESCALATION only when \
everything that is left is blocked.
- PHASE_COMPLETE may carry, each as a list of texts: "learnings", what later sessions should know, and a note that is wrong with its \
number ("n12 is wrong: …"); "follow_ups", work that you came upon and that is not yours. Its "summary" says for each acceptance \
criterion, by its number, what shows that it holds.
"""


def duties(portfolio: PortfolioBrief, words: Words) -> str:
    """How such a session works, in words of ours; empty where nothing is asked of it."""
    if not words.has_tools:
        return f"How you work in this initiative\n{_WITHOUT_TOOLS}" if portfolio.initiative else ""
    told = [
        f"- {text.format(blocked=words.blocked, complete=words.complete)}"
        for tool, text in _DUTIES.items()
        if tool in portfolio.tools
    ]
    where = f" (tools of the MCP server {words.server})" if words.server else ""
    intro = (
        "How you work in this initiative" if portfolio.initiative else "What was learned, and what you learn"
    )
    return "\n".join([f"{intro}{where}", *told, ""]) if told else ""


def mission_parts(portfolio: PortfolioBrief, fence: str) -> Iterator[tuple[str, str]]:
    """What it is to do, before the issue, as pairs of source and text."""
    of = " ".join(portfolio.initiative.split()) or "none"
    yield from _parts(
        fence,
        ISSUE_CHARS,
        ("briefing", "Where the work stands, and what to do now:", portfolio.briefing),
        ("task", f"Your task, of the initiative {of}:", _task(portfolio.task)),
    )


def world_parts(portfolio: PortfolioBrief, fence: str) -> Iterator[tuple[str, str]]:
    """What there is to know beside, as pairs of source and text."""
    notes = "What was learned before, each note with its number. A note may be wrong; what the repository shows counts:"
    listed = "\n".join(
        f"- {note.ref} ({note.kind}, {note.space or 'everywhere'}): {' '.join(note.text.split())}"
        for note in portfolio.notes
    )
    yield from _parts(
        fence,
        WORLD_CHARS,
        ("goal", "The initiative's goal:", portfolio.goal),
        ("plan", "The initiative's plan, plan.md:", portfolio.plan),
        ("tasks", *_others(portfolio)),
        ("resolved", "What was escalated and is resolved:", _resolved(portfolio.resolved)),
        ("notes", notes, listed),
        ("operator", "What the operator says of themselves and of how to work:", portfolio.person),
        ("discipline", "How this kind of work is done:", portfolio.discipline),
    )


def _parts(fence: str, limit_chars: int, *told: tuple[str, str, str]) -> Iterator[tuple[str, str]]:
    for source, intro, text in told:
        if text.strip():
            yield source, f"{intro}\n\n{fenced(fence, source, text, limit_chars)}"


def _others(portfolio: PortfolioBrief) -> tuple[str, str]:
    """The tasks beside a session's own in a line each; one that plans reads all of them whole."""
    if portfolio.task is None:
        return "The initiative's tasks as they are:", "\n\n".join(map(_task, portfolio.tasks))
    return "The initiative's other tasks:", "\n".join(map(_one_line, portfolio.tasks))


def _task(task: TaskText | None) -> str:
    if task is None:
        return ""
    parts = [f"{_one_line(task)}", task.description.strip()]
    if task.acceptance_criteria:
        numbered = (
            f"{number}. {' '.join(text.split())}" for number, text in enumerate(task.acceptance_criteria, 1)
        )
        parts.append("\n".join(["Acceptance criteria:", *numbered]))
    return "\n\n".join(filter(None, parts))


def _one_line(task: TaskText) -> str:
    waits = f"; waits for {', '.join(task.blocked_by)}" if task.blocked_by else ""
    why = f"; {' '.join(task.waits.split())}" if task.waits else ""
    return f"{task.ref} ({task.state}{waits}{why}) {' '.join(task.subject.split())}"


def _resolved(resolved: Iterable[ResolvedText]) -> str:
    return "\n\n".join(
        f"{one.ref}: {one.question.strip()}\nResolved by {one.by}: {one.resolution.strip()}"
        for one in resolved
    )
