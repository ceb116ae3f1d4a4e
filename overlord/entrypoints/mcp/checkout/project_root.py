"""What `project_root` means on this machine: the checkout that the server was started in, or a directory of it. Nothing else is looked at."""

import os
from pathlib import Path

from overlord.domain.text.plain import visible
from overlord.entrypoints.local import checkout
from overlord.entrypoints.local.checkout import Checkout
from overlord.errors import NotFound, Refused

MOST_CHARS = 4_000
_SHOWN_CHARS = 200


def checkout_at(directory: Path) -> Checkout:
    """The checkout that a server is started in. Raises Refused where there is none."""
    try:
        own = checkout.find(directory)
    except (NotFound, OSError) as error:
        raise Refused(
            f"{shown(str(directory))} is in no git work tree ({error}); start this server in a checkout"
        ) from None
    if own.root is None:
        raise Refused(
            f"{shown(str(own.git_dir))} is a bare repository, which has no files to work on; start this server in a checkout of it"
        )
    return own


def directory_of(text: str, own: Checkout) -> str:
    """The directory of the repository that `project_root` means, as git names it; empty for its root. Raises Refused, with what is wrong."""
    assert own.root is not None, "a server's checkout has files"
    path = _existing(text, own.root)
    _check_links(path, own.root)
    real = path.resolve()
    if not real.is_relative_to(own.root):
        raise Refused(_elsewhere(real, own.root))
    inside = real.relative_to(own.root)
    if any(part.casefold() == ".git" for part in inside.parts):
        raise Refused(f"project_root {shown(text)} is git's own directory; give {own.root}")
    found = checkout.find(real)
    if found.root != own.root:
        raise Refused(
            f"project_root {shown(text)} is in a repository of its own, {found.place}; this server works on {own.root}: start another"
            " one there"
        )
    return "" if real == own.root else inside.as_posix()


def _existing(text: str, root: Path) -> Path:
    """The path of a directory that is there."""
    if not text.isprintable() or len(text) > MOST_CHARS:
        raise Refused(f"project_root is no path of a directory: {shown(text)!r}; give {root}")
    path = Path(text)
    if not path.is_absolute():
        raise Refused(f"project_root must be an absolute path, and {shown(text)!r} is relative; give {root}")
    if ".." in path.parts:
        raise Refused(
            f"project_root must be written without ..: {shown(text)!r}; the real path is {_real(path)}"
        )
    try:
        if path.is_dir():
            return path
        is_file = path.exists()
    except (OSError, ValueError) as error:
        raise Refused(f"project_root {shown(text)} cannot be looked at: {error}") from None
    if is_file:
        raise Refused(f"project_root {shown(text)} is a file; give the directory it is in")
    raise Refused(f"project_root {shown(text)} does not exist; this server works on {root}")


def _check_links(path: Path, root: Path) -> None:
    """Links in the way to the checkout's parent are the machine's (/tmp of a Mac). One that is the checkout, or is in it, is refused."""
    for step in (*reversed(path.parents), path):
        if not step.is_symlink():
            continue
        is_inside = step.parent.resolve().is_relative_to(root)
        if is_inside or step.resolve() not in root.parents:
            raise Refused(
                f"project_root {shown(str(path))} goes through a symbolic link, {shown(str(step))}; give the real path,"
                f" {_real(path)}"
            )


def _elsewhere(real: Path, root: Path) -> str:
    try:
        found = checkout.find(real)
    except NotFound:
        return f"project_root {shown(str(real))} is in no git work tree; this server works on {root}: give that, or a directory in it"
    kind = "a bare repository" if found.root is None else "another repository"
    return f"project_root {shown(str(real))} is in {kind}, {shown(str(found.place))}; this server works on {root}: start another one there"


def _real(path: Path) -> str:
    return shown(os.path.realpath(path))


def shown(text: str) -> str:
    """A path of whoever calls, fit to be printed."""
    return visible(text)[:_SHOWN_CHARS]
