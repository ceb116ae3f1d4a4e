"""What is said of a pull request, as findings for the next brief, and the words of its answers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from minion.protocol import Finding
from overlord.domain.conversation.comment_text import command_lines
from overlord.domain.repositories.forge import FailedCheck, Review, ReviewComment, ReviewState
from overlord.domain.text.hidden_text import without_hidden
from overlord.domain.text.plain import plain_line, quoted, visible

MESSAGE_CHARS = 300
LOG_LINES = 60
AFTER_ERROR = 5
_REPLY = re.compile(r"\s*#?(\d{1,4})\s*[:.)]\s*(.*)", re.DOTALL)
_STAMP = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z ")
_ERROR = re.compile(r"##\[error\]|\b(?:error|failed|failure|traceback|panic)\b", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedChange:
    """One thing to change."""

    key: str
    """What it stands for at the forge; the same thing has the same key."""
    finding: Finding
    thread: int | None = None
    """The review thread it is answered in."""
    comment: int | None = None
    """The comment of the conversation that it is answered to."""


def open_requests(reviews: Sequence[Review]) -> list[Review]:
    """The reviews that ask for changes in words of their own, and were not followed by their author's approval."""
    settled = {ReviewState.APPROVED, ReviewState.DISMISSED}
    later = {review.author: review.id for review in reviews if review.state in settled}
    return [
        review
        for review in reviews
        if review.state is ReviewState.CHANGES_REQUESTED
        and review.body.strip()
        and later.get(review.author, -1) < review.id
    ]


def threads(comments: Iterable[ReviewComment]) -> Mapping[int, list[ReviewComment]]:
    """The comments on a diff by the thread they stand in, each thread from its beginning."""
    found: dict[int, list[ReviewComment]] = {}
    for comment in comments:
        found.setdefault(comment.thread, []).append(comment)
    return found


def of_review(review: Review) -> RequestedChange:
    """What a whole review asks for."""
    body = without_hidden(review.body).text
    finding = Finding(
        check="people",
        rule="changes requested",
        message=f"{review.author}: {plain_line(body, limit=MESSAGE_CHARS)}",
        evidence=body,
    )
    return RequestedChange(key=f"review {review.id}", finding=finding)


def of_thread(remarks: Sequence[ReviewComment]) -> RequestedChange:
    """What a thread comes to, by its last comment; `said` are those of its comments that count."""
    last = remarks[-1]
    words = [without_hidden(comment.body).text for comment in remarks]
    finding = Finding(
        check="people",
        rule="review comment",
        message=f"{last.author}: {plain_line(words[-1], limit=MESSAGE_CHARS)}",
        file=last.path,
        line=last.line,
        evidence="\n\n".join(
            f"{comment.author}: {text}" for comment, text in zip(remarks, words, strict=True)
        ),
    )
    return RequestedChange(key=f"thread {last.thread} {last.id}", finding=finding, thread=last.thread)


COMMENT_KEY = "comment "


def of_comment(number: int, author: str, body: str) -> RequestedChange:
    """What somebody asks for in the conversation of the pull request."""
    own = plain_line("\n".join(command_lines(body)), limit=MESSAGE_CHARS)  # without what they quote
    finding = Finding(check="people", rule="comment", message=f"{author}: {own}", evidence=body)
    return RequestedChange(key=f"{COMMENT_KEY}{number}", finding=finding, comment=number)


def of_check(check: FailedCheck, head: str, log: str) -> RequestedChange:
    """What a failed check says."""
    summary = without_hidden(check.summary).text
    finding = Finding(
        check="ci",
        rule=plain_line(check.name, limit=100),
        message=f"failed: {plain_line(summary, limit=MESSAGE_CHARS)}" if summary else "failed",
        evidence="\n\n".join(part for part in (summary, visible(failing_part(log))) if part),
    )
    return RequestedChange(key=f"check {head} {check.name}", finding=finding)


def of_conflict(path: str, head: str, base: str) -> RequestedChange:
    """That a file was changed on both sides."""
    finding = Finding(
        check="git",
        rule="conflict",
        message="changed here and on the base branch: both are in the file, between conflict marks. Make one of them, "
        "so that both changes have their effect, and leave no mark.",
        file=path,
    )
    return RequestedChange(key=f"conflict {head} {base} {path}", finding=finding)


def failing_part(log: str) -> str:
    """What of a log tells why it failed: what led to the last error, without the stamps; else its end."""
    lines = [_STAMP.sub("", line) for line in log.splitlines()]
    marked = [number for number, line in enumerate(lines) if line.startswith("##[error]")]
    shown_lines = marked or [number for number, line in enumerate(lines) if _ERROR.search(line)]
    end = shown_lines[-1] + 1 + AFTER_ERROR if shown_lines else len(lines)
    return "\n".join(lines[max(end - LOG_LINES, 0) : end])


def replies(lines: Iterable[str]) -> dict[int, str]:
    """What a Minion said of the findings of its brief, by their numbers; what has no number is nobody's."""
    found = (match for reply in lines if (match := _REPLY.fullmatch(reply)))
    return {int(match[1]): match[2].strip() for match in found if match[2].strip()}


def answer(head: str, reply: str, *, is_changed: bool) -> str:
    """What is written into a thread once the work on it is delivered."""
    what = f"Taken up in {head}." if is_changed else "Nothing was changed for this."
    return f"{what}\n\n{quoted(reply)}" if reply else what
