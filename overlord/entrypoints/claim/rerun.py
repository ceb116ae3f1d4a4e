"""What claims rest on, run once more on copies of a commit's files: the one check that trusts nobody.

The commands are programs of the repository and of the claims, and run as the user's own: nothing keeps them from their files.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from minion.protocol import Tree
from overlord.domain.checks.testruns.judge import BASELINE_STEP, TESTS_STEP
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.text.plain import visible
from overlord.entrypoints.claim.check import Checked
from overlord.entrypoints.claim.planning import SHOWN_BY_RUNS, LaidOut, Planned

_OWN_RECORD = (
    "There are no commands to run again for it: it rests on the record of the Overlord that kept its ledger."
)


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
    ref, codes = laid.claim.call.ref, dict[str, int]()
    for item in laid.runs:
        code, text = _run(item, laid, place)
        holds = code is not None and code == item.recorded.exit_code
        yield Checked(claim=ref, holds=holds, text=text)
        if code is None:
            return
        codes[item.step.name] = code
    if laid.claim.result.verified and (wrong := _shows_nothing(laid.claim.call.discipline, codes)):
        yield Checked(claim=ref, holds=False, text=wrong)


def _shows_nothing(discipline: DisciplineName, codes: Mapping[str, int]) -> str:
    """Why runs that ended so cannot show what is claimed; empty where they can."""
    if discipline is DisciplineName.TDD_RED and not codes[TESTS_STEP]:
        return "The tests pass with the change, so no test of it fails."
    if discipline is not DisciplineName.TDD_RED and codes[TESTS_STEP] and not codes[BASELINE_STEP]:
        return "The tests pass without the change and fail with it."
    return ""


def _run(item: Planned, laid: LaidOut, place: Path) -> tuple[int | None, str]:
    """One command, in a fresh copy: how it ended, if it did, and a sentence."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(laid.base if item.step.tree is Tree.BASE else laid.head, place, symlinks=True)
    for path in item.step.restore:
        _restore(path, base=laid.base, place=place)
    said = visible(" ".join(item.command))[:120]
    where = f"`{said}` on the files {'before' if item.step.tree is Tree.BASE else 'after'} it"
    inside = (place / item.step.directory).resolve()
    if not inside.is_relative_to(place.resolve()) or not inside.is_dir():
        return None, f"{where} cannot be run: there is no directory {visible(item.step.directory)[:120]!r}."
    try:
        done = subprocess.run(
            item.command,
            cwd=inside,
            timeout=item.step.timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except (OSError, ValueError) as error:
        return None, f"{where} cannot be run here: {getattr(error, 'strerror', None) or error}."
    except subprocess.TimeoutExpired:
        return None, f"{where} did not end within {item.step.timeout_s} s."
    recorded = item.recorded.exit_code
    ended = "as was recorded" if done.returncode == recorded else f"and {recorded} was recorded"
    return done.returncode, f"{where} ended with {done.returncode}, {ended}."


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
