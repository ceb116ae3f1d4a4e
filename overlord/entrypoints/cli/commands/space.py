"""`overlord space …`: the repositories managed by Overlord, what each of them is worked on by, and where that is said."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
import yaml

from overlord.domain.checks.untested import UntestedPolicy
from overlord.domain.text.plain import count
from overlord.domain.text.plain_yaml import load_yaml
from overlord.domain.text.reference import is_full_name, repository_in
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.cli.verb_command import give
from overlord.entrypoints.cli.verb_list import bind_queries
from overlord.entrypoints.terminal.show import as_json, line, person, show_text
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.queries import overview
from overlord.settings.current import check
from overlord.settings.file import merged_over, nested
from overlord.settings.load import Settings, with_added
from overlord.store.database import Database
from overlord.store.spaces import managed
from overlord.verbs.declared.pause import Pause
from overlord.verbs.declared.resume import Resume
from overlord.verbs.registry import Command
from overlord.verbs.space import AddSpace, RemoveSpace, add_space, remove_space
from overlord.verbs.untested import AskAgain
from overlord.verbs.untested import ask_again as ask_again_about_tests

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


SECRETS = "setup_secrets"


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
    own: dict[str, Any] = {"base_branch": base_branch} if base_branch else {}
    for assignment in given or ():
        own = merged_over(own, _value(assignment))
    settings = state.loaded_settings()
    _ensure_database()
    with state.reading() as connection:
        known = managed.added(connection)
    name = next((spelt for spelt in known if spelt.casefold() == name.casefold()), name)
    own = merged_over(known.get(name, {}), own)
    check(with_added(settings, {**known, name: own}))
    if not unchecked:
        name = _as_the_forge_has_it(settings, name, (*known, *settings.repositories))
    command = AddSpace(space=name, given=own, actor=person())
    is_new = state.write(
        Failpoint.SPACE_ADDED,
        lambda c: add_space(c, command, named=settings.repositories, at=datetime.now(UTC)),
    )
    done = "is managed by Overlord" if is_new else "has these settings of its own"
    when = "" if state.is_heard() else " It is taken up when the daemon runs: `overlord serve`."
    show_text(f"{name} {done}.{when} `overlord doctor --fix` makes its labels.")


def _as_the_forge_has_it(settings: Settings, name: str, named: Sequence[str]) -> str:
    """A repository's name in the forge's spelling; of one managed by Overlord the forge is not asked. Raises NotFound and what
    `look_up` raises, and Refused where it is one in care under another name."""
    there = {spelt.casefold() for spelt in named}
    if name.casefold() in there:
        return name
    from overlord.entrypoints.space_lookup import look_up

    found = asyncio.run(look_up(settings, name)).name
    if found.casefold() in there:
        raise Refused(f"{name} is called {found} now, which is managed by Overlord already")
    return found


def _value(words: str) -> dict[str, Any]:
    """`KEY=VALUE` as settings have it; raises typer.BadParameter."""
    key, equals, text = words.partition("=")
    if not equals or not all(key.split(".")):
        raise typer.BadParameter(f"give it as KEY=VALUE, as budget.job_usd=2, not {words!r}")
    if key.split(".")[0] == SECRETS:
        raise typer.BadParameter(f"{SECRETS} are not given by command: name them in your settings file")
    try:
        return nested(tuple(key.split(".")), load_yaml(text))
    except yaml.YAMLError:
        raise typer.BadParameter(f"the value of {key} cannot be read as YAML") from None


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
        command = AskAgain(space=name, actor=person())
        # An answer of theirs is taken back.
        policy = state.write(
            Failpoint.DECISION_ANSWERED, lambda c: ask_again_about_tests(c, command, at=datetime.now(UTC))
        )
        show_text(
            f"{line(name)}: “{line(policy.describe())}” counts no more. The next job without tests asks anew."
        )
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


@app.command()
def remove(
    repository: Annotated[str, typer.Argument(help="owner/repo, as `overlord space list` has it.")],
    stop_jobs: Annotated[bool, typer.Option("--stop-jobs", help="End its open jobs.")] = False,
) -> None:
    """Take a repository out of Overlord's care. Branches, pull requests, evidence and the ledger stay."""
    named = state.loaded_settings().repositories
    command = RemoveSpace(space=repository_in(repository) or repository, actor=person(), stop_jobs=stop_jobs)
    ended = state.write(
        Failpoint.SPACE_REMOVED, lambda c: remove_space(c, command, named=named, at=datetime.now(UTC))
    )
    stopped = f" {count(ended, 'job')} ended; what was made stays." if ended else ""
    show_text(f"{line(command.space)} is not managed by Overlord any more.{stopped}")
