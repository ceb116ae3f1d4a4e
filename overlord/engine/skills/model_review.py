"""Has a model read proposed skills, on the books of their repository; what it said of a text is kept, and asked for once.

Strangers can propose skills, so what this may cost them to spend is bounded: so many texts a day, each within a time, under the
repository's daily budget. What was not read is put to a person.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from hashlib import sha256

import structlog

from minion.protocol import SessionKind
from overlord.config_files import packaged
from overlord.domain.review.review import ReviewProblem
from overlord.domain.review.rubric import Rubric, load_rubric
from overlord.domain.session import Account
from overlord.domain.skills.finding import SkillFinding
from overlord.domain.skills.model_review import messages_for, read_answer, unread
from overlord.domain.text.plain import defused_line
from overlord.engine.runtime.parts import Parts
from overlord.errors import ModelRefused, ModelUnavailable
from overlord.failpoints import Failpoint
from overlord.store.skills import skill_readings
from overlord.store.skills.skill_readings import Reading

MOST_A_DAY = 40
"""Texts of one repository that a model reads within a day."""
WITHIN_S = 90.0
"""For one text, with what is asked again."""
REST_S = 300.0
"""After a model gave no reply, skills are put to people without one for this long."""
TRIES = 2
AWAY = unread("the model gives no replies just now, and is asked again later")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReview:
    """What a model holds against each file. `is_partial`: it gave no reply to one of them, and may when it is asked later."""

    findings: Mapping[str, tuple[SkillFinding, ...]]
    is_partial: bool = False


async def review(parts: Parts, space: str, files: Mapping[str, str]) -> ModelReview:
    """Have a model read these texts, by path. Raises nothing for a model that is away or a budget that is spent: it is said."""
    found: dict[str, tuple[SkillFinding, ...]] = {}
    is_partial = False
    for file, text in files.items():
        try:
            found[file] = await _one(parts, space, file, text)
        except ModelUnavailable as error:
            log.warning("skill_not_read", space=space, file=file, reason=str(error))
            parts.skill_reading_rests[space] = parts.clock.monotonic() + REST_S
            found[file], is_partial = (AWAY,), True
        except _Resting:
            found[file], is_partial = (AWAY,), True
    return ModelReview(findings=found, is_partial=is_partial)


class _Resting(Exception):
    pass


async def _one(parts: Parts, space: str, file: str, text: str) -> tuple[SkillFinding, ...]:
    if not parts.settings.space(space).checks.review:
        return (unread("`checks.review` is off for this repository"),)
    rubric, prompt = vetting_rubric(), packaged("prompts/vet.md")
    digest = sha256("\0".join((file, text, rubric.model_dump_json(), prompt)).encode()).hexdigest()
    known = await parts.database.read(lambda c: skill_readings.get(c, space, digest))
    if known is not None:
        return known.findings
    at = parts.clock.now()
    since = at - timedelta(days=1)
    if await parts.database.read(lambda c: skill_readings.count_since(c, space, since)) >= MOST_A_DAY:
        return (unread(f"a model reads {MOST_A_DAY} texts of a repository within a day, and has by now"),)
    if parts.clock.monotonic() < parts.skill_reading_rests.get(space, 0.0):
        raise _Resting
    account = Account(id=f"vet-{digest[:16]}", space=space, kind=SessionKind.REVIEW)
    messages = messages_for(file, text, rubric=rubric, prompt=prompt, fence=f"data-{secrets.token_hex(8)}")

    def read(reply: str) -> tuple[SkillFinding, ...] | ReviewProblem:
        return read_answer(reply, file, text, rubric)

    try:
        async with asyncio.timeout(WITHIN_S):
            answer = await _ask_model(parts, account, messages, read)
    except TimeoutError:
        raise ModelUnavailable(f"there was no answer within {WITHIN_S:.0f} seconds") from None
    except ModelRefused as error:
        return (unread(defused_line(str(error))),)
    if isinstance(answer, ReviewProblem):
        answer = (unread(f"its answer does not count: {answer.reason}"),)
    reading = Reading(space=space, digest=digest, findings=answer, at=at)
    await parts.database.write(Failpoint.SKILL_READ, lambda c: skill_readings.note(c, reading))
    return answer


async def _ask_model(
    parts: Parts,
    account: Account,
    messages: list[dict[str, str]],
    read: Callable[[str], tuple[SkillFinding, ...] | ReviewProblem],
) -> tuple[SkillFinding, ...] | ReviewProblem:
    for _ in range(TRIES):
        reply = parts.current.redactor.redact(await parts.assistant.answer(account, messages))
        answer = read(reply)
        if not isinstance(answer, ReviewProblem):
            return answer
        messages = [*messages, {"role": "assistant", "content": reply or "(nothing)"}, answer.correction()]
    return answer


@cache
def vetting_rubric() -> Rubric:
    """What a model looks for in a proposed skill."""
    return load_rubric(packaged("rubric_vetting.yaml"), "the built-in rubric of proposed skills")
