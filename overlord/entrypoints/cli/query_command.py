"""Commands that are derived from queries: their arguments, options and help are those of the declaration."""

import inspect
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import typer

from overlord.domain.conversation.argument import (
    ApprovalArgument,
    Argument,
    CommandError,
    InitiativeArgument,
    JobArgument,
    SkillArgument,
    SkillRef,
    TaskArgument,
    Typed,
    WordsArgument,
    arguments_of,
)
from overlord.domain.conversation.contract_argument import (
    ContractTextArgument,
    JobIfAnyArgument,
    JobOptionArgument,
    LastArgument,
    PathArgument,
    RepositoryPlaceArgument,
)
from overlord.domain.conversation.look_argument import (
    CostArgument,
    CostOf,
    DaysArgument,
    DaySpan,
    FindArgument,
    FlagArgument,
    HoursArgument,
    NamedArgument,
    SpaceOptionArgument,
    Span,
)
from overlord.domain.decision import ApprovalKind
from overlord.domain.text.csv_rows import csv_text
from overlord.domain.text.json_text import json_text
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.query_document import show_yaml, write_graph
from overlord.entrypoints.cli.query_form import Form
from overlord.entrypoints.cli.typed_argument import (
    KEYWORD,
    approval,
    argument,
    of_portfolio,
    option,
    run_as,
    shown_approval,
    skill,
)
from overlord.entrypoints.invocation import chosen_address
from overlord.entrypoints.terminal.show import as_json, show_text
from overlord.entrypoints.terminal.view_text import show_view
from overlord.errors import NotFound
from overlord.queries import registry
from overlord.queries.look import Look
from overlord.queries.registry import Question


def query_command(name: str) -> Callable[..., None]:
    """The command of a query, for Typer."""
    query = registry.find(name)

    def run(**values: Any) -> None:
        given = {field: _value(kind, field, values) for field, kind in arguments_of(query.arguments)}
        question = Question(name=name, arguments=query.arguments(**given))
        show(question, form=_form(values), path=str(values.get("svg", "")))

    parameters = [
        parameter for field, kind in arguments_of(query.arguments) for parameter in _parameters(field, kind)
    ]
    parameters.append(option("json", bool, False, help="Print JSON."))
    if query.csv is not None:
        parameters.append(option("csv", bool, False, help="Print rows for a spreadsheet."))
    if query.yaml is not None:
        parameters.append(option("yaml", bool, False, help="Print YAML."))
    if query.has_graph:
        parameters.append(option("svg", str, "", help="Write a drawing to this file.", metavar="FILE"))
    if query.has_runs:
        parameters.append(inspect.Parameter("_repo", KEYWORD, default="", annotation=state.Repo))
    return run_as(run, name, registry.help_of(name), parameters)


def _form(values: Mapping[str, Any]) -> Form:
    """What was asked for. Raises typer.BadParameter, which is wrong usage."""
    asked = [form for form in Form if values.get(form)]
    if len(asked) > 1:
        raise typer.BadParameter(f"give {' or '.join(f'--{form}' for form in asked)}, not both")
    return asked[0] if asked else Form.VIEW


def show(question: Question, *, form: Form = Form.VIEW, path: str = "") -> None:
    """Look at the state, and print what a query finds there, or write it to the file that is named. Raises NotFound, Refused,
    StoreError."""
    if chosen_address()[0]:
        from overlord.entrypoints.cli.remote import chosen_remote

        chosen_remote().show(question, form, path)
        return
    query, problem, current = registry.find(question.name), "", cache(state.settings)
    local_runs = state.local_runs_here() if query.finds_local else ""
    if local_runs and not state.home().database.exists():
        state.choose(local_runs)
    if query.survives_bad_settings:
        settings, problem = state.settings_or_why()
        current = cache(lambda: settings)
    with state.reading(needs_state=query.needs_state) as connection:
        look = Look(
            connection=connection,
            current_settings=current,
            at=datetime.now(UTC),
            is_local=state.is_local(),
            settings_problem=problem,
            commits=state.commits(),
        )
        match form:
            case Form.JSON:
                as_json(question.value(look))
            case Form.CSV:
                print(csv_text(question.csv(look)), end="")
            case Form.YAML:
                show_yaml(question, json.loads(json_text(question.value(look))))
            case Form.SVG:
                write_graph(question.view(look), path)
            case Form.VIEW:
                show_view(question.view(look))
                if local_runs and not state.is_local():
                    _name_local_runs(question.name)


def _name_local_runs(name: str) -> None:
    """Say that the repository somebody stands in has runs of its own, which are not among what was shown."""
    show_text(f"The local runs of this repository are not in it: `overlord {name} --repo .`")


def _parameters(field: str, kind: Argument) -> list[inspect.Parameter]:
    """What is typed for one argument."""
    match kind:
        case CostArgument():
            named = argument("job", str, "", help="With `job`: its number, or its issue.")
            return [argument(field, Span, Span.TODAY, help=kind.help), named]
        case DaysArgument():
            return [argument(field, DaySpan, kind.default, help=kind.help)]
        case JobOptionArgument() | ContractTextArgument() | LastArgument() | RepositoryPlaceArgument():
            return [_of_contract(field, kind)]
        case NamedArgument():
            shown = "|".join(kind.choices) or kind.name.upper()
            return [option(kind.name, str, "", help=kind.help, metavar=shown)]
        case FlagArgument():
            return [option(kind.name, bool, False, help=kind.help)]
        case HoursArgument():
            return [option(field, float, kind.default, min=0, max=kind.most, help=kind.help)]
        case WordsArgument():
            return [argument(field, list[str], help=kind.help, metavar="WORDS...")]
        case SpaceOptionArgument():
            return [option(field, str, "", help=kind.help, metavar="SPACE")]
        case FindArgument():
            return [argument(field, str, "", help=kind.help, metavar="[WORDS]")]
        case SkillArgument():
            return skill(field, kind)
        case ApprovalArgument():
            return [argument(field, str, **shown_approval(_only(kind)))]
        case _:
            return [argument(field, str, help=kind.help)]


def _of_contract(
    field: str, kind: JobOptionArgument | ContractTextArgument | LastArgument | RepositoryPlaceArgument
) -> inspect.Parameter:
    """What is typed for an argument of a look at a contract."""
    match kind:
        case JobIfAnyArgument():
            return argument(field, str, "", help=kind.help, metavar="JOB")
        case JobOptionArgument():
            return option(field, str, "", help=kind.help, metavar="JOB")
        case ContractTextArgument():
            return option(field, str, "", help="The file that a contract stands in.", metavar="PATH")
        case LastArgument():
            return option(field, int, kind.default, min=1, max=kind.most, help=kind.help)
        case RepositoryPlaceArgument():
            return argument(field, str, "", help=kind.help, metavar="REPO")


def _only(kind: ApprovalArgument) -> ApprovalKind | None:
    kinds = list(kind.kinds)
    return kinds[0] if len(kinds) == 1 else None


def _value(kind: Argument, field: str, values: Mapping[str, Any]) -> object:
    """What was typed, as the query's record has it. Raises typer.BadParameter, which is wrong usage."""
    match kind:
        case CostArgument():
            return _cost(values[field], values["job"])
        case FlagArgument():
            return values[kind.name]
        case NamedArgument():
            return _named(kind, values[kind.name.replace("-", "_")])
        case JobOptionArgument():
            return state.target(values[field]) if values[field] else None
        case ContractTextArgument():
            return (contract_text(values[field]) or "\n") if values[field] else ""
        case PathArgument():
            return _path(kind, values[field])
        case WordsArgument():
            return " ".join(values[field])
        case JobArgument():
            return state.target(values[field])
        case ApprovalArgument():
            return approval(kind, values[field], _only(kind))
        case SkillArgument():
            return SkillRef(name=values[field], space=values["space"] or None)
        case InitiativeArgument() | TaskArgument():
            return of_portfolio(kind, values[field])
        case _:
            return values[field]


def _named(kind: NamedArgument, value: str) -> str:
    if value and kind.choices and value not in kind.choices:
        raise typer.BadParameter(f"--{kind.name} takes one of: {', '.join(kind.choices)}")
    return value


def _path(kind: PathArgument, word: str) -> str:
    """Raises typer.BadParameter for what is no path in a repository."""
    try:
        return kind.checked(word, Typed(name="", usage=""))
    except CommandError as error:
        raise typer.BadParameter(str(error)) from None


def contract_text(path: str) -> str:
    """A contract's text, from the file it stands in. Raises NotFound, and ContractError for what is no text or too long."""
    from overlord.domain.contracts.contract_files import MOST_BYTES, text_of

    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise NotFound(f"{path} cannot be read: {reason or error}") from None
    return text_of(content, path)


def _cost(span: Span, job: str) -> CostOf:
    if (span is Span.JOB) is not bool(job):
        raise typer.BadParameter("type `cost`, `cost week`, or `cost job 7`")
    return CostOf(span=span, job=state.target(job) if job else None)
