"""A model's reading of a proposed skill, for what rules cannot tell: what it is asked, and what of its answer counts.

Nothing it says lets a skill through that the rules refuse: each thing it holds against one is put to a person. A skill that no model
has read is put to a person as well.
"""

import json
import re

from overlord.domain.review.review import ReviewAnswer, ReviewFinding, ReviewProblem, parse_review
from overlord.domain.review.review_request import Part, fenced
from overlord.domain.review.rubric import Rubric, Severity
from overlord.domain.skills.finding import SkillFinding, shown_finding
from overlord.domain.skills.scan.rule import Level
from overlord.domain.text.plain import visible

UNREAD = "skill/unread"
MOST_FINDINGS = 20
_MESSAGE_CHARS = 400
_BLANKS = re.compile(r"\s+")


def messages_for(file: str, text: str, *, rubric: Rubric, prompt: str, fence: str) -> list[dict[str, str]]:
    """One request's messages. `prompt` is `config/prompts/vet.md`; `fence` a random word made for this request."""
    rules = "\n".join(f"- {rule.id}: {rule.question}" for rule in rubric.rules)
    numbered = "\n".join(f"{number}: {line}" for number, line in enumerate(text.split("\n"), start=1))
    data = [
        fenced(fence, "files of this part", json.dumps([file], ensure_ascii=False), None),
        fenced(fence, "the skill, each line with its number", numbered, None),
    ]
    system = prompt.format(fence=fence, rubric=rules)
    return [{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(data)}]


def read_answer(
    answer: str, file: str, text: str, rubric: Rubric
) -> tuple[SkillFinding, ...] | ReviewProblem:
    """What a model holds against the skill `text`, or why its answer does not count."""
    parsed = parse_review(answer, Part(number=1, total=1, files=(file,), text=text), rubric)
    if not isinstance(parsed, ReviewAnswer):
        return parsed
    return tuple(_finding(found, text, rubric) for found in parsed.findings[:MOST_FINDINGS])


def _finding(found: ReviewFinding, text: str, rubric: Rubric) -> SkillFinding:
    """As the judge's own, but for its name. A line counts where the quote stands there."""
    lines = text.split("\n")
    is_there = found.line is not None and found.line <= len(lines)
    quote = _without_blanks(found.evidence)
    line = (
        found.line if is_there and quote and quote in _without_blanks(lines[(found.line or 1) - 1]) else None
    )
    if line is None and quote:
        line = next(
            (
                number
                for number, text_line in enumerate(lines, start=1)
                if quote in _without_blanks(text_line)
            ),
            None,
        )
    evidence = found.evidence if quote and quote in _without_blanks(text) else ""
    level = Level.NOTE if rubric.severities[found.rule] is Severity.NOTE else Level.FLAG
    message = f"A model that read it says: {visible(found.message)[:_MESSAGE_CHARS]}"
    return shown_finding(f"model/{found.rule}", level, message, line, evidence)


def _without_blanks(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def unread(why: str) -> SkillFinding:
    """What is held against a skill that no model has read. `why` completes the sentence after a colon."""
    message = f"No model has read it: {why}. Rules alone cannot tell everything."
    return SkillFinding(rule=UNREAD, level=Level.FLAG, message=message)
