"""What is held against the skills that somebody's pull request changes, judged as they would be after its merge, and what is said
of that at the forge. What a verdict cannot be made of is said to be so; it is never a pass.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256

from overlord.domain.identifiers import Sha
from overlord.domain.repositories.forge import PulledFile, TreeEntry
from overlord.domain.skills.file import FOLDERS, SKILLS_DIRECTORY, is_skill_path, touches_skills
from overlord.domain.skills.finding import SkillFinding
from overlord.domain.skills.review import SkillReview, review_changed, unreadable
from overlord.domain.skills.scan.rule import Level
from overlord.domain.skills.verdict import SkillVerdict, verdict_of
from overlord.domain.text.plain import count, defused_line, plain_line, visible
from overlord.domain.text.secret_detection import redacted
from overlord.domain.text.untrusted_yaml import MAX_BYTES

MOST_CHANGED = 20
"""Files of skills in one pull request: what nobody would read is not judged at length either."""
_MOST_SHOWN = 40
"""Findings in the comment."""
_CUT = 160
_LEVELS = (Level.REJECT, Level.FLAG, Level.NOTE)
_GRAVITY = ("success", "pending", "error", "failure")
_PARENTS = {folder.partition("/")[0] for folder in FOLDERS}
MARK = "<!-- overlord:skills -->"


class Outcome(StrEnum):
    """What the review came to."""

    UNTOUCHED = "untouched"
    ACCEPT = "accept"
    FLAG = "flag"
    REJECT = "reject"
    UNJUDGED = "unjudged"


DOUBTED = frozenset({Outcome.FLAG, Outcome.REJECT, Outcome.UNJUDGED})
STATES: Mapping[Outcome, str] = {
    Outcome.UNTOUCHED: "success",
    Outcome.ACCEPT: "success",
    Outcome.FLAG: "pending",
    Outcome.REJECT: "failure",
    Outcome.UNJUDGED: "error",
}
"""The commit status each outcome is told by."""
_WORDS = {
    Outcome.UNTOUCHED: "no skills",
    Outcome.ACCEPT: "accepted",
    Outcome.FLAG: "to be looked at",
    Outcome.REJECT: "rejected",
    Outcome.UNJUDGED: "not judged",
}
_MARKS = {SkillVerdict.ACCEPT: "✅", SkillVerdict.FLAG: "⚠️", SkillVerdict.REJECT: "❌"}
_MERGES = "Overlord merges nothing: whatever stands here, a person must read this and approve it."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedFile:
    """A file of skills that a pull request changes, and what is held against it."""

    path: str
    findings: tuple[SkillFinding, ...] = ()
    is_removed: bool = False

    @property
    def verdict(self) -> SkillVerdict:
        return verdict_of(self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillPullReview:
    """A row: an open pull request, the head that was looked at, and what of that is known to stand at the forge."""

    space: str
    number: int
    head_sha: Sha
    outcome: Outcome
    base_branch: str = ""
    """The branch it was for: what it changes is told from there."""
    beside: str = ""
    """The fingerprint of the skills at its base; another one means another look."""
    files: tuple[ReviewedFile, ...] = ()
    trouble: str = ""
    """Why it could not be judged."""
    is_marked: bool = False
    """Whether it was about skills at any time, so that it may have a label and a comment of ours."""
    noticed: tuple[Outcome, ...] = ()
    """What people were told in the chat, each once."""
    comment_id: int | None = None
    told: str = ""
    """The stamp of what was said last; empty for nothing."""

    @property
    def is_about_skills(self) -> bool:
        return self.outcome is not Outcome.UNTOUCHED

    @property
    def why(self) -> str:
        """The gravest thing held against it, in a sentence; empty when there is none."""
        if self.trouble:
            return self.trouble
        found = [(file, item) for file in self.files for item in file.findings]
        for level in (Level.REJECT, Level.FLAG):
            for file, item in found:
                if item.level is level:
                    place = f"{file.path}:{item.line}" if item.line else file.path
                    return f"{item.rule} in {place}: {item.message}"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What of a pull request is about skills: paths that are there after it, and paths that are gone."""

    left: tuple[str, ...]
    gone: tuple[str, ...]

    @classmethod
    def of(cls, files: Sequence[PulledFile]) -> "Change":
        left = {file.path for file in files if not file.is_removed and _touches(file.path)}
        gone = {file.path for file in files if file.is_removed and _touches(file.path)}
        gone |= {file.old_path for file in files if file.old_path and _touches(file.old_path)}
        return cls(left=tuple(sorted(left)), gone=tuple(sorted(gone - left)))

    def __bool__(self) -> bool:
        return bool(self.left or self.gone)

    @property
    def paths(self) -> frozenset[str]:
        return frozenset((*self.left, *self.gone))


def _touches(path: str) -> bool:
    # What takes the place of the directory above takes the skills with it.
    return touches_skills(path) or path.casefold() in _PARENTS


def judge(
    change: Change, contents: Mapping[str, bytes | None], others: Mapping[str, bytes]
) -> tuple[ReviewedFile, ...]:
    """Judge a change beside the skills at base. `contents` is what it leaves, None for what is no plain file."""
    others_left = {path: content for path, content in others.items() if path not in change.paths}
    seen = change.left[:MOST_CHANGED]
    reviews: list[SkillReview] = list(
        review_changed({path: contents.get(path) for path in seen}, others_left)
    )
    if len(change.left) > MOST_CHANGED:
        text = f"{len(change.left):,} files of skills are changed at once; {MOST_CHANGED} are the limit, and no more were looked at."
        reviews.append(unreadable(change.left[MOST_CHANGED], text))
    judged = [ReviewedFile(path=review.file, findings=review.findings) for review in reviews]
    return (*judged, *(ReviewedFile(path=path, is_removed=True) for path in change.gone))


def outcome_of(files: Collection[ReviewedFile]) -> Outcome:
    """What the files of a change come to together."""
    return Outcome(verdict_of([item for file in files for item in file.findings]))


def fingerprint(entries: Mapping[str, TreeEntry]) -> str:
    """What tells the skills at a base from those at another."""
    lines = sorted(f"{entry.mode} {entry.sha} {name}" for name, entry in entries.items())
    return sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()[:16]


def readable(entries: Mapping[str, TreeEntry]) -> dict[str, TreeEntry]:
    """The skill files of a directory, by path: plain ones that are not too large to be any."""
    found = {f"{SKILLS_DIRECTORY}/{name}": entry for name, entry in entries.items()}
    return {
        path: entry
        for path, entry in sorted(found.items())
        if is_skill_path(path) and entry.is_file and (entry.size or 0) <= MAX_BYTES
    }


TOO_LARGE = b" " * (MAX_BYTES + 1)
"""Stands for a file that is not fetched: whatever is as long as this is refused for it."""


def shortened(file: ReviewedFile) -> ReviewedFile:
    """With the gravest of its findings alone, once a verdict was made of all of them."""
    by_weight = sorted(file.findings, key=lambda item: _LEVELS.index(item.level))
    return replace(file, findings=tuple(by_weight[:_MOST_SHOWN]))


# What is said of it at the forge


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedReview:
    """What is to stand at a pull request. Empty texts: nothing of that kind."""

    state: str = ""
    description: str = ""
    body: str = ""
    is_labelled: bool = False

    def stamp(self, head_sha: str) -> str:
        """What tells it from anything else that was said."""
        if not self.state:
            return ""
        values = (head_sha, self.state, self.description, self.body, str(self.is_labelled))
        return sha256("\0".join(values).encode()).hexdigest()[:16]


def agreed(
    reviews: Collection[tuple[SkillPullReview, PublishedReview]],
) -> Iterator[tuple[SkillPullReview, PublishedReview]]:
    """What pull requests of a space say, where they are of the same commit: its status is the gravest of theirs, as it has one."""
    worst: dict[str, PublishedReview] = {}
    for pull_review, words in sorted(reviews, key=lambda one: _GRAVITY.index(one[1].state or _GRAVITY[0])):
        if words.state:
            worst[pull_review.head_sha] = words
    for pull_review, words in reviews:
        if words.state:
            gravest = worst[pull_review.head_sha]
            yield pull_review, replace(words, state=gravest.state, description=gravest.description)


def published_review(pull_review: SkillPullReview, *, every: bool, approved_by: str = "") -> PublishedReview:
    """What a review has to say. `every`: also of what changes no skills; `approved_by`: the person who approved a head that a
    person was to look at."""
    if not pull_review.is_about_skills:
        body = _body(pull_review) if pull_review.is_marked else ""
        is_published = every or pull_review.is_marked
        return (
            PublishedReview(state="success", description="changes no skills", body=body)
            if is_published
            else PublishedReview()
        )
    if pull_review.outcome is Outcome.FLAG and approved_by:
        described = f"a person looked at its skills and approved them: {approved_by}"
        return PublishedReview(
            state=STATES[Outcome.ACCEPT],
            description=plain_line(described, limit=140),
            body=_body(pull_review, approved_by),
            is_labelled=True,
        )
    words = {
        Outcome.ACCEPT: "nothing is held against its skills; a person must approve them",
        Outcome.UNJUDGED: f"its skills could not be judged: {pull_review.why}",
    }
    text = words.get(pull_review.outcome, f"{_WORDS[pull_review.outcome]}: {pull_review.why}")
    return PublishedReview(
        state=STATES[pull_review.outcome],
        description=plain_line(redacted(text), limit=140),
        body=_body(pull_review),
        is_labelled=True,
    )


def sentence(pull_review: SkillPullReview) -> str:
    """A sentence for the chat."""
    why = f": {pull_review.why}" if pull_review.why else ""
    return plain_line(redacted(f"{_WORDS[pull_review.outcome]}{why}"), limit=300)


def _body(pull_review: SkillPullReview, approved_by: str = "") -> str:
    """The one comment, in Markdown; whatever the files say in it is text and nothing else."""
    lines = [f"### Skills in this pull request: {_WORDS[pull_review.outcome]}", ""]
    if not pull_review.is_about_skills:
        lines.append("It changed skills before, and does not any more.")
    elif pull_review.outcome is Outcome.UNJUDGED:
        lines.append(f"They could not be judged: {_inert(pull_review.trouble)} That is no pass. {_MERGES}")
    else:
        where = f"`{SKILLS_DIRECTORY}` as it would be after a merge of {_code(pull_review.head_sha[:12])}"
        lines.append(f"Overlord judged {where}. {_MERGES}")
        lines += [f"{_code(approved_by)} approved it at this commit."] if approved_by else []
        lines += ["", *_file_lines(pull_review.files)]
    return "\n".join([*lines, "", MARK])


def _file_lines(files: Sequence[ReviewedFile]) -> Iterator[str]:
    left = _MOST_SHOWN
    removed = [file for file in files if file.is_removed]
    for file in removed[:_MOST_SHOWN]:
        yield f"- 🗑️ {_code(file.path)} is removed"
    if len(removed) > _MOST_SHOWN:
        yield f"- and {count(len(removed) - _MOST_SHOWN, 'file')} more are removed"
    for file in (file for file in files if not file.is_removed):
        yield f"- {_MARKS[file.verdict]} {_code(file.path)}"
        for item in file.findings[:left]:
            place = f"line {item.line}, " if item.line else ""
            evidence = f" {_code(item.evidence)}" if item.evidence else ""
            yield f"  - {place}{_code(item.rule)} ({item.level}): {_inert(item.message)}{evidence}"
        if len(file.findings) > left:
            yield f"  - and {count(len(file.findings) - left, 'finding')} more"
        left = max(left - len(file.findings), 0)


_ENTITIES = str.maketrans({char: f"&#{ord(char)};" for char in "`*_~|[]\\"})


def _inert(text: str) -> str:
    """Words that a forge does not take for markup, a mention, a reference or an address."""
    line = defused_line(_shortened(text)).replace("&#91;", "[").replace("&#40;", "(").translate(_ENTITIES)
    return line.replace("www.", "www&#46;").replace("WWW.", "WWW&#46;")


def _code(text: str) -> str:
    """Words as code in a line, which they cannot end."""
    return f"`{_shortened(text).replace('`', chr(39)) or ' '}`"


def _shortened(text: str) -> str:
    line = " ".join(visible(redacted(text)).split())
    return line if len(line) <= _CUT else f"{line[: _CUT - 1]}…"
