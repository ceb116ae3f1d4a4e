"""`overlord contract …`: what a contract says, whether it may be said, who may write a path, and what it would have done."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overlord.domain.contracts.contract_files import MOST_BYTES, PATHS
from overlord.domain.contracts.reading import CONTRACT_DIR, read_contract
from overlord.domain.text.plain import count
from overlord.entrypoints.cli.commands.contract_edit import edit
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.cli.verb_list import bind_queries
from overlord.entrypoints.invocation import check_here
from overlord.entrypoints.terminal.show import as_json, line, show_text
from overlord.errors import ContractError, NotFound

if TYPE_CHECKING:
    from overlord.domain.contracts.contract import Contract

app = typer.Typer(help="Contracts: the rules a job runs under. Roles, phases, gates.", no_args_is_help=True)

bind_queries(app, "contract")
app.command("edit")(edit)


@app.command()
def check(
    path: Annotated[
        str, typer.Argument(help="A contract's file, or a checkout with .nebulus/contract/.")
    ] = ".",
    json: Json = False,
) -> None:
    """Hold a contract against its form and the rules that none may break, and tell everything that is wrong. 1 if anything is."""
    check_here("`contract check`")
    files, source = _files(Path(path))
    contract, problems = None, list[dict[str, Any]]()
    try:
        contract = read_contract(files)
    except ContractError as error:
        problems = problems_of(error)
    if json:
        as_json(
            {"source": source, "name": contract.name if contract is not None else None, "problems": problems}
        )
    elif contract is not None:
        show_text(f"{line(source)}: {_whole(contract)}. It breaks no rule.")
    else:
        _show_problems(source, problems)
    raise typer.Exit(0 if contract is not None else 1)


def _files(path: Path) -> tuple[dict[str, bytes], str]:
    """The contract's files at a path, and what they are called. Raises NotFound, ContractError."""
    try:
        if path.is_file():
            return {str(path): _content(path)}, str(path)
        for place in (path, *path.resolve().parents) if path.is_dir() else ():
            found = {name: _content(place / name) for name in PATHS if (place / name).is_file()}
            if found:
                return found, str(place / CONTRACT_DIR)
            if (place / ".git").exists():
                break
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror or error}") from None
    raise NotFound(f"{path} is no contract, and no checkout with {PATHS[0]}")


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _whole(contract: "Contract") -> str:
    counted = ((contract.roles, "role"), (contract.phases, "phase"), (contract.gates, "gate"))
    parts = ", ".join(count(len(found), noun) for found, noun in counted)
    return f"contract {contract.name} has {parts}"


def problems_of(error: ContractError) -> list[dict[str, Any]]:
    """Everything that is wrong with a contract, as values. An error without single problems is one itself."""
    names = ("file", "line", "key", "rule", "message", "counterexample", "fix")
    found = [{name: getattr(problem, name) for name in names} for problem in error.problems]
    return found or [{**dict.fromkeys(names), "message": str(error)}]


def _show_problems(source: str, problems: list[dict[str, Any]]) -> None:
    for problem in problems:
        place = ":".join(str(problem[name]) for name in ("file", "line") if problem[name])
        is_rule = (problem["rule"] or "")[:1].isdigit()
        named = [f"rule {problem['rule']}" if is_rule else "", problem["key"] or ""]
        before = " ".join(filter(None, (place, *named)))
        show_text(f"{line(before)}: {line(problem['message'])}" if before else line(problem["message"]))
        for name in ("counterexample", "fix"):
            if problem[name]:
                show_text(f"  {name}: {line(str(problem[name]))}")
    show_text(f"{line(source)}: {count(len(problems), 'problem')}.")
