"""Every kind of criterion, and what the engine does with all of a phase's: a new kind is a file beside this one, and its class in `KINDS`.

How a contract's criteria are judged: `files_of` says what to read, `steps_of` what a check session runs, `judge_all` what that shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from minion.protocol import CheckStep, Finding, StepResult
from overlord.domain.contracts.criteria.artifact_exists import ArtifactExists
from overlord.domain.contracts.criteria.command_fails import CommandFails
from overlord.domain.contracts.criteria.command_succeeds import CommandSucceeds
from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen
from overlord.domain.contracts.criteria.delegation_coverage import DelegationCoverage
from overlord.domain.contracts.criteria.diff_non_empty import DiffNonEmpty
from overlord.domain.contracts.criteria.diff_within_budget import DiffWithinBudget
from overlord.domain.contracts.criteria.evaluation_passed import EvaluationPassed
from overlord.domain.contracts.criteria.http_answers import HttpAnswers
from overlord.domain.contracts.criteria.markdown_has_headings import MarkdownHasHeadings
from overlord.domain.contracts.criteria.script import ScriptPasses
from overlord.domain.contracts.criteria.shell_line import unjudged
from overlord.domain.contracts.part import as_tuple

KINDS: tuple[type[Criterion], ...] = (
    ArtifactExists,
    CommandFails,
    CommandSucceeds,
    DelegationCoverage,
    DiffNonEmpty,
    DiffWithinBudget,
    EvaluationPassed,
    HttpAnswers,
    MarkdownHasHeadings,
    ScriptPasses,
)
KNOWN = ", ".join(item.kind for item in KINDS)
WORDS = ("diff_non_empty", "evaluation_passed")
"""The kinds that have nothing to say but their name."""
CHECK = "criteria"
"""The check that a finding of a criterion is of."""
MOST_FINDING = 4_000
"""Characters of a command's output in a finding; all that is kept is with the result."""


def _kind_of(value: Any) -> str | None:
    """The kind of a criterion as it is written: its one key."""
    if isinstance(value, dict):
        return next(iter(value), None) if len(value) == 1 else None
    return getattr(value, "kind", None)


def _from_text(value: Any) -> Any:
    """A criterion as a mapping of one known key; its name alone will do where there is nothing else to say."""
    if isinstance(value, Criterion):
        return value
    if isinstance(value, str):
        _refuse_unknown(value)
        if value not in WORDS:
            raise ValueError(f"{value} needs to be told what: write `{value}: …`")
        return {value: True}
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(f"a criterion is a mapping of one key, its kind; known: {KNOWN}")
    _refuse_unknown(next(iter(value)))
    return value


def _refuse_unknown(kind: Any) -> None:
    known = [item.kind for item in KINDS]
    if kind in known:
        return
    near = get_close_matches(str(kind)[:100], known, n=1)
    meant = f" Is {near[0]} meant?" if near else ""
    raise ValueError(f"no criterion is called {str(kind)[:100]!r}; known: {KNOWN}.{meant}")


AnyCriterion = Annotated[
    Annotated[ArtifactExists, Tag(ArtifactExists.kind)]
    | Annotated[CommandFails, Tag(CommandFails.kind)]
    | Annotated[CommandSucceeds, Tag(CommandSucceeds.kind)]
    | Annotated[DelegationCoverage, Tag(DelegationCoverage.kind)]
    | Annotated[DiffNonEmpty, Tag(DiffNonEmpty.kind)]
    | Annotated[DiffWithinBudget, Tag(DiffWithinBudget.kind)]
    | Annotated[EvaluationPassed, Tag(EvaluationPassed.kind)]
    | Annotated[HttpAnswers, Tag(HttpAnswers.kind)]
    | Annotated[MarkdownHasHeadings, Tag(MarkdownHasHeadings.kind)]
    | Annotated[ScriptPasses, Tag(ScriptPasses.kind)],
    Discriminator(
        _kind_of,
        custom_error_type="criterion",
        custom_error_message=f"no criterion is called so; known: {KNOWN}",
    ),
]
_Written = Literal["diff_non_empty", "evaluation_passed"] | AnyCriterion
Criteria = Annotated[
    tuple[
        Annotated[AnyCriterion, BeforeValidator(_from_text, json_schema_input_type=_Written)],
        ...,
    ],
    Field(max_length=50),
    BeforeValidator(as_tuple),
]


def steps_of(criteria: Sequence[Criterion]) -> tuple[CheckStep, ...]:
    """What a check session runs for them, each step by a name of its own: `criterion-2-run`."""
    return tuple(
        replace(step, name=f"{_prefix(number)}{step.name}")
        for number, criterion in enumerate(criteria, 1)
        for step in criterion.steps()
    )


def files_of(criteria: Sequence[Criterion]) -> tuple[str, ...]:
    """The paths of the files whose content they judge, each once."""
    return tuple(dict.fromkeys(path for criterion in criteria for path in criterion.files()))


def judge_all(
    criteria: Sequence[Criterion], seen: Seen, report_steps: Mapping[str, StepResult]
) -> tuple[CriterionResult, ...]:
    """What each says, in their order. `report_steps` are the results of `steps_of(criteria)`, by their names; one that is missing or
    did not run to its end leaves its criterion without a judgement, which is never a pass."""
    return tuple(
        _judge(criterion, _prefix(number), seen, report_steps) for number, criterion in enumerate(criteria, 1)
    )


def _judge(
    criterion: Criterion, prefix: str, seen: Seen, report_steps: Mapping[str, StepResult]
) -> CriterionResult:
    own: dict[str, StepResult] = {}
    for step in criterion.steps():
        result = report_steps.get(f"{prefix}{step.name}")
        why = unjudged(step, result)
        if why or result is None:
            return criterion.step_result(None, why, result)
        own[step.name] = result
    return criterion.judge(replace(seen, results=own))


def _prefix(number: int) -> str:
    return f"criterion-{number}-"


def wants_evaluation(criteria: Sequence[Criterion]) -> bool:
    """Whether one of them asks for the whole evaluation."""
    return any(isinstance(criterion, EvaluationPassed) for criterion in criteria)


def not_static(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Those that need a check session or an evaluation, and so can be no preconditions."""
    return tuple(criterion for criterion in criteria if not criterion.is_static)


def findings_of(results: Sequence[CriterionResult]) -> tuple[Finding, ...]:
    """What is not met, and what could not be judged, as the next session is told it."""
    return tuple(
        Finding(
            check=CHECK,
            rule=result.kind,
            message=f"{result.name} – {result.message}",
            file=result.file,
            evidence=result.evidence[-MOST_FINDING:],
        )
        for result in results
        if result.is_met is not True
    )
