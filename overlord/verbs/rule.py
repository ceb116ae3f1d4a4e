"""What people have done with rules: made, of an answer or of words, and revoked. A rule speaks in a person's name, so it takes a person."""

import re
from datetime import timedelta

from overlord.command_ref import CommandRef, hint
from overlord.domain.conversation.knowledge_argument import number_of
from overlord.domain.knowledge.preview import RulePreview
from overlord.domain.knowledge.rule import Rule
from overlord.domain.text.plain import count
from overlord.domain.text.reference import repository_in
from overlord.errors import Refused
from overlord.store import decisions
from overlord.store.knowledge import rule_drafts, rules
from overlord.verbs.verb import Context, Done

USUAL_DAYS = 90
"""How long a rule counts where nobody says how long."""
_HOW_LONG = re.compile(r"\s+(?:always|for ([1-9][0-9]{0,3}) days?)$", re.IGNORECASE)


def split_words(words: str) -> tuple[str, str, bool, int | None]:
    """What is typed in one line: a repository before it, and how long it counts after it: `acme/calc Which cache? Redis. always`."""
    space, rest = "", words.strip()
    first = rest.split(None, 1)[0] if rest else ""
    if "/" in first and (named := repository_in(first)) is not None and "?" not in first:
        space, rest = named, rest[len(first) :].strip()
    ends = _HOW_LONG.search(rest)
    if ends is None:
        return space, rest, False, None
    return space, rest[: ends.start()].strip(), ends[1] is None, int(ends[1]) if ends[1] else None


def space_meant(context: Context, text: str, named: str) -> str:
    """Where a rule would count: as it is said, where its decision is from, or everywhere. Raises NotFound, Refused."""
    if named:
        return context.space(named)
    number = rule_drafts.decision_number(text)
    if number is None:
        return ""
    return rule_drafts.space_of(context.connection, decisions.get(context.connection, number))


def add_rule(context: Context, text: str, space: str, *, always: bool, days: int | None) -> Done:
    """Make a rule. Raises NotFound; Refused for one that is too wide, and for words that are no question with an answer."""
    if always and days is not None:
        raise Refused("say either always or for how many days, not both")
    drafted = rule_drafts.drafted(context.connection, text, space=space)
    shown = rule_drafts.previewed(context.connection, drafted, at=context.at)
    if shown.problem:
        raise Refused(f"no rule was made: {shown.problem}")
    lasts = None if always else days or USUAL_DAYS
    made = rules.add(
        context.connection,
        Rule(
            id=0,
            space=drafted.space,
            question=drafted.question,
            words=drafted.words,
            answer=drafted.answer,
            actor=context.person.actor,
            created_at=context.at,
            expires_at=context.at + timedelta(days=lasts) if lasts is not None else None,
            decision_id=drafted.decision_id,
        ),
    )
    until = f"for {count(lasts, 'day')}" if lasts is not None else "until it is revoked"
    where = drafted.space or "all repositories"
    text = (
        f"Rule {made.ref} answers questions with {_listed(made.words)} in {where}, {until}{_against(shown)}"
    )
    return Done(text=text, hint=hint(CommandRef("rule-revoke", (made.ref,)), " takes it back"))


def _listed(words: tuple[str, ...]) -> str:
    return " + ".join(words)


def _against(shown: RulePreview) -> str:
    """What it contradicts, in words."""
    past = sum(not item.is_same for item in shown.answered)
    said = [f"{count(past, 'past answer')} of people"] if past else []
    said += [f"rule {rule.ref}" for rule in shown.rules]
    return f"; it says otherwise than {' and '.join(said)}" if said else ""


def revoke_rule(context: Context, ref: str) -> Done:
    """Have it answer nothing more. Raises NotFound, Refused."""
    made = rules.revoke(context.connection, number_of(ref, "r"), actor=context.person.actor, at=context.at)
    return Done(text=f"Rule {made.ref} answers nothing any more.")


def space_of_rule(context: Context, ref: str) -> str:
    """Where it counts. Raises NotFound, Refused."""
    return rules.get(context.connection, number_of(ref, "r")).space
