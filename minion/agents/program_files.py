"""Where an agent's program is found, and the files it is given: configuration below its home and in the working copy.

The working copy is the repository's: a link, a directory or a file that stands there in a place of ours is never followed.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from minion.errors import AgentFailed
from minion.protocol import ACP, AGENTS_DIRECTORY, AgentChoice


def find_program(choice: AgentChoice, executables: Sequence[str], search_path: str) -> tuple[str, ...]:
    """The command that starts an agent. Raises AgentFailed with a sentence when there is none."""
    own = Path(AGENTS_DIRECTORY, choice.program, "bin")
    # The program of `acp:opencode acp` stands where OpenCode's does.
    places = sorted(Path(AGENTS_DIRECTORY).glob("*/bin")) if choice.program == ACP else [own]
    path = ":".join((*map(str, places), search_path))
    names = choice.command[:1] or tuple(executables)
    for name in names:
        if found := shutil.which(name, path=path):
            return (found, *choice.command[1:])
    listed = " or ".join(names)
    if choice.program == ACP:
        remedy = "Name an image that holds it in its agent's settings"
    else:
        remedy = f"Build its image with docker/images --agents {choice.program}"
    where = " and ".join(map(str, places)) or AGENTS_DIRECTORY
    raise AgentFailed(
        f"The agent {choice.name} is missing: there is no {listed} in {where} and none on the PATH. {remedy}, or install it "
        "where sessions run."
    )


def write_files(below: Path, files: Mapping[str, str]) -> None:
    """Write configuration below a directory of ours, through no link. Raises AgentFailed when a place cannot be used."""
    for name, text in files.items():
        pure = _place(name)
        try:
            target = below / pure
            _make_way(below, pure, _remove)
            _write(target, text)
        except OSError as error:
            raise AgentFailed(f"An agent's configuration cannot be written to {name}: {error}.") from error


class LaidFiles:
    """Configuration in a working copy, for as long as a program runs. What stood in its place is put back afterwards."""

    def __init__(self, root: Path, aside: Path) -> None:
        """`aside` is a directory of ours for what has to make way."""
        self._root = root
        self._aside = aside
        self._laid: list[PurePosixPath] = []
        self._moved: list[PurePosixPath] = []

    @property
    def names(self) -> tuple[str, ...]:
        """All that is not as the repository has it."""
        return tuple(map(str, (*self._moved, *self._laid)))

    def lay(self, files: Mapping[str, str]) -> None:
        """Put files in. Raises AgentFailed when a place cannot be used."""
        for name, text in files.items():
            pure = _place(name)
            if pure.parts[0].casefold() == ".git":
                raise AgentFailed(f"{name!r} is no place for an agent's configuration.")
            try:
                _make_way(self._root, pure, self._move_aside)
                _write(self._root / pure, text)
            except OSError as error:
                raise AgentFailed(
                    f"An agent's configuration cannot be written to {name}: {error}."
                ) from error
            self._laid.append(pure)
        _exclude(self._root, self.names)

    def remove(self) -> None:
        """Take the files out, with the directories they leave empty, and put back what was there."""
        for pure in reversed(self._laid):
            place = self._root / pure
            if any(
                self._root.joinpath(*pure.parts[:depth]).is_symlink() for depth in range(1, len(pure.parts))
            ):
                continue  # the program put a link there: what is behind it is not ours
            with suppress(OSError):
                _remove(place)
                while (place := place.parent) != self._root:
                    place.rmdir()
        for number, pure in enumerate(self._moved):
            with suppress(OSError):
                if not os.path.lexists(self._root / pure):
                    (self._root / pure).parent.mkdir(parents=True, exist_ok=True)
                    shutil.move(self._aside / str(number), self._root / pure)
        self._laid.clear()
        self._moved.clear()

    def _move_aside(self, place: Path) -> None:
        self._aside.mkdir(parents=True, exist_ok=True)
        target = self._aside / str(len(self._moved))
        if os.path.lexists(target):
            _remove(target)
        shutil.move(place, target)
        self._moved.append(PurePosixPath(place.relative_to(self._root)))


def _place(name: str) -> PurePosixPath:
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in name:
        raise AgentFailed(f"{name!r} is no place for an agent's configuration.")
    return pure


def _make_way(below: Path, pure: PurePosixPath, move: Callable[[Path], None]) -> None:
    """Make the directories of a place, and the place itself free: nothing there, no link above it."""
    place = below
    for part in pure.parts[:-1]:
        place = place / part
        if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            move(place)
        place.mkdir(exist_ok=True)
    if os.path.lexists(below / pure):
        move(below / pure)


def _write(target: Path, text: str) -> None:
    number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(number, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)


def _remove(place: Path) -> None:
    shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()


def _exclude(root: Path, names: Sequence[str]) -> None:
    """Leave files out of what git adds, so that an agent that adds everything does not add them. A save does not rely on it."""
    place = root / ".git" / "info" / "exclude"
    with suppress(OSError):
        there = place.read_text(encoding="utf-8", errors="replace").splitlines() if place.exists() else []
        if new := [f"/{name}" for name in names if f"/{name}" not in there]:
            place.parent.mkdir(exist_ok=True)
            with place.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in new)
