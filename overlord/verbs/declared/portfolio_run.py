"""Have the portfolio gone through now, whatever the schedule says.

Goals without an initiative, tasks that can be begun and questions that were answered are looked at at once. Where nothing changed,
nothing is done.
"""

from dataclasses import dataclass

from overlord.command_ref import CommandRef, hint
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.store.portfolio import cycles
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioRun:
    """All of it."""


def _act(context: Context, _arguments: PortfolioRun) -> Done:
    cycles.ask(context.connection, trigger=cycles.PERSON, actor=context.actor, at=context.at)
    return Done(text="The portfolio is gone through now", hint=hint(CommandRef("portfolio"), " shows it"))


VERB = Verb(
    arguments=PortfolioRun,
    act=_act,
    space=lambda _context, _arguments: "",
    right=Right.APPROVER,
    usage="portfolio-run",
    means="go through the portfolio now, whatever the schedule says",
    position=30,
    failpoint=Failpoint.CYCLE_ASKED,
    terminal="portfolio-run",
    has_runs=False,
    gaps={Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio"},
)
