"""Real projects as tests take them: source distributions, fetched once by pip from whatever index it is set up with.

Each is pinned by its hash and kept under `OVERLORD_TEST_CACHE` (default `~/.cache/overlord-tests`), so that a machine
without a network needs only that directory. Where there is neither, the test is skipped loudly.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from tests.required import missing

FETCH_S = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdist:
    """One release of one project."""

    name: str
    version: str
    sha256: str
    generated: tuple[str, ...] = ()
    """Files its build writes, which no repository holds."""

    @property
    def file(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}.tar.gz"


def files_of(sdist: Sdist) -> dict[str, str | bytes]:
    """The project's files as its repository has them at a release: without what only the distribution holds."""
    found: dict[str, str | bytes] = {}
    with tarfile.open(_kept(sdist)) as archive:
        for member in archive:
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None and str(path) not in sdist.generated and not _is_made_for_it(path):
                found[str(path)] = content.read()
    return found


def _is_made_for_it(path: PurePosixPath) -> bool:
    return str(path) == "PKG-INFO" or path.match("*.egg-info/*") or path.name == ".git"


def _kept(sdist: Sdist) -> Path:
    """The archive in the cache, fetched if it is not there or not what it should be."""
    cache = Path(os.environ.get("OVERLORD_TEST_CACHE") or Path.home() / ".cache" / "overlord-tests")
    kept = cache / sdist.file
    if kept.exists() and sha256(kept.read_bytes()).hexdigest() == sdist.sha256:
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        _fetch(sdist, Path(scratch))
        Path(scratch, sdist.file).replace(kept)
    return kept


def _fetch(sdist: Sdist, directory: Path) -> None:
    wanted = directory / "wanted.txt"
    wanted.write_text(f"{sdist.name}=={sdist.version} --hash=sha256:{sdist.sha256}\n")
    words = ("download", "--quiet", "--no-deps", "--no-binary", sdist.name, "--require-hashes")
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, "--dest", str(directory), "--requirement", str(wanted)],
        capture_output=True,
        text=True,
        timeout=FETCH_S,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip()
        assert "HASHES" not in said, said
        missing("docker", f"{sdist.file} is neither in the cache nor to be had: {said[-500:]}")
