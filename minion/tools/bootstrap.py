"""What a session of a repository's first job records beside its work: a contract it proposes, or what documents and code answer.

Overlord judges and keeps both. What it keeps comes back and is laid into the working copy's plan, so that the session reads what
counts, and a save has nothing else.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from minion.errors import SessionApiRefused, ToolError
from minion.protocol import CONTRACT_PATH, DISCOVERY_PATH, Bootstrap
from minion.session import Session
from minion.tools.tool import Kind, Parameter, Tool

SAID_TO_THE_MODEL = frozenset({400, 403, 409, 413, 422, 429})
"""Refusals that the model can act on; any other ends the session as it does everywhere."""


def propose_contract(session: Session, *, contract: Mapping[str, Any] | str) -> str:
    """Have a contract judged. Text that is no JSON is sent as the YAML it probably is."""
    value = {"yaml": contract} if isinstance(contract, str) else _unwrapped(contract)
    answer = _sent(session, CONTRACT_PATH, {"contract": value})
    is_valid, problems, left = bool(answer["valid"]), answer["problems"], int(answer["left"])
    session.is_contract_settled = is_valid or left < 1
    _lay(session, answer["yaml"])
    path = Bootstrap.CONTRACT.path
    if is_valid:
        return f"The contract is valid and kept as {path}: end the session with task_complete."
    held = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    if left < 1:
        then = "No proposal is left: end the session with task_complete; a person gets the best one with what is left."
    else:
        then = f"{_count(left, 'proposal')} left: mend each problem and call propose_contract with the whole contract again."
    listed = "\n".join(f"{number}. {problem}" for number, problem in enumerate(problems, 1))
    return f"The contract is not valid, with {held}. {path} has the best one so far. {then}\n{listed}"


def record_discovery(
    session: Session, *, answers: Sequence[dict[str, Any]] = (), questions: Sequence[dict[str, Any]] = ()
) -> str:
    """Record what was read, and what has to be asked besides."""
    if not answers and not questions:
        raise ToolError("There is nothing to record: give answers, questions, or both.")
    recording = {"answers": [*map(_mended, answers)], "questions": [*map(_mended, questions)]}
    answer = _sent(session, DISCOVERY_PATH, recording)
    _lay(session, answer["text"])
    refused, unrecorded = answer["refused"], answer["unrecorded"]
    said = [f"Recorded: {answer['recorded']}."]
    if refused:
        said.append(
            "\n".join(["Refused; mend and record these again:", *(f"- {reason}" for reason in refused)])
        )
    if unrecorded:
        said.append(f"Not looked at yet ({len(unrecorded)}): {', '.join(unrecorded)}.")
    else:
        said.append("Every id was looked at. End with task_complete once nothing else needs a question.")
    if int(answer["left"]) < 1:
        said.append("No more can be recorded in this session: end it with task_complete.")
    return "\n".join(said)


def _count(number: int, noun: str) -> str:
    return f"1 {noun} is" if number == 1 else f"{number} {noun}s are"


def _unwrapped(contract: Mapping[str, Any]) -> Mapping[str, Any]:
    """A contract that was put into an object of its own name once more; its own key of that name is a text."""
    inner = contract.get("contract")
    return inner if len(contract) == 1 and isinstance(inner, dict) else contract


def _mended(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item without what models commonly get wrong: a null for what is left out, a number or a list as text, capitals."""
    kept = {name: value for name, value in item.items() if value is not None}
    for name in ("confidence", "kind"):
        if isinstance(kept.get(name), str):
            kept[name] = kept[name].strip().lower()
    if isinstance(alternatives := kept.get("alternatives"), str):
        kept["alternatives"] = [alternatives] if alternatives.strip() else []
    if kept.get("tier") in ("1", "2", "3"):
        kept["tier"] = int(kept["tier"])
    return kept


def _sent(session: Session, path: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What Overlord answers. Raises ToolError with what it holds against it."""
    try:
        body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except RecursionError:
        raise ToolError("The arguments are nested too deep. Nothing was recorded.") from None
    try:
        answer: Mapping[str, Any] = session.session_api.post(path, body).json()
    except SessionApiRefused as error:
        if error.status not in SAID_TO_THE_MODEL:
            raise
        raise ToolError(f"Nothing was recorded: {error}") from error
    return answer


def _lay(session: Session, text: str) -> None:
    """Lay what Overlord keeps into the working copy."""
    files = session.workspace.contract_files
    assert files is not None, "a session with this tool has a plan"
    files.record(session.workspace.root, text)


def tool_for(bootstrap: Bootstrap, contract_schema: str) -> Tool:
    """The tool of a session that records this."""
    return _proposing(contract_schema) if bootstrap is Bootstrap.CONTRACT else _RECORDING


def _proposing(contract_schema: str) -> Tool:
    contract = Parameter(
        name="contract",
        meaning="The whole contract.",
        kind=Kind.DOCUMENT,
        required=True,
        of=json.loads(contract_schema) if contract_schema else {},
    )
    return Tool(
        name="propose_contract",
        meaning=(
            "Propose the repository's contract, whole. Overlord judges it by the rules in plan/rules.md and answers with every problem."
        ),
        run=propose_contract,
        parameters=(contract,),
    )


def _text(meaning: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": meaning, **more}


_TEXTS = {"type": "array", "items": {"type": "string"}, "description": "What else could have been chosen."}
_SOURCE = _text("The path of the file that says it.")
_QUOTE = _text("The words there that say it, exactly as they stand.")
_RATIONALE = _text("Why.")
_ANSWER: dict[str, Any] = {
    "properties": {
        "id": _text("The question's id in plan/discovery.md."),
        "answer": _text("The answer. Leave it out where nothing says it."),
        "confidence": _text("How sure it is.", enum=["low", "medium", "high"]),
        "source": _SOURCE,
        "quote": _QUOTE,
        "rationale": _RATIONALE,
        "alternatives": _TEXTS,
        "default": _text("What to propose to a person where it has to be asked."),
    },
    "required": ["id"],
    "additionalProperties": False,
}
_QUESTION: dict[str, Any] = {
    "properties": {
        "kind": _text(
            "conflict: two sources say different things; gap: the work needs what nothing says; decision: a choice that "
            "shapes the project.",
            enum=["conflict", "gap", "decision"],
        ),
        "tier": {
            "type": "integer",
            "enum": [1, 2, 3],
            "description": "1: no work makes sense without it; 2: it shapes the structure; 3: a detail with a usual answer.",
        },
        "section": _text("The section of plan/discovery.md it belongs to."),
        "ask": _text("The question, for a person."),
        "default": _text("What to propose as the answer."),
        "rationale": _RATIONALE,
        "alternatives": _TEXTS,
        "source": _SOURCE,
        "quote": _QUOTE,
    },
    "required": ["kind", "tier", "section", "ask"],
    "additionalProperties": False,
}
_RECORDING = Tool(
    name="record_discovery",
    meaning="Record what documents and code answer of plan/discovery.md, and questions that a person has to be asked besides.",
    run=record_discovery,
    parameters=(
        Parameter(name="answers", meaning="What was read, each with where.", kind=Kind.OBJECTS, of=_ANSWER),
        Parameter(name="questions", meaning="What has to be asked besides.", kind=Kind.OBJECTS, of=_QUESTION),
    ),
)
