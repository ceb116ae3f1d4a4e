"""The contract that a run would take, read before it is started: the repository's own at a commit, or the one the settings name."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.contract_files import MOST_BYTES
from overlord.domain.contracts.reading import CONTRACT_DIR, CONTRACT_FILES, read_contract
from overlord.engine.contracts.take import asking
from overlord.entrypoints.local import address, checkout
from overlord.entrypoints.local.checkout import QUIET
from overlord.entrypoints.local.place import Place
from overlord.settings.load import BUILT_IN_CONTRACTS, Settings, contract_for

_PLAIN = {"100644", "100755"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundContract:
    """A contract, and where it is from."""

    contract: Contract
    source: str
    is_own: bool
    """Whether the repository wrote it."""
    commit: str
    onto: str
    """How the user says where a run would start: a branch, or a short commit."""


async def find(place: Place, settings: Settings, base: str) -> FoundContract:
    """Raises ContractError for a contract of the repository that cannot be gone by, NotFound for a base that is not there."""
    if place.checkout is not None:
        commit = await checkout.commit_of(place.checkout, base or "HEAD")
        onto = base or await checkout.current_branch(place.checkout) or commit[:12]
        return await _at(place, settings, place.checkout.git_dir, commit, onto)
    with tempfile.TemporaryDirectory(prefix="overlord-") as folder:
        bare = Path(folder)
        await git(bare, "init", "--bare", "--quiet", str(bare))
        commit, branch = await address.fetch(bare, place.source, base or "HEAD")
        return await _at(place, settings, bare, commit, branch if branch != "HEAD" else commit[:12])


async def _at(place: Place, settings: Settings, repository: Path, commit: str, onto: str) -> FoundContract:
    named = contract_for(settings, place.repository)
    listing = await git(repository, "ls-tree", "-r", "-z", "--full-tree", commit, settings=QUIET)
    modes: dict[str, str] = {}
    for entry in filter(None, listing.split(b"\0")):
        about, _, name = entry.partition(b"\t")
        modes[name.decode(errors="surrogateescape")] = about.decode().partition(" ")[0]
    if any(path.startswith(f"{CONTRACT_DIR}/") for path in modes):
        known = (f"{CONTRACT_DIR}/{file}" for file in CONTRACT_FILES)
        paths = [path for path in known if modes.get(path) in _PLAIN]
        files = {
            path: await git(
                repository, "cat-file", "blob", f"{commit}:{path}", settings=QUIET, limit_bytes=MOST_BYTES + 1
            )
            for path in paths
        }
        own = asking(read_contract(files, existing=frozenset(modes)), named)
        source = f"{CONTRACT_DIR} at {commit[:10]}"
        return FoundContract(contract=own, source=source, is_own=True, commit=commit, onto=onto)
    named_as = settings.space(place.repository).contract
    is_built_in = named_as in BUILT_IN_CONTRACTS
    source = f"the built-in contract {named_as}" if is_built_in else f"the settings' contract {named_as}"
    return FoundContract(contract=named, source=source, is_own=False, commit=commit, onto=onto)
