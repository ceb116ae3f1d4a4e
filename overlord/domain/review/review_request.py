"""What the reviewing model is shown: the diff in parts, and around each part what it needs to know, all of it as data.

Every file of the diff is in at least one part, and no line is left out. What people, repositories or programs wrote
stands inside a fence that none of them can know; characters that would not be seen are written out.
"""

import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from minion.protocol import Issue
from overlord.domain.changes.diff import FileDiff, parse_diff
from overlord.domain.evaluation import CheckResult, describe
from overlord.domain.review.claim import Claim
from overlord.domain.review.rubric import Rubric
from overlord.domain.scope.check import Change

ISSUE_CHARS = 20_000
GUIDANCE_CHARS = 16_000
CHECKS_CHARS = 8_000
SMALLEST_ROOM = 1000
_STATUS = {"A": "added", "D": "deleted", "M": "modified", "R": "renamed", "T": "changed in type"}
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """So much of a diff as one request holds. A file too large for one part is in several."""

    number: int
    total: int
    files: tuple[str, ...]
    text: str


def review_parts(diff: str, changes: Sequence[Change], limit: int) -> list[Part]:
    """The whole diff in parts of about `limit` characters; none when it is cut or does not fit the changes."""
    parts: list[Part] = []
    pieces = [
        (file.change.path, piece)
        for file in parse_diff(changes, diff) or ()
        for piece in _pieces(file, limit)
    ]
    for path, piece in pieces:
        if parts and len(parts[-1].text) + len(piece) <= limit:
            files = tuple(dict.fromkeys((*parts[-1].files, path)))
            parts[-1] = replace(parts[-1], files=files, text=parts[-1].text + piece)
        else:
            parts.append(Part(number=len(parts) + 1, total=0, files=(path,), text=piece))
    return [replace(part, total=len(parts)) for part in parts]


def messages_for(
    part: Part,
    *,
    issue: Issue,
    checks: Sequence[CheckResult],
    guidance: str,
    rubric: Rubric,
    prompt: str,
    laws: Sequence[str],
    fence: str,
    claims: Sequence[Claim] = (),
    asked_for: str = "",
) -> list[dict[str, str]]:
    """One request's messages. `prompt` is `config/prompts/review.md`; `laws` those of the page on review; `fence` a random word made for this request;
    `claims` what is to be said of tests, `asked_for` what people said to the job after its issue."""
    rules = "\n".join(f"- {rule.id}: {rule.question}" for rule in rubric.rules)
    laid_down = "\n".join(f"- {law}" for law in laws)
    system = prompt.format(fence=fence, rubric=rules, laws=laid_down, number=part.number, total=part.total)
    made = "\n".join(_check(check) for check in checks)
    sections: tuple[tuple[str, str, int | None], ...] = (
        ("issue", f"{issue.title}\n\n{issue.body}", ISSUE_CHARS),
        ("what people asked for since", asked_for, ISSUE_CHARS),
        ("guidance of the repository", guidance, GUIDANCE_CHARS),
        ("checks made so far", made, CHECKS_CHARS),
        ("questions about tests", "\n".join(one.describe() for one in claims), None),
        ("files of this part", json.dumps(part.files, ensure_ascii=False), None),
        (f"diff, part {part.number} of {part.total}", part.text, None),
    )
    data = "\n\n".join(fenced(fence, name, text, limit) for name, text, limit in sections if text)
    return [{"role": "system", "content": system}, {"role": "user", "content": data}]


def seen(text: str) -> str:
    """The text with every character that would not be seen written out as its number."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line if line.isascii() and line.isprintable() else _spelled(line) for line in lines)


def _spelled(line: str) -> str:
    return "".join(
        f"\\u{{{ord(char):x}}}" if unicodedata.category(char) in _UNSEEN and char != "\t" else char
        for char in line
    )


def _pieces(file: FileDiff, limit: int) -> Iterator[str]:
    """A file's part of the diff in pieces that fit, each of which says what file it is from."""
    change = file.change
    came = f", was {change.old_path}" if change.old_path else ""
    counted = "binary, not shown" if change.binary else f"+{change.added} -{change.removed}"
    modes = f", mode {change.old_mode} → {change.new_mode}" if change.old_mode != change.new_mode else ""
    head = (
        seen(f"=== {change.path} ({_STATUS.get(change.status, change.status)}{came}, {counted}{modes})")
        + "\n"
    )
    room = max(limit - len(head), SMALLEST_ROOM)
    body = ""
    for bit in _bits(file, room):
        if body and len(body) + len(bit) > room:
            yield head + body
            body = ""
        body += bit
    yield head + body


def _bits(file: FileDiff, room: int) -> Iterator[str]:
    """Hunks; the lines of a hunk that is too long; of a line that is too long as much at a time as fits."""
    for hunk in file.hunks:
        text = seen(hunk.text)
        if len(text) <= room:
            yield text
            continue
        for line in text.splitlines(keepends=True):
            yield from (line[start : start + room] for start in range(0, len(line), room))


def _check(check: CheckResult) -> str:
    found = "".join(f"\n  {describe(finding)}" for finding in check.findings)
    return f"{check.name}: {check.score or 'not made'}: {check.summary}{found}"


def fenced(fence: str, name: str, text: str, limit: int | None) -> str:
    """Others' text between marks that it cannot close, cut, with everything in it to be seen."""
    text = seen(text).replace(fence, "[fence]")
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]}\n[cut: {len(text) - limit:,} more characters]"
    return f'<{fence} source="{name}">\n{text}\n</{fence}>'
