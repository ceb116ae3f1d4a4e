"""What would have to be run to see again what claims say, found from the files by the same code that an Overlord finds it by.

The files a claim ended with are those of the commit with the changes of later claims taken back; the files it began on are those with its own
taken back as well. Nothing of the repository or of a claim is run for it.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from minion.protocol import CheckStep, StepOutcome, StepResult
from overlord.adapters.git.command import git
from overlord.adapters.git.content.diff import parse_changes
from overlord.adapters.git.content.listing import LISTING_CHANGES
from overlord.domain.checks.file import CHECKS_PATH, ChecksFile, ChecksFileError, parse_checks
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.disciplines.verification import verify
from overlord.domain.environments.file import EnvironmentFileError
from overlord.domain.environments.recipe import recipe, wanted
from overlord.domain.scope.check import Change
from overlord.entrypoints.claim.commit import blobs_of
from overlord.entrypoints.claim.record import Claim
from overlord.entrypoints.local.checkout import QUIET, Checkout, commit_of, filters_off

SHOWN_BY_RUNS = frozenset({DisciplineName.TDD_RED, DisciplineName.TDD_GREEN, DisciplineName.TDD_REFACTOR})
READ_BYTES = 1_000_000
_STEPS: TypeAdapter[tuple[CheckStep, ...]] = TypeAdapter(tuple[CheckStep, ...])
_RUNS: TypeAdapter[tuple[StepResult, ...]] = TypeAdapter(tuple[StepResult, ...])
_SETTINGS = {**QUIET, "core.bare": "false", "core.autocrlf": "false", "core.safecrlf": "false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A run that shows what a claim says, and how it ended by the claim."""

    step: CheckStep
    recorded: StepResult

    @property
    def command(self) -> tuple[str, ...]:
        """What is run here: of a repository whose tests were found, pytest as it is installed here."""
        return self.step.command or ("python3", "-m", "pytest", "-q", *self.step.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOut:
    """A claim with the files before and after it, and what is to be run on them."""

    claim: Claim
    base: Path
    head: Path
    runs: tuple[Planned, ...] = ()
    changes: Sequence[Change] = ()
    """What is different in the files."""
    checks: ChecksFile | None = None
    """The commands of the files before it."""
    wrong: str = ""
    """Why nothing can be run for it, as a sentence; then it does not hold."""

    @property
    def taken_back(self) -> Sequence[str]:
        """The files whose content before comes out of the claim."""
        return sorted(blobs_of(self.claim.patch))


async def lay_out(claims: Sequence[Claim], checkout: Checkout, ref: str, room: Path) -> list[LaidOut]:
    """Each claim, the last one first, as far as files can be laid out. `room` is an empty directory for copies. Raises NotFound, GitFailed."""
    head = room / "head"
    await _files_of(checkout, ref, head)
    found: list[LaidOut] = []
    for number, claim in enumerate(reversed(claims)):
        base = room / f"base-{number}"
        await asyncio.to_thread(shutil.copytree, head, base, symlinks=True)
        if wrong := await asyncio.to_thread(_take_back, claim, base):
            return [*found, LaidOut(claim=claim, base=base, head=head, wrong=wrong)]
        laid = LaidOut(claim=claim, base=base, head=head)
        found.append(await _planned(laid, room / f"git-{number}"))
        head = base
    return found


async def _files_of(checkout: Checkout, ref: str, place: Path) -> None:
    """The files of a commit, in a new directory. No program of the repository runs for it."""
    commit = await commit_of(checkout, ref)
    await asyncio.to_thread(place.mkdir)
    environment = {"GIT_INDEX_FILE": str(place.parent / "index"), "GIT_WORK_TREE": str(place)}
    settings = {**QUIET, **await filters_off(checkout), "core.bare": "false"}
    for words in (("read-tree", commit), ("checkout-index", "-a", f"--prefix={place}/")):
        await git(checkout.git_dir, *words, settings=settings, environment=environment)


def _take_back(claim: Claim, place: Path) -> str:
    """Undo a claim's change in a copy; why it cannot be, else empty."""
    if not claim.patch:
        return ""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "GIT_CEILING_DIRECTORIES": str(place.parent)}
    words = ("git", "apply", "--reverse", "--whitespace=nowarn", "-")
    done = subprocess.run(
        words, cwd=place, input=claim.patch, capture_output=True, env=environment, check=False
    )
    return (
        "" if done.returncode == 0 else "Its change is not in these files, so it cannot be run again on them."
    )


async def _planned(laid: LaidOut, repository: Path) -> LaidOut:
    """With what has to be run for the claim, held against what it says was run; or with why it does not hold."""
    call = laid.claim.call
    if call.discipline not in SHOWN_BY_RUNS:
        return laid
    try:
        checks = await asyncio.to_thread(_checks, laid.base)
    except (ChecksFileError, EnvironmentFileError) as error:
        return replace(laid, wrong=f"What these files say of their tests cannot be read: {error}")
    changes = await _changes(laid.base, laid.head, repository)
    steps = verify.plan(
        call.discipline,
        changes=changes,
        arguments=call.arguments,
        directory=call.directory,
        checks=checks,
    ).steps
    if not steps:
        return replace(laid, wrong="By these files there is nothing to run that could show what it says.")
    said = _recorded(laid.claim)
    if missing := [step.name for step in steps if not _is_recorded(step, said)]:
        return replace(laid, wrong=f"It does not rest on the runs that show it: {', '.join(missing)}.")
    runs = tuple(Planned(step=step, recorded=said[step.name][1]) for step in steps)
    return replace(laid, runs=runs, changes=changes, checks=checks)


def _is_recorded(step: CheckStep, said: Mapping[str, tuple[CheckStep, StepResult]]) -> bool:
    """Whether the claim has this very run, and it came to its end."""
    if step.name not in said:
        return False
    other, run = said[step.name]
    same = (step.tree, step.command, frozenset(step.restore), step.directory, step.files)
    return run.outcome is StepOutcome.RAN and same == (
        other.tree,
        other.command,
        frozenset(other.restore),
        other.directory,
        other.files,
    )


def _recorded(claim: Claim) -> Mapping[str, tuple[CheckStep, StepResult]]:
    """The runs of a claim by their names; empty where they cannot be read."""
    said: Mapping[str, Any] = claim.verification
    try:
        steps = _STEPS.validate_python(said.get("steps") or ())
        runs = _RUNS.validate_python(said.get("runs") or ())
    except (ValidationError, RecursionError):
        return {}
    known = {item.name: item for item in steps}
    return {run.name: (known[run.name], run) for run in runs if run.name in known}


def _checks(base: Path) -> ChecksFile | None:
    """The commands of the files themselves, as an Overlord finds them. Raises ChecksFileError, EnvironmentFileError."""
    names = [
        path.relative_to(base).as_posix()
        for path in base.rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    files = {name: _content(base / name) for name in {*wanted(names), CHECKS_PATH} if name in set(names)}
    checks = parse_checks(files.get(CHECKS_PATH))
    usual = recipe({name: content for name, content in files.items() if name != CHECKS_PATH}, names)
    if usual.tests is None and usual.lint is None:
        return checks
    return ChecksFile(
        tests=(checks and checks.tests) or usual.tests, lint=(checks and checks.lint) or usual.lint
    )


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(READ_BYTES)


async def _changes(base: Path, head: Path, repository: Path) -> Sequence[Change]:
    """What is different in two directories."""
    await asyncio.to_thread(repository.mkdir)
    await git(repository, "init", "--quiet", "--bare", str(repository), settings=QUIET)
    trees = []
    for place in (base, head):
        environment = {"GIT_INDEX_FILE": str(repository / f"index-{place.name}"), "GIT_WORK_TREE": str(place)}
        await git(
            repository,
            "add",
            "--all",
            "--force",
            ".",
            settings=_SETTINGS,
            environment=environment,
            directory=place,
        )
        made = await git(repository, "write-tree", settings=_SETTINGS, environment=environment)
        trees.append(made.decode().strip())
    return parse_changes(await git(repository, *LISTING_CHANGES, *trees, "--", settings=QUIET))
