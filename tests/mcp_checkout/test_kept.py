"""What is kept of a checkout: it goes when nobody asks for it any more, and nothing is written twice because of that."""

import os
import shutil
import time
from datetime import timedelta
from pathlib import Path

from overlord.entrypoints.mcp.checkout.kept import KEPT
from tests.mcp_checkout.checkouts import Content, Kept, no_file_larger_than, write
from tests.mcp_checkout.ended_calls import called, served

FILES: dict[str, Content] = {"LICENSE": "There.\n"}


def made_older(place: Path) -> None:
    """As if all that is kept were from long ago."""
    then = time.time() - KEPT.total_seconds() - 3600
    for file in place.rglob("*"):
        os.utime(file, (then, then))


async def test_what_is_old_goes_and_is_not_written_again(kept: Kept, tmp_path: Path) -> None:
    async with served(kept) as backend:
        old = await called(kept, backend, FILES, tmp_path / "worked", age=KEPT + timedelta(hours=1))
        before = (kept.root / "LICENSE").read_text()
        found = await backend.deliver(old, apply=True)
        assert (found.is_applied, found.why_not[:41]) == (False, "It was asked for more than 30 days ago; w")
        assert (kept.root / "LICENSE").read_text() == before
        call = await called(kept, backend, FILES, tmp_path / "again")
        assert (await backend.deliver(call, apply=True)).is_applied
        write(kept.root, {"LICENSE": before})
        assert (await backend.deliver(call, apply=True)).is_applied
        assert (kept.root / "LICENSE").read_text() == before, "it is written once"
        made_older(backend.state)
        (backend.state / "making-x" / "objects").mkdir(parents=True)
        write(kept.root, {"LICENSE": "Another one.\n"})
        ground = await backend.ground(str(kept.root))
        left = {str(file.relative_to(backend.state)) for file in backend.state.rglob("*") if file.is_file()}
        assert left - {"hashes.json"} == {f"taken/{ground.base_sha}", "lock", "source"}
        assert not (backend.state / "making-x").exists()


async def test_what_was_written_in_part_is_gone_on_with_when_there_is_room(
    kept: Kept, tmp_path: Path
) -> None:
    write(kept.root, {"a.txt": "a" * 50_000, "b.txt": "b\n"})
    files: dict[str, Content] = {"a.txt": "a\n", "b.txt": "b" * 50_000}
    async with served(kept) as backend:
        call = await called(kept, backend, files, tmp_path / "worked")
        with no_file_larger_than(10_000):
            found = await backend.deliver(call, apply=True)
        assert "a.txt could not be put back as it was before: look at what was written there" in found.why_not
        assert (await backend.deliver(call, apply=True)).is_applied
        assert (kept.root / "b.txt").read_text() == files["b.txt"]


async def test_what_is_kept_of_a_checkout_that_is_gone_goes(kept: Kept, tmp_path: Path) -> None:
    shutil.copytree(kept.root, tmp_path / "other")
    other = Kept(root=tmp_path.resolve() / "other", home=kept.home)
    async with served(kept) as backend, served(other) as gone:
        await gone.ground(str(other.root))
        made_older(gone.state)
        await backend.ground(str(kept.root))
        assert gone.state.exists(), "its checkout is there"
        shutil.rmtree(other.root)
        await backend.ground(str(kept.root))
        assert not gone.state.exists()
