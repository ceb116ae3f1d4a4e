"""Whether what a note rests on still holds at a commit: it is looked at, never run."""

from collections.abc import Collection, Mapping

from overlord.domain.knowledge.note import CheckKind, NoteCheck

MOST_BYTES = 1_000_000
"""Of one file that is looked into. In a larger one, nothing is held against a note."""


def why_not(check: NoteCheck, paths: Collection[str], contents: Mapping[str, bytes]) -> str:
    """Why it does not hold, in a sentence; empty where it does, and where that cannot be told."""
    is_there = check.path in paths or any(path.startswith(f"{check.path.rstrip('/')}/") for path in paths)
    match check.kind:
        case CheckKind.PATH_EXISTS:
            return "" if is_there else f"{check.path} is not there any more"
        case CheckKind.PATH_MISSING:
            return f"{check.path} is there now" if is_there else ""
    content = contents.get(check.path)
    if content is not None and len(content) >= MOST_BYTES:
        return ""
    has_text = check.text in (content or b"").decode("utf-8", "replace")
    if check.kind is CheckKind.TEXT_ABSENT:
        return f"{check.path} has “{check.text}” now" if has_text else ""
    if content is None:
        return f"{check.path} is not there any more"
    return "" if has_text else f"{check.path} has “{check.text}” no more"


def looks_into(check: NoteCheck) -> bool:
    """Whether the file's content is needed."""
    return check.kind in (CheckKind.TEXT_PRESENT, CheckKind.TEXT_ABSENT)
