"""What claims rest on, run once more on copies of a commit's files: the one check that trusts nobody.

The commands are programs of the repository and of the claims, and run as the user's own: nothing keeps them from their files.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from minion.protocol import StepOutcome, StepResult, Tree
from overlord.domain.text.plain import visible
from overlord.entrypoints.claim.check import Checked
from overlord.entrypoints.claim.judging import why_not_shown
from overlord.entrypoints.claim.planning import SHOWN_BY_RUNS, LaidOut, Planned

_OWN_RECORD = (
    "There are no commands to run again for it: it rests on the record of the Overlord that kept its ledger."
)
MOST_OUTPUT = 200_000
"""Bytes that are looked at of what a command prints: its end."""
_NO_PYTEST = re.compile(r"^\S*python\S*: No module named pytest$", re.MULTILINE)


def checked(laid_out: Sequence[LaidOut], room: Path) -> Iterator[Checked]:
    """Run what was planned for each. `room` is for copies."""
    for laid in laid_out:
        ref = laid.claim.call.ref
        if laid.wrong:
            yield Checked(claim=ref, holds=False, text=laid.wrong)
        elif laid.claim.call.discipline not in SHOWN_BY_RUNS:
            yield Checked(claim=ref, holds=True, text=_OWN_RECORD)
        else:
            yield from _rerun(laid, room / "copy")


def _rerun(laid: LaidOut, place: Path) -> Iterator[Checked]:
    ref, ran = laid.claim.call.ref, list[StepResult]()
    for item in laid.runs:
        made, text = _run(item, laid, place)
        yield Checked(
            claim=ref, holds=made is not None and made.exit_code == item.recorded.exit_code, text=text
        )
        if made is None:
            return
        ran.append(made)
    if laid.claim.result.verified and (wrong := why_not_shown(laid, ran)):
        yield Checked(claim=ref, holds=False, text=wrong)


def _run(item: Planned, laid: LaidOut, place: Path) -> tuple[StepResult | None, str]:
    """One command, in a fresh copy: what it did, if it came to an end, and a sentence."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(laid.base if item.step.tree is Tree.BASE else laid.head, place, symlinks=True)
    for path in item.step.restore:
        _restore(path, base=laid.base, place=place)
    said = visible(" ".join(item.command))[:120]
    where = f"`{said}` on the files {'before' if item.step.tree is Tree.BASE else 'after'} it"
    try:
        inside = (place / item.step.directory).resolve()
        is_there = inside.is_relative_to(place.resolve()) and inside.is_dir()
    except (OSError, ValueError):
        is_there = False
    if not is_there:
        directory = repr(visible(item.step.directory)[:120])
        return None, f"{where} cannot be run: there is no directory {directory}."
    try:
        code, output = _output(item, inside)
    except (OSError, ValueError) as error:
        return None, f"{where} cannot be run here: {getattr(error, 'strerror', None) or error}."
    except subprocess.TimeoutExpired:
        return None, f"{where} did not end within {item.step.timeout_s} s."
    if code and _NO_PYTEST.search(output):
        return None, f"{where} cannot be run here: pytest is not installed for the python3 of your PATH."
    ended = (
        "as was recorded"
        if code == item.recorded.exit_code
        else f"and {item.recorded.exit_code} was recorded"
    )
    made = StepResult(name=item.step.name, outcome=StepOutcome.RAN, exit_code=code, output=output)
    return made, f"{where} ended with {code}, {ended}."


def _output(item: Planned, directory: Path) -> tuple[int, str]:
    """How a command ends, and the end of what it prints. Raises OSError, ValueError, TimeoutExpired."""
    with tempfile.TemporaryFile() as file:
        done = subprocess.run(
            item.command,
            cwd=directory,
            timeout=item.step.timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        size = file.seek(0, 2)
        file.seek(max(0, size - MOST_OUTPUT))
        return done.returncode, file.read().decode(errors="replace")


def _restore(path: str, *, base: Path, place: Path) -> None:
    """Put a path back as it is at the base; one that is absent there is removed. Nothing outside the copy is touched."""
    target, source = place / path, base / path
    if not target.parent.resolve().is_relative_to(place.resolve()) or ".." in Path(path).parts:
        return
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True)
    elif source.is_symlink() or source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
