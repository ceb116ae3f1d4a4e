"""Whether a commit holds what claims say was written: the same files, by the hashes git has of them."""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence

from overlord.adapters.git.command import git
from overlord.domain.text.plain import count, visible
from overlord.entrypoints.claim.check import Checked
from overlord.entrypoints.claim.record import Claim
from overlord.entrypoints.local.checkout import QUIET, Checkout, commit_of

_INDEX = re.compile(rb"index [0-9a-f]{40,64}\.\.([0-9a-f]{40,64})(?: [0-7]{6})?")
_GONE = re.compile(r"0+")
MOST_FILES = 5
"""As many are named."""


def blobs_of(patch: bytes) -> dict[str, str]:
    """What git calls each file's content after a patch with whole hashes; empty for a file that it removes."""
    found: dict[str, str] = {}
    path = ""
    for line in patch.split(b"\n"):
        if line.startswith(b"diff --git "):
            path = _path(line.removeprefix(b"diff --git "))
        elif path and (match := _INDEX.fullmatch(line)):
            found[path] = "" if _GONE.fullmatch(match[1].decode()) else match[1].decode()
            path = ""
    return found


def _path(names: bytes) -> str:
    """The file of a header, which has the same name twice, with one letter before each."""
    first = names[: (len(names) - 1) // 2]
    if first.startswith(b'"') and first.endswith(b'"'):
        try:
            first = codecs.escape_decode(first[1:-1])[0]
        except ValueError:
            return first.decode(errors="surrogateescape")  # no name that git writes: no commit holds it
    return first[2:].decode(errors="surrogateescape")


async def checked(claims: Sequence[Claim], checkout: Checkout, ref: str) -> list[Checked]:
    """The claims, in the order they were made, against a commit: a file counts as the last of them left it. Raises NotFound, GitFailed."""
    commit = await commit_of(checkout, ref)
    tree = (await git(checkout.git_dir, "rev-parse", f"{commit}^{{tree}}", settings=QUIET)).decode().strip()
    there = await _listed(checkout, commit)
    found = []
    for index, (claim, wanted) in enumerate(_last_words(claims)):
        after = claims[index + 1].result.base_tree if index + 1 < len(claims) else tree
        if claim.result.head_tree == tree:
            text = f"The tree of {commit[:12]} is the one that it left, file by file."
            found.append(Checked(claim=claim.call.ref, holds=True, text=text))
        elif not claim.patch and claim.result.head_tree == after:
            text = (
                f"It changed nothing, and {claims[index + 1].call.ref} began on the files that it looked at."
            )
            found.append(Checked(claim=claim.call.ref, holds=True, text=text))
        else:
            found.append(_held(claim, wanted, there, commit))
    return found


def _last_words(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Mapping[str, str]]]:
    """Each claim with the files that no later one changed."""
    for index, claim in enumerate(claims):
        later = {path for item in claims[index + 1 :] for path in blobs_of(item.patch)}
        yield claim, {path: blob for path, blob in blobs_of(claim.patch).items() if path not in later}


def _held(claim: Claim, wanted: Mapping[str, str], there: Mapping[str, str], commit: str) -> Checked:
    ref, patched = claim.call.ref, blobs_of(claim.patch)
    if not patched:
        text = f"It changed nothing, and {commit[:12]} is not the tree that it looked at."
        return Checked(claim=ref, holds=False, text=text)
    differ = [path for path, blob in wanted.items() if there.get(path, "") != blob]
    if differ:
        named = ", ".join(visible(path)[:120] for path in differ[:MOST_FILES])
        return Checked(claim=ref, holds=False, text=f"{commit[:12]} does not hold what it wrote: {named}.")
    later = len(patched) - len(wanted)
    if not wanted:
        text = f"Later ones wrote again all that it wrote, so {commit[:12]} shows nothing of it."
        return Checked(claim=ref, holds=True, text=text)
    more = f"; {count(later, 'file')} a later one wrote again" if later else ""
    return Checked(
        claim=ref, holds=True, text=f"{commit[:12]} holds {count(len(wanted), 'file')} as it left them{more}."
    )


async def _listed(checkout: Checkout, commit: str) -> dict[str, str]:
    """Every file of a commit, with what git calls its content."""
    output = await git(checkout.git_dir, "ls-tree", "-r", "-z", "--full-tree", commit, settings=QUIET)
    found: dict[str, str] = {}
    for row in output.split(b"\0"):
        about, tab, path = row.partition(b"\t")
        if tab:
            found[path.decode(errors="surrogateescape")] = about.split()[2].decode()
    return found
