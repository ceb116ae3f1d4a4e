"""Say no to a decision, a proposal or a draft of a skill: the one answer that refuses what it asks for, or drops the job."""

from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.decide import Decide, failpoint_of, reject
from overlord.verbs.right import Right
from overlord.verbs.verb import Verb

VERB = Verb(
    arguments=Decide,
    act=reject,
    space=lambda context, arguments: context.approval_space(arguments.which),
    right=Right.WRITER,
    usage="reject 5 too risky",
    comment_usage="reject",
    means="say no to one; `reject p3` or `reject d3` as well",
    position=8,
    failpoint=Failpoint.DECISION_ANSWERED,
    failpoint_of=failpoint_of,
    gaps={Interface.MCP: "a no is a person's; `answer` takes what a machine may answer"},
)
