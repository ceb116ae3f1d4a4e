"""What a model is asked for where a skill is to be drafted, and what of its answer is taken: a skill's file that the judge
does not reject, without secrets in it, or nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from overlord.domain.proposals.proposal import EnhancementProposal
from overlord.domain.review.review_request import fenced
from overlord.domain.skills.draft import DraftKind, SkillDraft, tidied
from overlord.domain.skills.file import SKILLS_DIRECTORY
from overlord.domain.skills.review import review_skill
from overlord.domain.skills.verdict import SkillVerdict
from overlord.domain.text.hidden_text import without_hidden_characters
from overlord.domain.text.plain import visible
from overlord.domain.text.secret_detection import redacted

MOST_ANSWER = 64_000
MOST_TEXT = 36_000
"""Characters of a skill that a session can be told word for word: what is longer would be cut in its issue's text."""
_BLOCK = re.compile(r"```(?:ya?ml)?[ \t]*\n(.*)\n```", re.DOTALL)
_FILE = "skill.yaml"
_SOURCE_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A skill's file as it may be put to a person."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwritten:
    """Why an answer is not taken. The engine asks once more, with these words."""

    reason: str

    def correction(self) -> dict[str, str]:
        """The message that asks again."""
        text = (
            f"That is not taken: {self.reason}. Answer again, with the whole YAML document and nothing else."
        )
        return {"role": "user", "content": text}


def skill_path(name: str) -> str:
    """The file a new skill of this name is."""
    return f"{SKILLS_DIRECTORY}/{name}.yaml"


def request_for(
    draft: SkillDraft,
    proposal: EnhancementProposal | None,
    *,
    present: str,
    skills: Sequence[str],
    prompt: str,
    fence: str,
) -> list[dict[str, str]]:
    """The messages of one request. `prompt` is `config/prompts/draft.md`, `present` the file at base where one is revised,
    `skills` those the repository has, `fence` a random word made for this request."""
    task = f"Revise the skill {draft.name}." if draft.kind is DraftKind.REVISE else "Write a new skill."
    sections = [("what is asked for", f"{task}\n{draft.reason}")]
    if proposal is not None:
        sections += [
            ("what came up again", f"{proposal.title}\n{proposal.rationale}\n{proposal.action}"),
            ("what was said of it", proposal.sample),
            ("what people answered", proposal.answer),
        ]
    sections += [("the skill as it is", present), ("skills of the repository", "\n".join(skills))]
    data = "\n\n".join(fenced(fence, name, text, _SOURCE_CHARS) for name, text in sections if text.strip())
    return [{"role": "system", "content": prompt.format(fence=fence)}, {"role": "user", "content": data}]


def written_in(answer: str, draft: SkillDraft) -> Written | Unwritten:
    """The skill in a model's answer, or why there is none. It may stand alone or in one ```yaml block."""
    stripped = answer.strip()
    if not stripped:
        return Unwritten(reason="it is empty")
    if len(stripped) > MOST_ANSWER:
        return Unwritten(reason=f"it is longer than {MOST_ANSWER:,} characters")
    block = _BLOCK.fullmatch(stripped)
    return read_text(redacted(tidied(block[1] if block else stripped)), draft)


def _undeliverable(text: str) -> str:
    """Why a session could never write it as it is: what people cannot see is taken out of what it is told, and so are line ends of
    other kinds; empty where nothing is in the way."""
    if len(text) > MOST_TEXT:
        return f"it is longer than {MOST_TEXT:,} characters, and a Minion is told no more of it"
    if "\r" in text:
        return "it has a carriage return within a line"
    if hidden := without_hidden_characters(text).hidden:
        return f"it holds characters that nobody sees ({visible(hidden[0])[:100]}), which no Minion is told"
    return ""


def read_text(text: str, draft: SkillDraft) -> Written | Unwritten:
    """A draft's text as a skill; what it must not be, whoever wrote it."""
    try:
        content = text.encode()
    except UnicodeEncodeError:
        return Unwritten(reason="it is no text in UTF-8")
    if why := _undeliverable(text):
        return Unwritten(reason=why)
    review = review_skill(content, _FILE)
    if review.skill is None or review.verdict is SkillVerdict.REJECT:
        return Unwritten(reason=visible(review.why)[:600].rstrip("."))
    if draft.kind is DraftKind.REVISE and review.skill.name != draft.name:
        return Unwritten(reason=f"its name must stay {draft.name}")
    return Written(name=review.skill.name, text=text)
