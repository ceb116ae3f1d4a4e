"""Where an agent's program is found, and the files it is given: configuration below its home and in the working copy.

The working copy is the repository's: a link, a directory or a file that stands there in a place of ours is never followed.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from minion.errors import AgentFailed
from minion.protocol import AGENTS_DIRECTORY, AgentChoice


def find_program(choice: AgentChoice, executables: Sequence[str], search_path: str) -> tuple[str, ...]:
    """The command that starts an agent. Raises AgentFailed with a sentence when there is none."""
    own = Path(AGENTS_DIRECTORY, choice.program, "bin")
    path = f"{own}:{search_path}"
    names = choice.command[:1] or tuple(executables)
    for name in names:
        if found := shutil.which(name, path=path):
            return (found, *choice.command[1:])
    listed = " or ".join(names)
    raise AgentFailed(
        f"The agent {choice.name} is missing: there is no {listed} in {own} and none on the PATH. Build its image with "
        f"docker/images --agents {choice.program}, or install it where sessions run."
    )


def write_files(below: Path, files: Mapping[str, str], *, keeps: bool = False) -> tuple[str, ...]:
    """Write configuration below a directory, through no link; the names that were written. With `keeps` a file that is there
    already is left as it is, and so is what is in the way. Raises AgentFailed when a place cannot be used."""
    written = []
    for name, text in files.items():
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or not pure.parts:
            raise AgentFailed(f"{name!r} is no place for an agent's configuration.")
        if keeps and _is_taken(below, pure):
            continue
        try:
            _write(below, pure, text)
        except OSError as error:
            raise AgentFailed(f"An agent's configuration cannot be written to {name}: {error}.") from error
        written.append(str(pure))
    return tuple(written)


def exclude(root: Path, names: Sequence[str]) -> None:
    """Leave files out of everything git adds in a working copy. Raises AgentFailed."""
    place = root / ".git" / "info" / "exclude"
    try:
        there = place.read_text(encoding="utf-8", errors="replace").splitlines() if place.exists() else []
        new = [f"/{name}" for name in names if f"/{name}" not in there]
        if new:
            place.parent.mkdir(exist_ok=True)
            with place.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in new)
    except OSError as error:
        raise AgentFailed(f"{place} cannot be written: {error}.") from error


def remove_files(root: Path, names: Sequence[str]) -> None:
    """Remove our configuration from a working copy, and the directories it leaves empty."""
    for name in names:
        place = root / name
        if any(parent.is_symlink() for parent in place.parents if parent.is_relative_to(root)):
            continue
        with suppress(OSError):
            place.unlink()
            while (place := place.parent) != root:
                place.rmdir()


def _is_taken(below: Path, pure: PurePosixPath) -> bool:
    """Whether something stands at a place, or something that is no directory above it."""
    place = below
    for part in pure.parts[:-1]:
        place = place / part
        if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            return True
    return os.path.lexists(below / pure)


def _write(below: Path, pure: PurePosixPath, text: str) -> None:
    place = below
    for part in pure.parts[:-1]:
        place = place / part
        if place.is_symlink():
            place.unlink()
        place.mkdir(exist_ok=True)
    target = below / pure
    if os.path.lexists(target):
        shutil.rmtree(target) if target.is_dir() and not target.is_symlink() else target.unlink()
    number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(number, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
