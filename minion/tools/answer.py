"""Answering a consultation: one choice and its reasons, which end the session. Nothing of its working copy is kept."""

import json

from minion.errors import ToolError
from minion.protocol import Consultation, ConsultationKind, Outcome, Scope, ScopeError
from minion.session import Session
from minion.tools.tool import Kind, Parameter, Submission, Tool

MAX_TEXT_CHARS = 20_000
MAX_ITEMS = 100
MAX_ITEM_CHARS = 4_000


def give_answer(
    session: Session,
    *,
    choice: str,
    text: str,
    patterns: tuple[str, ...] = (),
    assignments: dict[str, str] | None = None,
) -> Submission:
    assignments = assignments or {}
    if not text.strip():
        raise ToolError("text is empty; say why you chose this.")
    if len(text) > MAX_TEXT_CHARS:
        raise ToolError(f"text has {len(text):,} characters; at most {MAX_TEXT_CHARS:,} are taken.")
    _check_sizes("patterns", patterns)
    _check_sizes("assignments", (*assignments, *assignments.values()))
    _check_patterns(patterns)
    _check_names(session, assignments)
    made = {"choice": choice, "text": text, "patterns": list(patterns), "assignments": assignments}
    return Submission(
        outcome=Outcome.COMPLETE, summary=f"{choice}: {text}", answer=json.dumps(made, ensure_ascii=False)
    )


def _check_sizes(name: str, items: tuple[str, ...]) -> None:
    if len(items) > 2 * MAX_ITEMS or any(len(item) > MAX_ITEM_CHARS for item in items):
        raise ToolError(f"{name} takes at most {MAX_ITEMS} entries of {MAX_ITEM_CHARS:,} characters.")


def _check_patterns(patterns: tuple[str, ...]) -> None:
    try:
        if patterns:
            Scope.parse(json.dumps(patterns))
    except ScopeError as error:
        raise ToolError(f"patterns cannot be used: {error}.") from None


def _check_names(session: Session, assignments: dict[str, str]) -> None:
    terms = session.brief.terms
    known = [item.name for item in terms.assignments] if terms is not None else []
    if unknown := sorted(set(assignments) - set(known)):
        raise ToolError(
            f"There is no assignment {', '.join(unknown)[:500]}. Known: {', '.join(known) or 'none, so leave assignments out'}."
        )


def tool_for(consultation: Consultation) -> Tool:
    """The tool that answers this question."""
    parameters = [
        Parameter(name="choice", meaning="Your answer.", required=True, choices=consultation.choices),
        Parameter(
            name="text",
            meaning="Why, and what whoever goes on has to know. It is all they get of you.",
            required=True,
        ),
    ]
    if consultation.kind is ConsultationKind.RESOLUTION:
        parameters += [
            Parameter(
                name="patterns",
                meaning="Path patterns to be written beside the scope, where the choice is about that.",
                kind=Kind.TEXTS,
            ),
            Parameter(
                name="assignments",
                meaning="By the name of an assignment: its new text, or why it is not to be worked on.",
                kind=Kind.TEXTS_BY_NAME,
            ),
        ]
    return Tool(
        name="give_answer",
        meaning="Answer the question you were asked, and end the session.",
        run=give_answer,
        parameters=tuple(parameters),
    )
