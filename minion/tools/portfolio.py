"""The tools of a session of the portfolio: each says one thing to Overlord, which keeps it and answers. Nothing here waits for people."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from minion.errors import SessionApiRefused, ToolError
from minion.portfolio import (
    COMPLETION_PATH,
    ESCALATIONS_PATH,
    KNOWLEDGE_PATH,
    PLAN_PATH,
    TASKS_PATH,
    Addressed,
    Completion,
    CompletionVerdict,
    EscalationKept,
    KnownNote,
    NewEscalation,
    NewNote,
    NewTask,
    NoteKept,
    NotesFound,
    NoteTest,
    PlannedTask,
    PlanVerdict,
    ProposedPlan,
    Suggestion,
    TaskKept,
)
from minion.protocol import Brief, decode, encode
from minion.session import Session
from minion.tools.explore import with_explore
from minion.tools.tool import Kind, Parameter, Tool, object_schema, read_values

SAID_TO_THE_MODEL = frozenset({400, 403, 404, 409, 413, 422, 429})
"""Refusals that the model can act on; any other ends the session as it does everywhere."""
MOST_WORDS_CHARS = 500
"""Of what is searched for."""
PRIORITIES = ("urgent", "high", "normal", "low")
NOTE_KINDS = ("convention", "preference", "decision", "pattern")
CHECKS = ("path_exists", "path_missing", "text_present", "text_absent")
ESCALATION_TYPES = ("decision", "blocker", "question", "approval")
ESCALATION_KINDS = (
    "dependency",
    "convention",
    "other_space",
    "scope",
    "direction",
    "trade_off",
    "credentials",
    "detail",
)

Answer = TypeVar("Answer")


def with_portfolio(brief: Brief, tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """A session's tools, and those that the portfolio gives it beside."""
    given = () if brief.portfolio is None else brief.portfolio.tools
    return {**with_explore(brief, tools), **{tool.name: tool for tool in TOOLS if tool.name in given}}


def propose_plan(
    session: Session, *, text: str = "", tasks: Sequence[dict[str, Any]] = (), still_holds: bool = False
) -> str:
    if not still_holds and not (text.strip() and tasks):
        raise ToolError("Give text and tasks; or still_holds, where the present plan holds as it is.")
    planned = tuple(PlannedTask(**values) for values in _objects("tasks", _PLANNED, tasks))
    verdict = _sent(
        session, PLAN_PATH, ProposedPlan(text=text, tasks=planned, still_holds=still_holds), PlanVerdict
    )
    if verdict.valid:
        return "The plan is kept, and a person is asked about it: end the session with task_complete."
    if verdict.left < 1:
        then = "No proposal is left: end the session with task_complete, and say in its summary what is open."
    else:
        then = f"Proposals left: {verdict.left}. Mend each problem and call propose_plan with the whole plan again."
    return f"The plan was not kept. {then}\n{_numbered(verdict.problems)}"


def add_task(session: Session, **values: Any) -> str:
    kept = _sent(session, TASKS_PATH, NewTask(**values), TaskKept)
    then = " A person decides whether it is done." if kept.state == "proposed" else ""
    return f"Kept as task {kept.ref} ({kept.state}).{then} Go on with your own work."


def note_knowledge(
    session: Session,
    *,
    text: str,
    kind: str = "",
    question: str = "",
    contradicts: str = "",
    check: str = "",
    check_path: str = "",
    check_text: str = "",
    nothing_learned: bool = False,
) -> str:
    if not kind and not (nothing_learned or contradicts):
        raise ToolError(f"note_knowledge needs kind, one of {', '.join(NOTE_KINDS)}.")
    note = NewNote(
        kind=kind or "pattern",
        text=text,
        question=question,
        check=_check(check, check_path, check_text),
        contradicts=f"n{contradicts}" if contradicts.isdecimal() else contradicts,
        nothing_learned=nothing_learned,
    )
    kept = _sent(session, KNOWLEDGE_PATH, note, NoteKept)
    return f"Kept as note {kept.ref} ({kept.state})." if kept.ref else "Noted."


def _check(kind: str, path: str, text: str) -> NoteTest | None:
    """What has to hold for a note to count. Raises ToolError for half of it."""
    if not (kind or path or text):
        return None
    if not (kind and path) or (text == "") is kind.startswith("text_"):
        raise ToolError(
            "A check has check and check_path, and with text_present or text_absent also check_text; or leave out all three."
        )
    return NoteTest(kind=kind, path=path, text=text)


def search_knowledge(session: Session, *, words: str) -> str:
    if not words.strip():
        raise ToolError("words is empty; say what the notes are to be about.")
    path = f"{KNOWLEDGE_PATH}?q={quote(words.strip()[:MOST_WORDS_CHARS])}"
    found = _asked(session, "GET", path, None, NotesFound).notes
    if not found:
        return "No note has these words."
    intro = "Notes are data, and may be wrong: say so with note_knowledge and contradicts."
    return "\n".join([intro, *map(note_line, found)])


def note_line(note: KnownNote) -> str:
    """A note in one line, with its number."""
    return f"- {note.ref} ({note.kind}, {note.space or 'everywhere'}): {' '.join(note.text.split())}"


def escalate(session: Session, *, suggested: Sequence[dict[str, Any]] = (), **values: Any) -> str:
    offered = tuple(Suggestion(**each) for each in _objects("suggested", _SUGGESTED, suggested))
    kept = _sent(session, ESCALATIONS_PATH, NewEscalation(suggested=offered, **values), EscalationKept)
    if kept.resolution and not kept.ref:
        return kept.resolution  # the session decides it, and nothing was written down
    if kept.resolution:
        cited = f" (from {kept.cites})" if kept.cites else ""
        return f"{kept.ref} is resolved{cited}: {kept.resolution}"
    return (
        f"Kept as {kept.ref} ({kept.state}). Do not wait for the answer, which comes as a message or with a later brief: go on with "
        "what is not blocked. Where nothing is left to do, end the session with task_blocked."
    )


def record_completion(session: Session, *, notes: str, addressed: Sequence[dict[str, Any]]) -> str:
    done = tuple(Addressed(**each) for each in _objects("addressed", _ADDRESSED, addressed))
    verdict = _sent(session, COMPLETION_PATH, Completion(notes=notes, addressed=done), CompletionVerdict)
    if verdict.accepted:
        return "Recorded. End the session with task_complete when its work is done."
    return f"Not recorded. Mend this and call record_completion again:\n{_numbered(verdict.reasons)}"


def _objects(
    name: str, parameters: Sequence[Parameter], values: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The objects of a list, each read as its parameters say. Raises ToolError with the number of the one that is wrong."""
    return [
        read_values(f"{name}, item {number},", parameters, value) for number, value in enumerate(values, 1)
    ]


def _numbered(sentences: Sequence[str]) -> str:
    return "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))


def _sent(session: Session, path: str, record: object, kind: type[Answer]) -> Answer:
    return _asked(session, "POST", path, encode(record), kind)


def _asked(session: Session, method: str, path: str, body: bytes | None, kind: type[Answer]) -> Answer:
    """What Overlord answers. Raises ToolError with what it holds against it, or any other refusal."""
    try:
        return decode(kind, session.session_api.call(method, path, body).body)
    except SessionApiRefused as error:
        if error.status not in SAID_TO_THE_MODEL:
            raise
        raise ToolError(f"It was not taken: {error}") from error


_TASK = (
    Parameter(name="subject", meaning="What is to be done, in one line.", required=True),
    Parameter(
        name="acceptance_criteria",
        meaning="How to tell that it is done; one checkable sentence each.",
        kind=Kind.TEXTS,
        required=True,
    ),
    Parameter(name="description", meaning="What whoever does it has to know."),
    Parameter(name="priority", meaning="normal when left out.", choices=PRIORITIES),
    Parameter(name="labels", meaning="Short words to sort by.", kind=Kind.TEXTS),
    Parameter(name="paths", meaning="What it will write, as patterns: src/api/**.", kind=Kind.TEXTS),
)
_PLANNED = (
    *_TASK,
    Parameter(
        name="blocked_by",
        meaning="Tasks of this list that have to be done before it, by their place, from 1.",
        kind=Kind.NUMBERS,
        least=1,
    ),
    Parameter(
        name="task",
        meaning="The number of the task it changes; left out for a new one.",
        kind=Kind.NUMBER,
        least=0,
    ),
    Parameter(name="repository", meaning="Another repository to do it in, owner/name; mostly left out."),
)
_SUGGESTED = (
    Parameter(name="label", meaning="The answer, in a few words.", required=True),
    Parameter(name="description", meaning="What it would mean."),
)
_ADDRESSED = (
    Parameter(name="number", meaning="The criterion's number.", kind=Kind.NUMBER, required=True, least=1),
    Parameter(name="evidence", meaning="What shows that it holds: a test, a file and line.", required=True),
)

TOOLS = (
    Tool(
        name="propose_plan",
        meaning="Propose the initiative's plan, whole. Overlord answers with every problem; a person approves it.",
        run=propose_plan,
        parameters=(
            Parameter(
                name="text", meaning="plan.md in Markdown: goal, present state, approach, what is next."
            ),
            Parameter(
                name="tasks",
                meaning="All tasks that are left. One that nobody has begun and that is left out is cancelled.",
                kind=Kind.OBJECTS,
                of=object_schema(_PLANNED),
            ),
            Parameter(
                name="still_holds",
                meaning="true where the present plan holds as it is; then leave out text and tasks.",
                kind=Kind.FLAG,
            ),
        ),
    ),
    Tool(
        name="add_task",
        meaning="Keep work that you came upon and that is not yours as a task of the initiative. Then go on with yours.",
        run=add_task,
        parameters=(
            *_TASK,
            Parameter(
                name="blocked_by", meaning="Tasks to be done before it, as i3.4.", kind=Kind.REFERENCES
            ),
        ),
    ),
    Tool(
        name="note_knowledge",
        meaning="Note what later sessions should know, in one or two sentences that stand alone; or that a note is wrong.",
        run=note_knowledge,
        parameters=(
            Parameter(name="text", meaning="What is so, and why.", required=True),
            Parameter(
                name="kind",
                meaning=(
                    "convention: how things are done here; preference: how people like to work; decision: what was decided, and why; "
                    "pattern: how the code here is made."
                ),
                choices=NOTE_KINDS,
            ),
            Parameter(name="question", meaning="The question it answers, where that may be asked again."),
            Parameter(
                name="contradicts", meaning="The number of a note that is wrong: n12.", kind=Kind.REFERENCE
            ),
            Parameter(name="check", meaning="What has to hold for the note to count.", choices=CHECKS),
            Parameter(name="check_path", meaning="The file that check looks at."),
            Parameter(
                name="check_text", meaning="The text that text_present or text_absent looks for in it."
            ),
            Parameter(
                name="nothing_learned",
                meaning="true where there is nothing to note; text says why.",
                kind=Kind.FLAG,
            ),
        ),
    ),
    Tool(
        name="search_knowledge",
        meaning="Search the notes of this repository and those that count everywhere. Do so before you escalate or ask.",
        run=search_knowledge,
        parameters=(Parameter(name="words", meaning="What they are about, in a few words.", required=True),),
    ),
    Tool(
        name="escalate",
        meaning="Hand up what you cannot decide. It does not wait: go on with what is not blocked.",
        run=escalate,
        parameters=(
            Parameter(
                name="type",
                meaning="decision: pick one of several; blocker: provide what is needed; question: answer; approval: approve or redirect.",
                required=True,
                choices=ESCALATION_TYPES,
            ),
            Parameter(
                name="kind",
                meaning=(
                    "dependency: a new one; convention: against what is agreed on; other_space: another repository is affected; scope: does "
                    "more belong to it; direction: another goal; trade_off: no clear best way; credentials: an access or account; detail: "
                    "what you may decide yourself."
                ),
                required=True,
                choices=ESCALATION_KINDS,
            ),
            Parameter(name="question", meaning="The question, in one sentence.", required=True),
            Parameter(name="context", meaning="What is needed to answer it."),
            Parameter(
                name="suggested",
                meaning="Answers to choose from, the one you recommend first.",
                kind=Kind.OBJECTS,
                of=object_schema(_SUGGESTED),
            ),
            Parameter(name="priority", meaning="normal when left out.", choices=PRIORITIES),
            Parameter(
                name="blocks",
                meaning="What cannot go on without it: nothing, task (yours, when left out), initiative, or another task as i3.4.",
                kind=Kind.REFERENCE,
            ),
        ),
    ),
    Tool(
        name="record_completion",
        meaning="Record how your task was done, before task_complete.",
        run=record_completion,
        parameters=(
            Parameter(
                name="notes", meaning="What was done, and what the next one should know.", required=True
            ),
            Parameter(
                name="addressed",
                meaning="For each acceptance criterion, what shows that it holds.",
                kind=Kind.OBJECTS,
                required=True,
                of=object_schema(_ADDRESSED),
            ),
        ),
    ),
)
