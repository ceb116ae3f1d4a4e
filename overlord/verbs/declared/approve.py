"""Say yes to a decision, a proposal or a draft of a skill: the one answer that allows what it asks for, or has it tried again."""

from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.decide import Decide, approve, failpoint_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Verb

VERB = Verb(
    arguments=Decide,
    act=approve,
    space=lambda context, arguments: context.approval_space(arguments.which),
    right=Right.WRITER,
    usage="approve 5",
    means="say yes to a decision; `approve p3` to a proposal, `approve d3` to a draft",
    position=7,
    failpoint=Failpoint.DECISION_ANSWERED,
    failpoint_of=failpoint_of,
    gaps={Interface.MCP: "a yes is a person's; `answer` takes what a machine may answer"},
)
