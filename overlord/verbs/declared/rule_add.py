"""Answer a question always: sessions that ask it again have your answer, and nobody is asked.

Of a decision that you answered in words (`5`), of one with the words that a question has to have (`5 about cache token`), or of a question
and its answer (`Which cache do tokens need? Redis.`). It counts for 90 days, for others, or always. A rule never answers a gate, an approval, a
budget or a scope; `rules preview` shows which past questions it would have answered.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.access_argument import DaysArgument, SpacesArgument
from overlord.domain.conversation.argument import WordsArgument
from overlord.domain.conversation.look_argument import FlagArgument
from overlord.domain.interface import Interface
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.verbs.right import Right
from overlord.verbs.rule import add_rule, space_meant, split_words
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRule:
    """Of what, where it counts, and for how long."""

    words: Annotated[
        str,
        WordsArgument(
            missing="Say which answered decision, or a question with its answer.",
            help="An answered decision's number, or a question and its answer: 'Which cache do tokens need? Redis.'",
        ),
    ]
    spaces: Annotated[tuple[str, ...], SpacesArgument()] = ()
    always: Annotated[bool, FlagArgument(name="always", help="It counts until it is revoked.")] = False
    days: Annotated[int | None, DaysArgument(help="How many days it counts; 90, if absent.")] = None


def _space(context: Context, arguments: AddRule) -> str:
    if len(arguments.spaces) > 1:
        raise Refused("a rule counts in one repository, or in all; name one, or none")
    named, words, _, _ = split_words(arguments.words)
    return space_meant(context, words, next(iter(arguments.spaces), named))


def _add(context: Context, arguments: AddRule) -> Done:
    _, words, always, days = split_words(arguments.words)
    return add_rule(
        context,
        words,
        _space(context, arguments),
        always=arguments.always or always,
        days=arguments.days if arguments.days is not None else days,
    )


VERB = Verb(
    arguments=AddRule,
    act=_add,
    space=_space,
    right=Right.APPROVER,
    usage="rule-add 5 always",
    means="answer a question always, as decision 5 was answered; also `rule-add Which cache do tokens need? Redis. for 30 days`",
    position=65,
    failpoint=Failpoint.RULE_CHANGED,
    terminal="rules add",
    gaps={Interface.MCP: "a rule answers in a person's place"},
)
