"""Have a rule answer nothing more: its question is put to people again."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.knowledge_argument import RuleArgument
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.right import Right
from overlord.verbs.rule import revoke_rule, space_of_rule
from overlord.verbs.verb import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeRule:
    """Which."""

    rule: Annotated[str, RuleArgument()]


VERB = Verb(
    arguments=RevokeRule,
    act=lambda context, arguments: revoke_rule(context, arguments.rule),
    space=lambda context, arguments: space_of_rule(context, arguments.rule),
    right=Right.APPROVER,
    usage="rule-revoke r2",
    means="have a rule answer nothing more",
    position=66,
    failpoint=Failpoint.RULE_CHANGED,
    terminal="rules revoke",
    gaps={Interface.MCP: "a rule answers in a person's place"},
)
