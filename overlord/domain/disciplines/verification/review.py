"""Review: every file that was asked for was read whole, every finding names a line that there is, and the status is what the findings say."""

from collections.abc import Sequence

from overlord.domain.disciplines.call import CallStatus, Verification
from overlord.domain.disciplines.review_findings import (
    FindingSeverity,
    ReviewedFinding,
    findings_in,
    has_line,
    line_count,
)
from overlord.domain.disciplines.verification.seen import LineRange, Needed, Seen, within
from overlord.domain.text.plain import count, visible

MOST_NAMED = 5
BINARY_PROBE = 8_000
"""Bytes in which a NUL makes a file a binary one, as git has it."""


def needed_for_review(seen: Seen) -> Needed:
    """The files that were asked for, and those that findings name, on either reading of their paths."""
    named = {
        path
        for finding in findings_in(seen.result.runner_output)
        for path in _meant(seen, finding)
        if finding.path
    }
    return Needed(base=frozenset({*named, *(seen.path(name) for name in asked_files(seen))}))


def asked_files(seen: Seen) -> tuple[str, ...]:
    """The files of the call, as they were given."""
    files = seen.arguments.get("files")
    return tuple(str(name) for name in files) if isinstance(files, list | tuple) else ()


def judge_review_call(seen: Seen) -> Verification:
    """Whether the review holds as far as code can see."""
    result = seen.result
    if result.status is CallStatus.ERROR:
        return Verification(verified=False, why="The worker did not review: its status is error.")
    findings = findings_in(result.runner_output)
    if problems := [*_unread(seen), *_misplaced(seen, findings)]:
        more = f" ({len(problems)} such problems in all.)" if len(problems) > MOST_NAMED else ""
        return Verification(verified=False, why=visible(" ".join(problems[:MOST_NAMED]) + more))
    critical = sum(1 for finding in findings if finding.severity is FindingSeverity.CRITICAL)
    if (result.status is CallStatus.FAIL) is not bool(critical):
        said = f"Its status is {result.status} with {count(critical, 'critical finding')}: it is fail where there is one, and only then."
        return Verification(verified=False, why=said)
    files = asked_files(seen)
    read = sum(1 for name in files if is_text(seen.base.get(seen.path(name))))
    if not read:
        return Verification(verified=False, why="None of the files could be read, so nothing was reviewed.")
    left = f" {count(len(files) - read, 'file')} could not be read, as it says." if read < len(files) else ""
    return Verification(
        verified=True,
        why=f"{count(read, 'file')} read whole; the lines of {count(len(findings), 'finding')} exist.{left}",
    )


def _unread(seen: Seen) -> list[str]:
    """What was not read whole, a sentence each. What cannot be read must be named in the result."""
    files = asked_files(seen)
    problems = [] if files else ["No file was asked for."]
    said = f"{seen.result.message}\n{seen.result.runner_output}"
    for name in files:
        content = seen.base.get(seen.path(name))
        if content is None or not is_text(content):
            if name not in said:
                what = "is not there" if content is None else "is no text"
                problems.append(f"{name} {what}, and the review does not say so.")
        elif gap := first_unread(content, seen.files_read.get(seen.path(name), ())):
            lines = line_count(content)
            problems.append(
                f"{name} was not read whole: line {gap} of {lines} was never shown to the worker."
            )
    return problems


def is_text(content: bytes | None) -> bool:
    """Whether a file is there and has lines to read."""
    return content is not None and b"\0" not in content[:BINARY_PROBE]


def first_unread(content: bytes, ranges: Sequence[LineRange]) -> int:
    """The first line that no range holds; 0 where all were read."""
    next_line = 1
    for first, last in sorted(ranges):
        if first > next_line:
            break
        next_line = max(next_line, last + 1)
    return next_line if next_line <= line_count(content) else 0


def _misplaced(seen: Seen, findings: Sequence[ReviewedFinding]) -> list[str]:
    """Findings without a line that there is, a sentence each."""
    problems = []
    for finding in findings:
        if not finding.path:
            problems.append(f"A finding names no file and line: {' '.join(finding.text.split())[:120]}.")
            continue
        content = next((seen.base[path] for path in _meant(seen, finding) if path in seen.base), None)
        if content is None:
            problems.append(f"A finding is about {finding.place}: there is no such file.")
        elif not has_line(content, finding.line, finding.last_line):
            problems.append(
                f"A finding is about {finding.place}: the file has {count(line_count(content), 'line')}."
            )
    return problems


def _meant(seen: Seen, finding: ReviewedFinding) -> tuple[str, ...]:
    """The paths that a finding may mean, the likelier first: in the project, then from the repository's root."""
    return tuple(dict.fromkeys((within(seen.directory, finding.path), finding.path)))
