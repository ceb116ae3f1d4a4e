"""An export as a directory that is there as a whole or not at all: it is written under another name, and then takes its own."""

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from overlord.domain.training.finished_job import FinishedJob, LeftOut
from overlord.entrypoints.training.reading import Format, Line
from overlord.errors import NotFound, Refused

CARD = "README.md"


@dataclass(slots=True, kw_only=True)
class Export:
    """What was written, counted."""

    format: Format
    records: int = 0
    size: int = 0
    sha256: str = ""
    by_source: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By repository, agent and model."""
    jobs: int = 0
    first: str = ""
    last: str = ""
    """The days on which the first and the last of the jobs ended."""
    left_out: Counter[str] = field(default_factory=Counter)
    same: int = 0
    """Records that were there already."""
    bases: dict[str, str] = field(default_factory=dict)
    """The commit that the last job of each repository began on."""

    @property
    def file(self) -> str:
        return f"{self.format}.jsonl"


def check_free(place: Path) -> None:
    """Raises Refused unless there is nothing, or an empty directory that is no link."""
    try:
        is_free = not os.path.lexists(place) or (
            not place.is_symlink() and place.is_dir() and not any(place.iterdir())
        )
    except OSError as error:
        raise _unwritable(place, error) from None
    if not is_free:
        raise Refused(f"{place} is there already and not empty; name another directory with --output")


def write_export(
    place: Path, form: Format, lines: Iterable[Line | LeftOut], card: Callable[[Export], str]
) -> Export:
    """Write all of it. Raises Refused where that cannot be done, NotFound where there is no record; then nothing is left of it."""
    check_free(place)
    made = Export(format=form)
    part = place.absolute().parent / f".{place.absolute().name}.{secrets.token_hex(4)}.part"
    try:
        part.mkdir(mode=0o700, parents=True)
        _write_lines(part / made.file, lines, made)
        if not made.records:
            raise NotFound(f"no job makes a record for {form}{_why(made.left_out)}")
        _write_text(part / CARD, card(made))
        part.rename(place)
    except OSError as error:
        raise _unwritable(place, error) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return made


def _write_lines(path: Path, lines: Iterable[Line | LeftOut], made: Export) -> None:
    digest, seen, jobs = sha256(), set[bytes](), set[int]()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for line in lines:
            if isinstance(line, LeftOut):
                made.left_out[line.reason] += 1
                continue
            content = line.text.encode("utf-8", "replace") + b"\n"
            if (of_line := sha256(content).digest()) in seen:
                made.same += 1
                continue
            seen.add(of_line)
            file.write(content)
            digest.update(content)
            made.records += 1
            made.size += len(content)
            jobs.add(line.job.id)
            _count(made, line.job)
        file.flush()
        os.fsync(file.fileno())
    made.sha256, made.jobs = digest.hexdigest(), len(jobs)


def _count(made: Export, job: FinishedJob) -> None:
    made.by_source[(job.space, job.agent, job.model)] += 1
    made.first = min(made.first or job.ended_on, job.ended_on)
    made.last = max(made.last, job.ended_on)
    if job.base:
        made.bases[job.space] = job.base


def _write_text(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text.encode("utf-8", "replace"))
        file.flush()
        os.fsync(file.fileno())


def _why(left_out: Mapping[str, int]) -> str:
    reasons = "; ".join(f"{number} × {reason}" for reason, number in sorted(left_out.items()))
    return f" ({reasons})" if reasons else ""


def _unwritable(place: Path, error: OSError) -> Refused:
    return Refused(f"{place} cannot be written: {error.strerror}")
