"""What a repository says to those who work on it: its own words to agents, at base."""

from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.engine.runtime.parts import Parts

_GUIDANCE_FILES = ("AGENTS.md", "CONTRIBUTING.md")
_GUIDANCE_CHARS = 8000


async def guidance(parts: Parts, job: Job, base: Sha) -> str:
    """What the repository says to those who work on it, at base; cut, and fenced by whoever shows it to a model."""
    found = await parts.git.read_files(job.space, base, _GUIDANCE_FILES)
    texts = [(path, found[path].decode(errors="replace")) for path in _GUIDANCE_FILES if found.get(path)]
    return "\n\n".join(f"{path}:\n{text[:_GUIDANCE_CHARS]}" for path, text in texts)
