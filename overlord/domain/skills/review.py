"""The verdict on skill files: each by itself, and beside the others of its repository. What is rejected never goes in."""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import yaml

from overlord.domain.skills.file import (
    Skill,
    SkillFileError,
    Triggers,
    has_folder_form,
    is_beside_skill,
    is_skill_path,
    parse_skill,
)
from overlord.domain.skills.finding import SkillFinding
from overlord.domain.skills.scan.rule import Level
from overlord.domain.skills.verdict import SkillVerdict, verdict_of, why_of
from overlord.domain.text.untrusted_yaml import MAX_BYTES, UntrustedYamlError, compose_yaml

SCHEMA, NAMES, TRIGGERS = "skill/schema", "skill/name-conflict", "skill/trigger-conflict"
WIDE = "skill/trigger-wide"
_IN_EVERY_ISSUE = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "be",
        "bug",
        "but",
        "by",
        "change",
        "changes",
        "code",
        "do",
        "error",
        "file",
        "files",
        "fix",
        "for",
        "from",
        "has",
        "have",
        "i",
        "if",
        "in",
        "into",
        "is",
        "issue",
        "it",
        "line",
        "new",
        "no",
        "not",
        "of",
        "on",
        "or",
        "repository",
        "should",
        "task",
        "that",
        "the",
        "then",
        "there",
        "this",
        "to",
        "update",
        "use",
        "want",
        "we",
        "when",
        "with",
        "you",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillReview:
    """What is held against one file."""

    file: str
    findings: tuple[SkillFinding, ...] = ()
    skill: Skill | None = None
    """None for a file that is no skill."""

    @property
    def verdict(self) -> SkillVerdict:
        return verdict_of(self.findings)

    @property
    def why(self) -> str:
        """The gravest thing held against it, in a sentence; empty when there is nothing."""
        return why_of(self.findings)


@lru_cache(maxsize=256)
def review_skill(content: bytes, file: str) -> SkillReview:
    """Judge one file by itself."""
    try:
        text = content[: MAX_BYTES + 1].decode() if len(content) <= MAX_BYTES else ""
    except UnicodeDecodeError:
        return _rejected_review(file, "It is not text in UTF-8.")
    if len(content) > MAX_BYTES:
        return _rejected_review(file, f"It is larger than {MAX_BYTES:,} bytes.")
    if "\0" in text:
        return _rejected_review(file, "It is no text.")
    from overlord.domain.skills.scan.scan import scan  # its rules take as long to import as a whole command

    node = None
    try:
        node, skill = _read(content, file)
        broken: tuple[SkillFinding, ...] = ()
    except (SkillFileError, UntrustedYamlError) as error:
        line = error.line if isinstance(error, SkillFileError) else None
        skill, broken = None, (_rejected(SCHEMA, _without(str(error), file), line),)
    wide = tuple(_too_wide(skill.triggers)) if skill is not None else ()
    return SkillReview(file=file, findings=(*broken, *scan(text, node), *wide), skill=skill)


def _read(content: bytes, file: str) -> tuple[yaml.Node | None, Skill | None]:
    """The document and the skill in a file. Raises SkillFileError or UntrustedYamlError."""
    if has_folder_form(file):
        from overlord.domain.skills.folder import node_of  # most repositories have none

        return node_of(content, file), parse_skill(content, file)
    return compose_yaml(content, file), parse_skill(content, file)


def review_beside(content: bytes, file: str) -> SkillReview:
    """Judge a file that a skill's folder has beside its `SKILL.md`: an agent may read it, or run it."""
    if len(content) > MAX_BYTES or b"\0" in content:
        message = "It is no text, or too large to be looked at; a person has to."
        return SkillReview(
            file=file, findings=(SkillFinding(rule="skill/unread", level=Level.FLAG, message=message),)
        )
    from overlord.domain.skills.scan.scan import scan

    message = "It lies beside a skill, so whoever follows that may read it, or run it."
    beside = SkillFinding(rule="skill/beside", level=Level.FLAG, message=message)
    return SkillReview(file=file, findings=(beside, *scan(content.decode(errors="replace"))))


def _too_wide(triggers: Triggers) -> Iterator[SkillFinding]:
    """Triggers that fit whatever an issue says: such a skill would speak to every session."""
    for pattern in triggers.file_patterns:
        if _is_wide(pattern):
            message = f"The file pattern {pattern!r} fits nearly every file, so the skill is offered for whatever is changed."
            yield SkillFinding(rule=WIDE, level=Level.FLAG, message=message)
    for keyword in triggers.keywords:
        if keyword.casefold() in _IN_EVERY_ISSUE:
            message = (
                f"The keyword {keyword!r} is in most issues, so the skill is offered for nearly all of them."
            )
            yield SkillFinding(rule=WIDE, level=Level.FLAG, message=message)


def _is_wide(pattern: str) -> bool:
    """Whether a pattern says nothing of a file: no word of two letters in it."""
    lines = [word for word in re.split(r"[*?./\[\]{},!-]+", pattern) if word]
    return all(len(word) < 2 for word in lines) and "*" in pattern


def review_skills(files: Mapping[str, bytes]) -> tuple[SkillReview, ...]:
    """Judge files of one repository, in the order given."""
    return with_conflicts([review_skill(content, file) for file, content in files.items()])


def with_conflicts(reviews: Sequence[SkillReview]) -> tuple[SkillReview, ...]:
    """The same with what is held against them because of each other."""
    named, triggered = (
        _shared(reviews, lambda skill: skill.name),
        _shared(reviews, lambda skill: skill.triggers.key),
    )
    return tuple(_with(review, list(_conflicts(review, named, triggered))) for review in reviews)


def unreadable(file: str, message: str) -> SkillReview:
    """A file that there is nothing to judge of."""
    return _rejected_review(file, message)


def misplaced(file: str) -> SkillReview:
    """A file beside the skills that is not read as one."""
    message = "Skills are read from .nebulus/skills/NAME.yaml, and NAME/SKILL.md there or in .claude/skills; this file is not."
    return SkillReview(
        file=file, findings=(SkillFinding(rule="skill/misplaced", level=Level.FLAG, message=message),)
    )


def review_changed(files: Mapping[str, bytes | None], others: Mapping[str, bytes]) -> tuple[SkillReview, ...]:
    """Judge the files a change leaves behind beside those it does not touch; None for one that is no regular file."""
    whole = {**others, **{file: content for file, content in files.items() if content is not None}}
    known = {
        review.file: review for review in review_skills({f: c for f, c in whole.items() if is_skill_path(f)})
    }
    return tuple(known.get(file) or _unread(file, content) for file, content in files.items())


def _unread(file: str, content: bytes | None) -> SkillReview:
    if content is None and (is_skill_path(file) or is_beside_skill(file)):
        return _rejected_review(file, "It is no regular file.")
    if content is not None and is_beside_skill(file):
        return review_beside(content, file)
    return misplaced(file)


def _shared(reviews: Sequence[SkillReview], of: Callable[[Skill], Hashable]) -> dict[Hashable, list[str]]:
    found: dict[Hashable, list[str]] = defaultdict(list)
    for review in reviews:
        if review.skill is not None:
            found[of(review.skill)].append(review.file)
    return found


def _conflicts(
    review: SkillReview, named: Mapping[Hashable, list[str]], triggered: Mapping[Hashable, list[str]]
) -> Iterator[SkillFinding]:
    if review.skill is None:
        return
    if others := [file for file in named[review.skill.name] if file != review.file]:
        yield _rejected(NAMES, f"{', '.join(others[:5])} has the same name, {review.skill.name!r}.", None)
    if review.skill.is_general:
        return
    if others := [file for file in triggered[review.skill.triggers.key] if file != review.file]:
        message = f"{', '.join(others[:5])} has the very same triggers, so both are offered or none."
        yield SkillFinding(rule=TRIGGERS, level=Level.FLAG, message=message)


def _with(review: SkillReview, more: Sequence[SkillFinding]) -> SkillReview:
    return (
        SkillReview(file=review.file, findings=(*more, *review.findings), skill=review.skill)
        if more
        else review
    )


def _without(message: str, file: str) -> str:
    """A sentence that begins with a file, where that is said already."""
    if message.startswith(f"{file} "):
        return "It" + message.removeprefix(file)
    return message.removeprefix(f"{file}: ")


def _rejected_review(file: str, message: str) -> SkillReview:
    return SkillReview(file=file, findings=(_rejected(SCHEMA, message, None),))


def _rejected(rule: str, message: str, line: int | None) -> SkillFinding:
    return SkillFinding(rule=rule, level=Level.REJECT, message=message, line=line)
