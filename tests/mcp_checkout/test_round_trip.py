"""Whatever files there are and whatever becomes of them: the copy is the files, and the patch of a change makes the change."""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.local import made
from tests.mcp_checkout.checkouts import Kept, contents, git, git_dir_of

NAMES = st.sampled_from(
    [
        b"a",
        b"b c",
        b"d/e",
        b"d/f g",
        b"d/h/i",
        b"\xc3\xa9.txt",
        b"n\xff",
        b'q"\\t',
        b"x\ny",
        b"-opt",
        b" ",
        b"u/.gitignored",
    ]
)
CONTENTS = st.one_of(
    st.binary(max_size=40), st.sampled_from([b"", b"a\r\nb\r\n", b"a\nb\n", b"a\nb", b"\0\1\2", b"x" * 3_000])
)
FILES = st.dictionaries(
    NAMES, st.tuples(st.sampled_from(["file", "program", "link"]), CONTENTS), min_size=0, max_size=7
)
Files = dict[bytes, tuple[str, bytes]]


def laid_out(root: Path, files: Files) -> None:
    """Make a directory hold these files and nothing else, but for git's own."""
    for entry in root.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for name, (kind, content) in files.items():
        place = Path(os.fsdecode(os.fsencode(root) + b"/" + name))
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            place.symlink_to("inside")
            continue
        place.write_bytes(content)
        place.chmod(0o755 if kind == "program" else 0o644)


@settings(max_examples=25)
@given(committed=FILES, changed=FILES, after=FILES)
async def test_a_change_comes_back_as_it_was_made(committed: Files, changed: Files, after: Files) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        kept = Kept(root=made(root / "calc"), home=root / "home")
        laid_out(kept.root, committed)
        git(kept.root, "add", "--all")
        git(kept.root, "commit", "--quiet", "--allow-empty", "--message=More")
        laid_out(kept.root, changed)
        before = git_dir_of(kept.root)
        taken = await kept.snapshot()
        assert kept.files_of(taken.commit) == contents(kept.root)
        worked = root / "worked"
        kept.patch(taken.commit, {}, worked)
        laid_out(worked, after)
        if patch := kept.patch_of(worked, taken.commit):
            await kept.apply(patch, taken.commit)
        assert contents(kept.root) == contents(worked)
        assert git_dir_of(kept.root) == before
