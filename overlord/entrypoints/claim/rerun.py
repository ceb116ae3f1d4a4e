"""The recorded commands of claims, run once more on copies of a commit's files: the one check that trusts nobody.

The files a claim ended with are those of the commit with the changes of later claims taken back; the files it began on are those with its own
taken back as well. The commands are programs of the repository, and run as the user's own: nothing keeps them from their files.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from minion.protocol import CheckStep, StepOutcome, StepResult, Tree
from overlord.adapters.git.command import git
from overlord.domain.text.plain import visible
from overlord.entrypoints.claim.check import Checked
from overlord.entrypoints.claim.record import Claim
from overlord.entrypoints.local.checkout import QUIET, Checkout, commit_of, filters_off
from overlord.errors import Refused

_STEPS: TypeAdapter[tuple[CheckStep, ...]] = TypeAdapter(tuple[CheckStep, ...])
_RUNS: TypeAdapter[tuple[StepResult, ...]] = TypeAdapter(tuple[StepResult, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A command that was run, and how it ended."""

    step: CheckStep
    run: StepResult

    @property
    def command(self) -> tuple[str, ...]:
        """What is run here: of a repository whose tests were found, pytest as it is installed here."""
        return self.step.command or ("python3", "-m", "pytest", "-q", *self.step.files)


def recorded(claim: Claim) -> tuple[Recorded, ...]:
    """The commands of a claim that ran to their end. Raises Refused where the evidence does not have them."""
    said: Mapping[str, Any] = claim.verification
    try:
        steps = _STEPS.validate_python(said.get("steps") or ())
        runs = _RUNS.validate_python(said.get("runs") or ())
    except ValidationError:
        raise Refused(f"the evidence of {claim.call.ref} has no commands that can be run again") from None
    known = {item.name: item for item in steps}
    return tuple(
        Recorded(step=known[run.name], run=run)
        for run in runs
        if run.outcome is StepOutcome.RAN and run.name in known
    )


async def lay_out(checkout: Checkout, ref: str, place: Path) -> None:
    """The files of a commit, in a new directory. No program of the repository runs for it. Raises NotFound, GitFailed."""
    commit = await commit_of(checkout, ref)
    await asyncio.to_thread(place.mkdir)
    environment = {"GIT_INDEX_FILE": str(place.parent / "index"), "GIT_WORK_TREE": str(place)}
    settings = {**QUIET, **await filters_off(checkout), "core.bare": "false"}
    for words in (("read-tree", commit), ("checkout-index", "-a", f"--prefix={place}/")):
        await git(checkout.git_dir, *words, settings=settings, environment=environment)


def checked(claims: Sequence[Claim], head: Path, room: Path) -> Iterator[Checked]:
    """Run the commands of each, the last claim first. `head` has the files the last one left; `room` is for copies."""
    for number, claim in enumerate(reversed(claims)):
        base = room / f"base-{number}"
        shutil.copytree(head, base, symlinks=True)
        if wrong := _take_back(claim, base):
            yield Checked(claim=claim.call.ref, holds=False, text=wrong)
            return
        found = recorded(claim)
        if not found:
            yield Checked(claim=claim.call.ref, holds=True, text="It rests on no commands that were run.")
        for item in found:
            yield _run(claim, item, base=base, head=head, place=room / "copy")
        head = base


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


def _run(claim: Claim, item: Recorded, *, base: Path, head: Path, place: Path) -> Checked:
    """One command, in a fresh copy."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(base if item.step.tree is Tree.BASE else head, place, symlinks=True)
    for path in item.step.restore:
        _restore(path, base=base, place=place)
    said = visible(" ".join(item.command))[:120]
    where = f"`{said}` on the files {'before' if item.step.tree is Tree.BASE else 'after'} it"
    try:
        done = subprocess.run(
            item.command,
            cwd=place,
            timeout=item.step.timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except OSError as error:
        text = f"{where} cannot be run here: {error.strerror}."
        return Checked(claim=claim.call.ref, holds=False, text=text)
    except subprocess.TimeoutExpired:
        text = f"{where} did not end within {item.step.timeout_s} s."
        return Checked(claim=claim.call.ref, holds=False, text=text)
    holds = done.returncode == item.run.exit_code
    ended = f"ended with {done.returncode}"
    text = f"{where} {ended}{', as was recorded' if holds else f', and {item.run.exit_code} was recorded'}."
    return Checked(claim=claim.call.ref, holds=holds, text=text)


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
