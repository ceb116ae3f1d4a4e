"""A repository's history up to some commits, in one file, and a mirror made of one: what a backup takes along.

What only Overlord has (canonical commits that were not pushed yet) cannot be fetched again. The file is complete in itself: a
restored mirror needs no forge before work goes on. Nothing but objects and names of commits comes from it.
"""

import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from overlord.adapters.git.command import LASTING, git
from overlord.adapters.git.content.reading import is_there
from overlord.adapters.git.ready import pack, shallow_part
from overlord.domain.identifiers import Sha
from overlord.errors import GitFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """`pack` holds everything that is reachable from `heads`, but for what lies beyond the commits in `shallow`."""

    pack: Path
    heads: Sequence[Sha]
    shallow: str


async def taken(mirror: Path, wanted: Collection[str], scratch: Path) -> History | None:
    """Pack the history of those of the commits that a mirror has; None when it has none of them."""
    if not is_there(mirror) or not wanted:
        return None
    asked = "".join(f"{sha}^{{commit}}\n" for sha in sorted(wanted)).encode()
    answers = (await git(mirror, "cat-file", "--batch-check=%(objectname)", stdin=asked)).decode().split("\n")
    heads = sorted({Sha(answer) for answer in answers if answer and not answer.endswith(" missing")})
    if not heads:
        return None
    place = Path(tempfile.mkdtemp(dir=scratch))
    (place / "objects" / "pack").mkdir(parents=True)
    await pack(mirror, place, heads)
    [packed] = (place / "objects" / "pack").glob("*.pack")
    return History(pack=packed, heads=heads, shallow=await shallow_part(mirror, heads))


async def mirror_of(history: History, mirror: Path) -> None:
    """Make a mirror of a history, at a place where nothing is yet. Raises GitFailed for one that is not whole."""
    mirror.parent.mkdir(parents=True, exist_ok=True)
    await git(mirror, "init", "--quiet", "--bare", "--template=", str(mirror))
    packs = mirror / "objects" / "pack"
    name = sha256("".join(history.heads).encode()).hexdigest()[:40]
    shutil.move(history.pack, packs / f"pack-{name}.pack")
    await git(mirror, "index-pack", str(packs / f"pack-{name}.pack"), settings=LASTING)
    if history.shallow:
        (mirror / "shallow").write_text(history.shallow, encoding="ascii")
    heads = "".join(f"{sha}\n" for sha in history.heads).encode()
    try:
        await git(mirror, "rev-list", "--objects", "--quiet", "--stdin", stdin=heads)
    except GitFailed as error:
        raise GitFailed(f"a repository's history is not whole: {error}") from error
    orders = "".join(f"create refs/overlord/canonical/{sha} {sha}\n" for sha in history.heads)
    await git(mirror, "update-ref", "--stdin", stdin=orders.encode(), settings=LASTING)
