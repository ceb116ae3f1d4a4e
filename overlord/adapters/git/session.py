"""A session's bare repository: its quarantine. It holds what the session may know, and borrows nothing from anywhere.

What a repository can reach, a session that knows its name can fetch on top of a push of its own; so there is nothing to reach.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from overlord.adapters.git.known import write_known
from overlord.adapters.git.ready import link_history, pack, shallow_part
from overlord.domain.identifiers import Sha
from overlord.domain.session import MAX_PUSH_BYTES
from overlord.errors import GitFailed
from overlord.git_limits import SETTINGS
from overlord.home import taken_bytes

# What git itself takes in a name of a branch, as `git check-ref-format` has it.
_NOT_A_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|(^|/)\.|^[/-]|^@$|[/.]$|\.lock(/|$)")


async def make_session_repository(
    repository: Path,
    *,
    history: Path,
    mirror: Path,
    refs: Mapping[str, Sha],
    writable: str | None,
    known: Callable[[Sha], Awaitable[frozenset[str]]],
) -> None:
    """Make it with these branches: the first one's history is that of `history`, the others' is packed from the mirror.

    `known` says what a commit has of `.gitmodules`.
    """
    base, *others = refs.values()
    # What `git init --bare` makes, without a process of its own.
    for directory in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (repository / directory).mkdir(parents=True)
    (repository / "HEAD").write_text(f"ref: refs/heads/{next(iter(refs))}\n")
    (repository / "config").write_text(_config(writable))
    link_history(history, repository)
    if wanted := [sha for sha in others if sha != base]:
        await pack(mirror, repository, wanted, known=[base], bounded=True)
        if boundary := await shallow_part(mirror, [base, *wanted]):
            (repository / "shallow").write_text(boundary)
    write_known(repository, [await known(commit) for commit in dict.fromkeys(refs.values())])
    # What `git update-ref` and `git pack-refs` make, without a process of their own.
    (repository / "packed-refs").write_text(_packed(refs))
    new_copy = repository / "ready.new"
    new_copy.write_text(str(taken_bytes(repository / "objects")))
    new_copy.rename(repository / "ready")


def _packed(refs: Mapping[str, Sha]) -> str:
    """Branches as git lists them in one file. Raises GitFailed for what it takes for no name of a branch, or for a directory."""
    for branch in refs:
        if _NOT_A_NAME.search(branch) or not branch:
            raise GitFailed(f"{branch!r} is no name of a branch")
        if any(other.startswith(f"{branch}/") for other in refs):
            raise GitFailed(f"refs/heads/{branch} exists; git keeps no branch {branch}/… beside it")
    lines = [
        f"{refs[branch]} refs/heads/{branch}\n" for branch in sorted(refs, key=lambda name: name.encode())
    ]
    return "".join(["# pack-refs with: peeled fully-peeled sorted \n", *lines])


def _config(writable: str | None) -> str:
    receive = "" if writable is None else f"\thideRefs = !refs/heads/{writable}\n"
    # Also for a git that the one beside a fetch starts here: it does not hand on what it was told.
    bounds = "".join("[{}]\n\t{} = {}\n".format(*key.split("."), value) for key, value in SETTINGS.items())
    return (
        "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
        "\thooksPath = /dev/null\n\tlogAllRefUpdates = false\n"
        f"[gc]\n\tauto = 0\n{bounds}"
        f"[http]\n\treceivepack = {'true' if writable else 'false'}\n"
        "[receive]\n\tautogc = false\n\tfsckObjects = true\n\tdenyDeletes = true\n\tdenyNonFastForwards = true\n"
        # What is pushed stays packed: to unpack it takes as much of the disk as it unfolds to.
        f"\tunpackLimit = 1\n\tmaxInputSize = {MAX_PUSH_BYTES}\n\thideRefs = refs\n{receive}"
    )
