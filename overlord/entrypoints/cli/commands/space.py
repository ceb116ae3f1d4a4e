"""`overlord space …`: the repositories managed by Overlord, what each of them is worked on by, and where that is said."""

import asyncio
from typing import Annotated

import typer

from overlord.domain.checks.untested import UntestedPolicy
from overlord.domain.conversation.argument import CommandError
from overlord.domain.text.reference import is_full_name, repository_in
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.cli.verb_command import give, verb_command
from overlord.entrypoints.cli.verb_list import bind_queries
from overlord.entrypoints.invocation import chosen_address
from overlord.entrypoints.terminal.show import as_json, line, show_text
from overlord.errors import Refused
from overlord.queries import overview
from overlord.settings.assignment import assigned
from overlord.settings.current import check
from overlord.settings.load import Settings, with_added
from overlord.store.database import Database
from overlord.verbs.declared.add import Add
from overlord.verbs.declared.ask_again import AskAgain
from overlord.verbs.declared.pause import Pause
from overlord.verbs.declared.resume import Resume
from overlord.verbs.registry import Command

app = typer.Typer(help="The repositories managed by Overlord.", no_args_is_help=True)
Named = Annotated[
    str, typer.Argument(help="A repository managed by Overlord: owner/repo, or its name alone.")
]


bind_queries(app, "space")


@app.command("pause")
def pause_space(space: Named, reason: Annotated[str, typer.Option(help="Why.")] = "") -> None:
    """Begin nothing new in a repository, as `overlord pause`."""
    give(Command(name="pause", arguments=Pause(space=space, reason=reason)))


@app.command("resume")
def resume_space(space: Named) -> None:
    """Let a paused repository go on, as `overlord resume`."""
    give(Command(name="resume", arguments=Resume(space=space)))


@app.command()
def add(
    repository: Annotated[str, typer.Argument(help="owner/repo, or its address.")],
    base_branch: Annotated[
        str, typer.Option(help="The branch its work is for; else its default branch.")
    ] = "",
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A value of its own, as budget.job_usd=2 or 'scope=[src/**]'."
        ),
    ] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Do not ask GitHub whether it is there.")
    ] = False,
) -> None:
    """Put a repository into Overlord's care; a daemon that runs takes it up by itself.

    GitHub is asked for it first. For one that was added before, say more of what it has of its own. Settings files may say the
    same under `spaces`.
    """
    name = repository_in(repository)
    if name is None or not is_full_name(name):
        raise typer.BadParameter("give a repository as owner/repo, or its address")
    try:
        own = assigned((*([f"base_branch={base_branch}"] if base_branch else []), *(given or ())))
    except CommandError as error:
        raise typer.BadParameter(str(error)) from None
    if chosen_address()[0]:
        give(Command(name="add", arguments=Add(repository=name, settings=own)))
        return
    _ensure_database()
    settings = state.settings()
    check(with_added(settings, {name: own}))  # before anybody is asked
    if not unchecked:
        name = _as_the_forge_has_it(settings, name)
    give(Command(name="add", arguments=Add(repository=name, settings=own)))
    if not state.is_heard():
        show_text("It is taken up when the daemon runs: `overlord serve`.")


def _as_the_forge_has_it(settings: Settings, name: str) -> str:
    """A repository's name in the forge's spelling; of one managed by Overlord the forge is not asked. Raises NotFound and what
    `look_up` raises, and Refused where it is one in care under another name."""
    there = {spelt.casefold() for spelt in settings.repositories}
    if name.casefold() in there:
        return name
    from overlord.entrypoints.space_lookup import look_up

    found = asyncio.run(look_up(settings, name)).name
    if found.casefold() in there:
        raise Refused(f"{name} is called {found} now, which is managed by Overlord already")
    return found


def _ensure_database() -> None:
    """There is a state to write to, also before the first start."""
    path = state.home().database
    if path.exists():
        return

    async def make() -> None:
        await (await Database.open(path, exclusive=True)).close()

    asyncio.run(make())


@app.command()
def tests(
    repository: Annotated[
        str, typer.Argument(help="A repository managed by Overlord; with --repo it need not be named.")
    ] = "",
    ask_again: Annotated[
        bool, typer.Option("--ask-again", help="Take it back: the next job there asks anew.")
    ] = False,
    json: Json = False,
    _repo: state.Repo = "",
) -> None:
    """What was said about a repository without tests: whether its changes pass without any, or bring their own."""
    name = state.space(repository or None)
    if ask_again:
        give(Command(name="ask-again", arguments=AskAgain(space=name)))
        return
    found = _untested(name)
    if json:
        as_json({"name": name, "untested": found})
    elif found is None:
        show_text(
            f"{line(name)}: nothing was said. A job that finds no tests there asks before its first session."
        )
    else:
        show_text(f"{line(name)}: {line(found.describe())}. It counts until there are tests.")


def _untested(name: str) -> UntestedPolicy | None:
    if not state.home().database.exists():
        return None
    with state.reading() as connection:
        return overview.untested(connection, name)


app.command("ask-again")(verb_command("ask-again"))
app.command("remove")(verb_command("remove"))
