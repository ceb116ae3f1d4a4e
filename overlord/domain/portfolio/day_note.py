"""The file of a day's briefing: Overlord's part above a mark, a person's below it, which is never changed."""

MARK = "<!-- Below this line is yours: Overlord does not change it. -->"
MOST_BYTES = 1024 * 1024


def day_file(day: str, text: str, before: bytes | None) -> bytes:
    """What the file is to hold. `before` is what it holds now: what stands below the mark is kept byte for byte, and all of it where
    there is no mark, for then a person wrote it."""
    ours = f"# {day}\n\n{text.strip()}\n\n{MARK}\n".encode()
    if before is None:
        return ours
    _, mark, theirs = before.partition(f"{MARK}\n".encode())
    return ours + theirs if mark else ours + before
