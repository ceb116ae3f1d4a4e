"""Rules before they are made: of an answered decision, or of words; and what they would have answered."""

import re
import sqlite3
from datetime import datetime

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.event import OVERLORD
from overlord.domain.knowledge.known import is_known
from overlord.domain.knowledge.matching import has_all, question_in, words_of
from overlord.domain.knowledge.preview import DraftedRule, PastQuestion, RulePreview, asked_in, preview
from overlord.domain.knowledge.rule import MOST_ANSWER_CHARS
from overlord.domain.knowledge.vetting import MOST_QUESTION_CHARS, tidied
from overlord.domain.knowledge.width import ANSWERED_BY_RULE, why_not_of, why_too_wide
from overlord.domain.text.hidden_text import without_hidden_characters
from overlord.domain.text.plain import unquoted
from overlord.domain.text.secret_detection import redacted
from overlord.errors import Refused
from overlord.store import decisions
from overlord.store.knowledge import rules
from overlord.store.rows import select

_OF_DECISION = re.compile(r"(?:decision )?([1-9][0-9]{0,9})(?:\s+about\s+(.+))?", re.IGNORECASE | re.DOTALL)
MOST_PAST = 2_000
"""Past questions that a rule is held against, the newest."""


def decision_number(text: str) -> int | None:
    """The decision that some words name; None where they are a question and its answer."""
    found = _OF_DECISION.fullmatch(text.strip())
    return int(found[1]) if found else None


def drafted(connection: sqlite3.Connection, text: str, *, space: str) -> DraftedRule:
    """The rule that some words stand for: `5`, `5 about cache token`, or `Which cache do tokens need? Redis.`

    Raises NotFound, and Refused for what is no question with an answer in words.
    """
    found = _OF_DECISION.fullmatch(text.strip())
    if found is not None:
        made = _of_decision(connection, decisions.get(connection, int(found[1])), found[2] or "", space=space)
    else:
        made = _of_words(tidied(text), space=space)
    whole = f"{made.question}\n{made.answer}"
    if redacted(whole) != whole:
        raise Refused("that holds what looks like a secret; leave it out")
    if without_hidden_characters(whole).hidden:
        raise Refused("that holds characters that nobody sees; leave them out")
    if len(made.answer) > MOST_ANSWER_CHARS:
        raise Refused(f"an answer has at most {MOST_ANSWER_CHARS:,} characters; shorten it")
    return made


def _of_words(text: str, *, space: str) -> DraftedRule:
    question = question_in(text)
    if not question:
        raise Refused(
            "say the question, with its question mark, and then the answer: Which cache do tokens need? Redis."
        )
    answer = text.partition("?")[2].strip()
    return DraftedRule(
        space=space, question=question[:MOST_QUESTION_CHARS], words=words_of(question), answer=answer
    )


def _of_decision(
    connection: sqlite3.Connection, decision: Decision, about: str, *, space: str
) -> DraftedRule:
    name = decision.ref.name
    own = space_of(connection, decision)
    if space and own and own.casefold() != space.casefold():
        raise Refused(
            f"{name} is of another repository: leave the repository out, or say question and answer in words"
        )
    if (why := why_not_of(decision.subject)) != "":
        raise Refused(f"{name} makes no rule: {why}")
    if decision.verb is not Verb.REPLY or not decision.answer.strip() or is_known(decision.answered_by):
        raise Refused(f"{name} makes no rule: a person has to have answered it in words")
    question = asked_in(question_of(connection, decision))[:MOST_QUESTION_CHARS]
    return DraftedRule(
        space=space or own,
        question=question,
        words=words_of(about or question),
        answer=decision.answer.strip(),
        decision_id=decision.id,
    )


def space_of(connection: sqlite3.Connection, decision: Decision) -> str:
    """The repository a decision is about."""
    if decision.job_id is None:
        return decision.space
    row = connection.execute("SELECT space FROM jobs WHERE id = ?", (decision.job_id,)).fetchone()
    return str(row["space"]) if row is not None else ""


def question_of(connection: sqlite3.Connection, decision: Decision) -> str:
    """What a session asked, in its own words."""
    if decision.subject is Subject.ESCALATED:
        query = "SELECT question FROM escalations WHERE decision_id = ?"
        row = connection.execute(query, (decision.id,)).fetchone()
        if row is not None:
            return str(row["question"])
    return unquoted(decision.body)


def previewed(connection: sqlite3.Connection, made: DraftedRule, *, at: datetime) -> RulePreview:
    """What the rule would do, and why it cannot be made where it cannot."""
    counting = [rule for rule in rules.every(connection) if rule.counts(at)]
    return preview(made, _past(connection), counting, problem=_problem(connection, made))


def _problem(connection: sqlite3.Connection, made: DraftedRule) -> str:
    """Why it is too wide: by its words, or because a gate, an approval, a budget or a scope was put in these words."""
    if (why := why_too_wide(made.words)) != "":
        return why
    marks = ", ".join("?" * len(ANSWERED_BY_RULE))
    query = f"""SELECT * FROM decisions WHERE subject NOT IN ({marks}) AND proposal_id IS NULL AND draft_id IS NULL
                ORDER BY id DESC LIMIT {MOST_PAST}"""  # noqa: S608 - marks and a number
    for decision in select(connection, Decision, query, *map(str, sorted(ANSWERED_BY_RULE))):
        asked = decision.title.partition(": ")[2] or decision.title
        if has_all(asked, made.words):
            subject = decision.subject.replace("_", " ")
            return (
                f"it is wide enough for decision {decision.id} ({subject}), which no rule answers; add a word that says what the"
                " question is about"
            )
    return ""


def _past(connection: sqlite3.Connection) -> list[PastQuestion]:
    marks = ", ".join("?" * len(ANSWERED_BY_RULE))
    query = f"""SELECT * FROM decisions WHERE state = 'answered' AND subject IN ({marks}) AND verb = 'reply'
                AND answered_by != ? ORDER BY id DESC LIMIT {MOST_PAST}"""  # noqa: S608 - marks and a number
    found = select(connection, Decision, query, *map(str, sorted(ANSWERED_BY_RULE)), OVERLORD)
    return [
        PastQuestion(
            decision_id=decision.id,
            space=space_of(connection, decision),
            question=question_of(connection, decision),
            answer=decision.answer,
            by=decision.answered_by,
        )
        for decision in found
        if not is_known(decision.answered_by)
    ]
