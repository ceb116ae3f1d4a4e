"""The judge of drafts and of the change they become: what a person approved, word for word, and nothing beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from minion.protocol import Finding
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.scope.check import GITLINK_MODE, SYMLINK_MODE, Change
from overlord.domain.skills.draft import DraftKind, SkillDraft
from overlord.domain.skills.finding import SkillFinding
from overlord.domain.skills.review import SkillReview, review_changed, review_skill
from overlord.domain.skills.scan.rule import Level
from overlord.domain.skills.verdict import SkillVerdict
from overlord.domain.text.plain import visible

AT_BASE, VERSION, ABSENT = "skill/at-base", "skill/version", "skill/absent"


def judge_draft(draft: SkillDraft, at_base: Mapping[str, bytes]) -> tuple[SkillFinding, ...]:
    """What is held against a draft beside the skills of its repository, by path: form, conflicts, harm."""
    present = at_base.get(draft.path)
    if draft.kind is DraftKind.RETIRE:
        return (
            ()
            if present is not None
            else (_needs_decision(ABSENT, f"{draft.path} is not at base any more."),)
        )
    others = {path: content for path, content in at_base.items() if path != draft.path}
    [review] = review_changed({draft.path: draft.text.encode()}, others)
    return (*review.findings, *_compare_with_base(draft, present, review))


def _compare_with_base(
    draft: SkillDraft, present: bytes | None, review: SkillReview
) -> Iterator[SkillFinding]:
    if draft.kind is DraftKind.NEW:
        if present is not None:
            yield _needs_decision(
                AT_BASE, f"{draft.path} is at base already; another name makes another file."
            )
        return
    if present is None:
        yield _needs_decision(ABSENT, f"{draft.path} is not at base any more.")
        return
    before = review_skill(present, draft.path).skill
    if before and review.skill and before.version == review.skill.version:
        yield _needs_decision(
            VERSION, f"Its version is still {before.version}; another text needs another version."
        )


def _needs_decision(rule: str, message: str) -> SkillFinding:
    return SkillFinding(rule=rule, level=Level.REJECT, message=message)


def known_to_approver(draft: SkillDraft, reviews: Sequence[SkillReview]) -> tuple[SkillReview, ...]:
    """Reviews in which what the person who approved this very text was shown is only noted."""
    shown = {(item.rule, item.line, item.message) for item in draft.findings}

    def noted(item: SkillFinding) -> SkillFinding:
        is_known = item.level is Level.FLAG and (item.rule, item.line, item.message) in shown
        return replace(item, level=Level.NOTE) if is_known else item

    return tuple(
        replace(review, findings=tuple(map(noted, review.findings))) if review.file == draft.path else review
        for review in reviews
    )


def is_as_approved(draft: SkillDraft, head: bytes | None, changes: Sequence[Change]) -> bool:
    """Whether the file is what the person approved, and a plain file."""
    modes = {change.new_mode for change in changes if change.path == draft.path}
    if modes & {SYMLINK_MODE, GITLINK_MODE, "100755"}:
        return False
    return head is None if draft.kind is DraftKind.RETIRE else head == draft.text.encode()


def is_moved_on(draft: SkillDraft, base: bytes | None) -> bool:
    """Whether base has another file by now than the draft was approved over; None for no file there. What was approved being
    there is no such move: somebody merged it."""
    before = draft.base_text.encode() if draft.kind is not DraftKind.NEW else None
    wanted = draft.text.encode() if draft.kind is not DraftKind.RETIRE else None
    return base not in (before, wanted)


def at_base_instead(draft: SkillDraft, present: bytes | None, reviews: Sequence[SkillReview]) -> str:
    """What base has in place of a draft that was merged, in words; empty where it has what was approved. `present` is the
    draft's file there, `reviews` are those of all the repository's skills."""
    if draft.kind is DraftKind.RETIRE:
        return f"{draft.path} is at base all the same" if present is not None else ""
    if present is None:
        return f"{draft.path} is not at base"
    review = next((review for review in reviews if review.file == draft.path), None)
    is_rejected = review is not None and review.verdict is SkillVerdict.REJECT
    unread = f"no Minion is offered it: {visible(review.why)}" if review and is_rejected else ""
    if present == draft.text.encode():
        return unread
    line = _first_difference(draft.text.encode(), present)
    text = f"another text is at base than was approved, from line {line} on"
    return f"{text}; {unread}" if unread else text


def _first_difference(ours: bytes, theirs: bytes) -> int:
    """The number of the first line in which two texts that differ do so."""
    lines = zip_longest(ours.split(b"\n"), theirs.split(b"\n"))
    return next(number for number, (one, other) in enumerate(lines, 1) if one != other)


def check_skill(
    draft: SkillDraft,
    changes: Sequence[Change],
    *,
    base: bytes | None,
    head: bytes | None,
    reviews: Sequence[SkillReview],
) -> CheckResult:
    """Judge the change that a draft became. `base` and `head` are its file there, `reviews` what is held against the skills
    that the change leaves."""
    fatal = [
        *_elsewhere(draft, changes),
        *_moved_base(draft, base),
        *(
            _finding(item.rule, item.message, review.file, item.line)
            for review in reviews
            for item in review.findings
            if item.level is Level.REJECT
        ),
    ]
    if fatal:
        text = "; ".join(dict.fromkeys(finding.rule for finding in fatal))
        return _skill_result(CheckScore.FAIL, f"not to be had: {text}", fatal, subject=Subject.FAILED)
    if not is_as_approved(draft, head, changes):
        return _skill_result(CheckScore.NEEDS_REVISION, "not what was approved", [_difference(draft, head)])
    text = "is gone" if draft.kind is DraftKind.RETIRE else "is as it was approved"
    return _skill_result(CheckScore.PASS, f"{draft.path} {text}", [])


def _elsewhere(draft: SkillDraft, changes: Sequence[Change]) -> Iterator[Finding]:
    for path in sorted({path for change in changes for path in change.paths} - {draft.path}):
        yield _finding("beyond-the-skill", f"{visible(path)} is changed beside the skill.", visible(path))


def _moved_base(draft: SkillDraft, base: bytes | None) -> Iterator[Finding]:
    before = draft.base_text.encode() if draft.kind is not DraftKind.NEW else None
    if base != before:
        message = f"{draft.path} was changed at base since draft {draft.label} was approved. Close this, then {draft.way_on}."
        yield _finding("base-changed", message, draft.path)


def _difference(draft: SkillDraft, head: bytes | None) -> Finding:
    if draft.kind is DraftKind.RETIRE:
        return _finding("not-as-approved", "The file is to be deleted, and is there.", draft.path)
    if head is None:
        return _finding("not-as-approved", "The file is to be written, and is not there.", draft.path)
    if draft.text.encode() == head:
        return _finding("not-as-approved", "The file must be a plain file that cannot be run.", draft.path)
    line = _first_difference(draft.text.encode(), head)
    message = "The file is not what was approved, word for word: it begins to differ in this line."
    suggestion = (
        "Write the file again exactly as the issue has it between the fences, with a line feed at its end."
    )
    return replace(_finding("not-as-approved", message, draft.path, line), suggestion=suggestion)


def _finding(rule: str, message: str, file: str, line: int | None = None) -> Finding:
    return Finding(check=CheckName.SKILL, rule=rule, message=visible(message), file=file, line=line)


def _skill_result(
    score: CheckScore, summary: str, findings: Sequence[Finding], *, subject: str = ""
) -> CheckResult:
    return CheckResult(
        name=CheckName.SKILL, score=score, summary=summary, findings=tuple(findings), subject=subject
    )
