"""What is typed on the command line for the arguments of verbs and queries: parameters that Typer reads, and what was typed."""

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from overlord.domain.conversation.argument import (
    ApprovalArgument,
    InitiativeArgument,
    SkillArgument,
    TaskArgument,
)
from overlord.domain.decision import ApprovalKind, ApprovalRef
from overlord.domain.text.reference import InitiativeRef, TaskRef, initiative_in, number_in, task_in

KEYWORD = inspect.Parameter.KEYWORD_ONLY
_NUMBERED = {
    ApprovalKind.DECISION: "give a decision's number",
    ApprovalKind.PROPOSAL: "give a proposal as p3",
    ApprovalKind.DRAFT: "give a draft as d3",
}
_METAVARS = {ApprovalKind.DECISION: "NUMBER", ApprovalKind.PROPOSAL: "P3", ApprovalKind.DRAFT: "D3"}


def argument(name: str, kind: Any, default: Any = inspect.Parameter.empty, **told: Any) -> inspect.Parameter:
    """One that is known by its place."""
    return inspect.Parameter(
        name, KEYWORD, default=default, annotation=Annotated[kind, typer.Argument(**told)]
    )


def option(name: str, kind: Any, default: Any, **told: Any) -> inspect.Parameter:
    """One that is known by its name."""
    annotation = Annotated[kind, typer.Option(f"--{name}", **told)]
    return inspect.Parameter(name.replace("-", "_"), KEYWORD, default=default, annotation=annotation)


def run_as(
    run: Callable[..., None], name: str, help: str, parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """A function as a command of that name, with these parameters."""
    run.__name__, run.__doc__ = name, help
    run.__annotations__ = {item.name: item.annotation for item in parameters}
    run.__signature__ = inspect.Signature(sorted(parameters, key=_is_optional))  # type: ignore[attr-defined]
    return run


def _is_optional(parameter: inspect.Parameter) -> bool:
    return parameter.default is not inspect.Parameter.empty


def skill(name: str, kind: SkillArgument) -> list[inspect.Parameter]:
    """A skill, with the repository it is of."""
    space = option("space", str, "", help="Its repository, where there are several.", metavar="SPACE")
    return [argument(name, str, help=kind.help), space]


def shown_approval(only: ApprovalKind | None) -> dict[str, Any]:
    """How the help shows what is approved."""
    help = ApprovalArgument().help if only is None else f"The {only}'s number."
    return {"help": help, "metavar": _METAVARS[only or ApprovalKind.DECISION]}


def approval(kind: ApprovalArgument, word: str, only: ApprovalKind | None) -> ApprovalRef:
    """What a word names; in a group about one kind, its number alone does. Raises typer.BadParameter, which is wrong usage."""
    kinds = kind.kinds if only is None else frozenset({only})
    reader, number = ApprovalArgument(kinds=kinds), number_in(word)
    if only not in {None, ApprovalKind.DECISION} and number is not None:
        return ApprovalRef(kind=only or ApprovalKind.DECISION, number=number)
    found = reader.named(word)
    if found is None:
        raise typer.BadParameter(" or ".join(text for known, text in _NUMBERED.items() if known in kinds))
    return found


def of_portfolio(kind: InitiativeArgument | TaskArgument, word: str) -> InitiativeRef | TaskRef:
    """The initiative or task that a word names. Raises typer.BadParameter, which is wrong usage."""
    found = task_in(word) if isinstance(kind, TaskArgument) else initiative_in(word)
    if found is None:
        named = "a task as i3.4" if isinstance(kind, TaskArgument) else "an initiative as i3"
        raise typer.BadParameter(f"give {named}")
    return found
