"""What a repository says to those who work on it: its own words to agents, at base, whichever agent they were written for."""

from collections.abc import Iterable

from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.text.hidden_text import without_hidden_characters
from overlord.engine.runtime.parts import Parts

FILES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", "CONTRIBUTING.md")
"""Where projects keep them, in the order they are told."""
RULES = ".cursor/rules/"
"""Rules of Cursor, one file each."""
MOST_RULES = 20
FILE_CHARS = 8_000
ALL_CHARS = 18_000
"""All of it together: what a session is shown of one source without a cut."""
_LOOKED_AT_CHARS = 4 * FILE_CHARS
_CUT = "\n[… the rest of this file was left out]"


async def guidance(parts: Parts, job: Job, base: Sha, listing: Iterable[str] | None = None) -> str:
    """What the repository says to those who work on it; each file once and cut, what people cannot see in it marked, and fenced by
    whoever shows it to a model.

    `listing` has the paths of base, where they are known. A file that says the same as one before it, as a link to it does, is left out.
    """
    if listing is None:
        listing = await parts.git.listing(job.space, base)
    rules = sorted(path for path in listing if path.startswith(RULES) and path.endswith(".mdc"))
    paths = (*FILES, *rules[:MOST_RULES])
    found = await parts.git.read_files(job.space, base, paths)
    told: dict[str, str] = {}
    left = ALL_CHARS
    for path in paths:
        words = found.get(path, b"").decode("utf-8-sig", errors="replace")[:_LOOKED_AT_CHARS]
        text = without_hidden_characters(words).text.strip()
        if not text or text in told.values() or text in paths:
            continue  # the content of a symbolic link is the path it leads to
        told[path] = text
    parts_of = []
    for path, text in told.items():
        shown = f"{path}:\n{text[:FILE_CHARS]}{_CUT if len(text) > FILE_CHARS else ''}"
        if len(shown) > left:
            parts_of.append(f"{path}: not shown, there is too much before it; read it where it matters")
            continue
        left -= len(shown)
        parts_of.append(shown)
    return "\n\n".join(parts_of)
