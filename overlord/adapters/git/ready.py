"""Ready copies: what a session begins with instead of a clone. Made once for each base commit, then only read.

A copy holds the history of its base commit and nothing else. Its files are one stream in the order of its index: no tree of
a repository is ever laid out on Overlord's own disk, so no name, link or attribute in one can do anything there. A
session takes it as input only; nothing is read back from it but by the sessions after, and all is judged in the mirror.
"""

import asyncio
import mmap
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha1
from pathlib import Path
from typing import BinaryIO

import structlog

from overlord.adapters.git.command import git
from overlord.adapters.git.content.diff import parse_sizes
from overlord.adapters.git.content.listing import listed
from overlord.adapters.git.gathering import Gathered
from overlord.adapters.git.index import GITLINK, Entry, entries, seal, set_size
from overlord.domain.identifiers import Sha
from overlord.domain.repositories.lfs import Pointer
from overlord.errors import GitFailed, Unobtainable

log = structlog.get_logger()

# The names `minion/workspace/ready.py` knows them by.
REPOSITORY, INDEX, CONTENT, DOUBTFUL, ATTRIBUTES = "repo.git", "index", "content", "doubtful", "attributes"
TREE, MODULES, PATH, LARGE = "tree", "modules", "path", "large"
MAKING = ".making-"
MOST_BYTES = 1024**3
"""Files of one commit; a larger one is cloned. It is what a container's disk holds."""
MOST_PACKS = 12
"""More are made one again: every pack is looked into for every object."""

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\thooksPath = /dev/null\n[gc]\n\tauto = 0\n"
_WHOLE = "* -export-ignore -export-subst\n"
_AS_IT_IS = "* -text -ident -filter !working-tree-encoding\n"


async def make_ready(
    mirror: Path,
    base: Sha,
    place: Path,
    *,
    older: Sequence[Path],
    most_bytes: int = MOST_BYTES,
    gathered: Gathered | None = None,
) -> None:
    """Make the copy of `base` at `place`, on top of an `older` one where that holds a part of its history.

    Raises GitFailed when the mirror does not have it. What git will not lay out as files has none: a session clones it.
    Where more was `gathered` a clone would not have it: that raises Unobtainable.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(dir=place.parent, prefix=MAKING))
    try:
        await _history(mirror, base, making / REPOSITORY, older)
        try:
            await _contents(making, base, most_bytes, gathered or Gathered())
        except GitFailed as error:
            if gathered is not None:
                raise Unobtainable(
                    f"Its files cannot be laid out with what was fetched for them: {error}."
                ) from None
            log.warning("no_ready_files", base=base, why=str(error))
        _publish(making, place)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def commit_of(copy: Path) -> str:
    """The commit a finished copy is of, by its name."""
    return copy.name[:40]


def objects_of(copy: Path) -> set[str]:
    """The names of what is in a copy in the place of pointers of Git LFS."""
    large_files = copy / LARGE
    return (
        {item[:64].decode() for item in large_files.read_bytes().split(b"\0")[:-1]}
        if large_files.exists()
        else set()
    )


def link_history(source: Path, target: Path) -> None:
    """Give a repository every object of another one that is never written again, without a copy of them."""
    packs = target / "objects" / "pack"
    packs.mkdir(parents=True, exist_ok=True)
    # A pack counts once its index is there, so that comes last.
    for file in sorted((source / "objects" / "pack").iterdir(), key=lambda file: file.suffix == ".idx"):
        try:
            os.link(file, packs / file.name)
        except OSError:
            shutil.copy2(file, packs / file.name)
    if (source / "shallow").exists():
        shutil.copy2(source / "shallow", target / "shallow")


async def pack(
    mirror: Path, repository: Path, wanted: Iterable[Sha], *, known: Iterable[Sha] = (), bounded: bool = False
) -> None:
    """Put what is reachable from `wanted` into a repository that has everything reachable from `known`. `bounded` where that
    may be what a session made; a whole history may need more."""
    target = repository / "objects" / "pack" / "pack"
    revisions = [*wanted, *(f"^{sha}" for sha in known)]
    arguments = ("pack-objects", "--quiet", "--revs", "--non-empty", "--window=0", str(target))
    listing = "".join(f"{revision}\n" for revision in revisions).encode()
    await git(mirror, *arguments, stdin=listing, bounded=bounded)


async def shallow_part(mirror: Path, heads: Sequence[Sha]) -> str:
    """Those of a mirror's commits without their parents that the history of `heads` ends in, as git writes them down."""
    if not (mirror / "shallow").exists():
        return ""
    cut = set((mirror / "shallow").read_text().split())
    ends = (await git(mirror, "rev-list", "--max-parents=0", *heads)).decode().split()
    return "".join(f"{end}\n" for end in sorted(cut.intersection(ends)))


async def _history(mirror: Path, base: Sha, repository: Path, older: Sequence[Path]) -> None:
    for part in ("objects/pack", "objects/info", "refs", "info"):
        (repository / part).mkdir(parents=True)
    (repository / "HEAD").write_text(f"{base}\n")
    (repository / "config").write_text(_CONFIG)
    if boundary := await shallow_part(mirror, [base]):
        (repository / "shallow").write_text(boundary)
    known = []
    for copy in older:
        if await _is_part(mirror, copy, base):
            link_history(copy / REPOSITORY, repository)
            known = [Sha(commit_of(copy))]
            break
    await pack(mirror, repository, [base], known=known)


async def _is_part(mirror: Path, copy: Path, base: Sha) -> bool:
    """Whether everything in an older copy belongs to the history of `base`, and is worth linking."""
    if len(list((copy / REPOSITORY / "objects" / "pack").glob("*.pack"))) >= MOST_PACKS:
        return False
    try:
        # Where the history is cut must be the same for both: what came in below an old cut is not in the old copy.
        cut = copy / REPOSITORY / "shallow"
        if (cut.read_text() if cut.exists() else "") != await shallow_part(mirror, [base]):
            return False
        return not await git(mirror, "rev-list", "--max-count=1", commit_of(copy), f"^{base}")
    except GitFailed:
        return False  # the mirror was made anew, and does not know that one


async def _contents(making: Path, base: Sha, most_bytes: int, gathered: Gathered) -> None:
    """The files of the commit, and of what was gathered for it."""
    repository = making / REPOSITORY
    sizes = await _sizes(repository, base)
    larger = sum(object.stat().st_size for object in gathered.objects.values())
    for module in gathered.modules:
        larger += sum((await _sizes(module.repository, module.commit)).values())
    if sum(sizes.values()) + larger > most_bytes:
        raise GitFailed(f"the files of {base} are larger than {most_bytes} bytes")
    (making / TREE).write_bytes(await git(repository, "rev-parse", f"{base}^{{tree}}"))
    await _files(repository, base, making, gathered.objects)
    if gathered.pointers:
        (making / LARGE).write_bytes(
            b"".join(_pointer_text(path, kept) for path, kept in gathered.pointers.items())
        )
    for number, module in enumerate(gathered.modules):
        part = making / MODULES / str(number)
        part.mkdir(parents=True)
        (part / PATH).write_bytes(module.path)
        await _files(module.repository, module.commit, part, {})


def _pointer_text(path: bytes, pointer: Pointer) -> bytes:
    """What a session is told of a file whose content is laid out in the place of its pointer."""
    return b"%b %d %b\0" % (pointer.oid.encode(), pointer.size, path)


async def _sizes(repository: Path, commit: Sha) -> Mapping[str, int]:
    return parse_sizes(await listed(repository, commit, "-l"))


async def _files(repository: Path, commit: Sha, making: Path, objects: Mapping[bytes, Path]) -> None:
    """Index and content of one commit."""
    index, archive = making / INDEX, making / "tar"
    plain = {"index.version": "2", "index.threads": "1"}
    await git(repository, "read-tree", commit, settings=plain, environment={"GIT_INDEX_FILE": str(index)})
    try:
        await _archive(repository, commit, archive, _WHOLE)
    except GitFailed:
        # Attributes that git refuses: it can still be worked on byte by byte.
        await _archive(repository, commit, archive, _WHOLE + _AS_IT_IS)
        (making / ATTRIBUTES).write_text(_AS_IT_IS)
    try:
        await asyncio.to_thread(_pour, making, archive, objects)
    except (ValueError, tarfile.TarError) as error:
        (making / CONTENT).unlink(missing_ok=True)
        raise GitFailed(f"git archive cannot be read: {error}") from error
    finally:
        archive.unlink(missing_ok=True)


async def _archive(repository: Path, base: Sha, target: Path, attributes: str) -> None:
    """The files as a checkout would write them, and as a stream."""
    (repository / "info").mkdir(exist_ok=True)
    (repository / "info" / "attributes").write_text(attributes)
    source = {"GIT_ATTR_SOURCE": base}
    arguments = ("archive", "--format=tar", f"--output={target}", f"{base}^{{tree}}")
    await git(repository, *arguments, environment=source)


def _pour(making: Path, archive: Path, objects: Mapping[bytes, Path]) -> None:
    """Write the files' bytes in the order of the index, their sizes into it, and the names git may take for changed."""
    index = bytearray((making / INDEX).read_bytes())
    listed = list(entries(index))
    converts = any(_is_attributes(entry) for entry in listed)
    encodes = False
    doubtful = []
    with _archived(archive) as (members, data), (making / CONTENT).open("wb") as content:
        for entry in listed:
            if entry.mode == GITLINK:
                continue
            member = next(members, None)
            if member is None or os.fsencode(member.name) != entry.name:
                raise ValueError(f"{entry.name!r} is not where the index has it")
            if entry.name in objects:
                set_size(index, entry, _pour_object(objects[entry.name], content))
                continue
            set_size(index, entry, _pour_one(member, data, content))
            if converts and member.isreg() and _is_doubtful(entry, member, data):
                doubtful.append(entry.name)
            encodes = encodes or (_is_attributes(entry) and _holds(member, data, b"working-tree-encoding"))
    if encodes:  # an encoding that fails leaves no trace in the bytes
        doubtful = [entry.name for entry in listed if entry.is_file and entry.name not in objects]
    seal(index)
    (making / INDEX).write_bytes(index)
    (making / DOUBTFUL).write_bytes(b"".join(name + b"\0" for name in doubtful))


def _pour_object(object: Path, content: BinaryIO) -> int:
    with object.open("rb") as file:
        shutil.copyfileobj(file, content)
    return object.stat().st_size


@contextmanager
def _archived(archive: Path) -> Iterator[tuple[Iterator[tarfile.TarInfo], mmap.mmap]]:
    """What an archive holds but for its directories, and its bytes."""
    with (
        archive.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        tarfile.open(fileobj=file, mode="r:", encoding="utf-8", errors="surrogateescape") as tar,
    ):
        yield (member for member in tar if not member.isdir()), data


def _pour_one(member: tarfile.TarInfo, data: mmap.mmap, content: BinaryIO) -> int:
    if member.issym():
        return content.write(os.fsencode(member.linkname))
    with memoryview(data) as view, view[member.offset_data : member.offset_data + member.size] as part:
        return content.write(part)


def _is_doubtful(entry: Entry, member: tarfile.TarInfo, data: mmap.mmap) -> bool:
    """Whether git might make something else of a file's bytes than it has: only then need a session look."""
    if _holds(member, data, b"\r\n") or _holds(member, data, b"$Id:"):
        return True
    made = sha1(b"blob %d\0" % member.size, usedforsecurity=False)
    with memoryview(data) as view, view[member.offset_data : member.offset_data + member.size] as part:
        made.update(part)
    return made.digest() != entry.object


def _holds(member: tarfile.TarInfo, data: mmap.mmap, text: bytes) -> bool:
    return data.find(text, member.offset_data, member.offset_data + member.size) >= 0


def _is_attributes(entry: Entry) -> bool:
    return entry.name.rpartition(b"/")[2] == b".gitattributes"


def _publish(making: Path, place: Path) -> None:
    """Sessions read it as a user of their own, whatever this program's mask is."""
    for directory, _, files in os.walk(making):
        Path(directory).chmod(0o755)
        for name in files:
            (Path(directory) / name).chmod(0o444)
    making.rename(place)
