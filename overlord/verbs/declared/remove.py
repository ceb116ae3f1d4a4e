"""Take a repository out of Overlord's care. Branches, pull requests, evidence and the ledger stay."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.look_argument import FlagArgument, RepositoryArgument
from overlord.domain.interface import Interface
from overlord.domain.text.plain import count
from overlord.failpoints import Failpoint
from overlord.verbs.right import Right
from overlord.verbs.space import named_by_settings, remove_space
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Which, and whether its open jobs end; without that there may be none."""

    repository: Annotated[str, RepositoryArgument()]
    stop_jobs: Annotated[bool, FlagArgument(help="End its open jobs.", name="stop-jobs")] = False


def _remove(context: Context, arguments: Remove) -> Done:
    ended = remove_space(
        context.connection,
        arguments.repository,
        stop_jobs=arguments.stop_jobs,
        actor=context.actor,
        named=named_by_settings(context.settings),
        at=context.at,
    )
    stopped = f" {count(ended, 'job')} ended; what was made stays." if ended else ""
    return Done(text=f"{arguments.repository} is not managed by Overlord any more.{stopped}")


VERB = Verb(
    arguments=Remove,
    act=_remove,
    space=lambda _context, _arguments: "",
    right=Right.OPERATOR,
    usage="remove owner/repo",
    means="take a repository out of Overlord's care; what was made stays",
    confirm="Branches, pull requests, evidence and the ledger stay.",
    position=13,
    failpoint=Failpoint.SPACE_REMOVED,
    terminal="space remove",
    has_runs=False,
    gaps={Interface.MCP: "a person takes a repository out of care"},
)
