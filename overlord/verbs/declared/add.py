"""Put a repository into Overlord's care, or say anew what it has of its own. A daemon that runs takes it up by itself."""

from dataclasses import dataclass
from typing import Annotated, Any

from overlord.command_ref import CommandRef, hint
from overlord.domain.conversation.look_argument import RepositoryArgument
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.settings.assignment import SettingsArgument
from overlord.settings.current import check
from overlord.settings.file import merged_over
from overlord.settings.load import added_repositories, with_added
from overlord.verbs.right import Right
from overlord.verbs.space import add_space, check_name, named_by_settings
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Which, as the forge spells it, and its section of the settings beside what was said of it before."""

    repository: Annotated[str, RepositoryArgument()]
    settings: Annotated[dict[str, Any], SettingsArgument()]


def _add(context: Context, arguments: Add) -> Done:
    known = added_repositories(context.settings)
    typed = check_name(arguments.repository)
    name = next((spelt for spelt in known if spelt.casefold() == typed.casefold()), typed)
    own = merged_over(dict(known.get(name, {})), arguments.settings)
    check(with_added(context.settings, {**known, name: own}))
    is_new = add_space(
        context.connection,
        name,
        own,
        actor=context.actor,
        named=named_by_settings(context.settings),
        at=context.at,
    )
    done = "is managed by Overlord" if is_new else "has these settings of its own"
    return Done(text=f"{name} {done}", hint=hint(CommandRef("doctor --fix"), " makes its labels"))


VERB = Verb(
    arguments=Add,
    act=_add,
    space=lambda _context, _arguments: "",
    right=Right.OPERATOR,
    usage="add owner/repo budget.job_usd=2",
    means="put a repository into Overlord's care",
    position=12,
    failpoint=Failpoint.SPACE_ADDED,
    terminal="space add",
    has_runs=False,
    gaps={Interface.MCP: "a person says what a repository is worked on by"},
)
