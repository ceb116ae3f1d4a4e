"""Git as the engine needs it: bare mirrors, a quarantine for each session, canonical commits, and the one push.

Every repository here is bare and ours. Nothing runs in a tree a session could write, hooks are off, and a
session's commits never leave its quarantine: only their tree does, under a commit of our own making.
"""

import asyncio
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from overlord.adapters.git_command import git
from overlord.adapters.git_diff import parse_batch, parse_batch_check, parse_changes, parse_sizes
from overlord.domain.scope import Change
from overlord.domain.session import MAX_PUSH_BYTES
from overlord.errors import GitFailed, PushRejected
from overlord.home import Home
from overlord.ports import Remote, RepositoryName, SessionId, Sha

BRANCH_PREFIX = "minion/"
_COMMITTER = {"NAME": "Overlord", "EMAIL": "overlord@users.noreply.github.com"}
_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv")
_SAFE_BRANCH = re.compile(r"minion/[A-Za-z0-9][A-Za-z0-9._-]*")


class GitMirrors:
    """`ports.Git` over the `git` program."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def refresh_mirror(self, name: RepositoryName, remote: Remote) -> None:
        mirror = self._home.mirror(name)
        async with self._locks[name]:
            if not (mirror / "HEAD").exists():
                mirror.parent.mkdir(parents=True, exist_ok=True)
                await git(mirror, "init", "--quiet", "--bare", "--template=", str(mirror))
            await git(
                mirror,
                "fetch",
                "--quiet",
                "--prune",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-auto-gc",
                remote.url,
                "+refs/heads/*:refs/heads/*",
                settings=_signed_in(remote),
            )

    async def branch_head(self, name: RepositoryName, branch: str) -> Sha | None:
        return await self._resolve(self._home.mirror(name), f"refs/heads/{branch}")

    async def prepare_session(
        self, name: RepositoryName, session: SessionId, refs: Mapping[str, Sha], writable: str | None
    ) -> None:
        repository = self._home.session_repository(session)
        if (repository / "ready").exists():
            return
        await self.remove_session(session)
        repository.parent.mkdir(parents=True)
        await git(repository, "init", "--quiet", "--bare", "--template=", str(repository))
        (repository / "objects" / "info").mkdir(exist_ok=True)
        alternate = self._home.mirror(name) / "objects"
        (repository / "objects" / "info" / "alternates").write_text(f"{alternate}\n")
        (repository / "config").write_text(_session_config(writable))
        commands = "".join(f"create refs/heads/{branch} {sha}\n" for branch, sha in refs.items())
        await git(repository, "update-ref", "--stdin", stdin=commands.encode())
        (repository / "HEAD").write_text(f"ref: refs/heads/{next(iter(refs))}\n")
        (repository / "ready").touch()

    async def session_tree(self, session: SessionId, branch: str) -> Sha | None:
        return await self._resolve(self._home.session_repository(session), f"refs/heads/{branch}^{{tree}}")

    async def canonical_commit(
        self, name: RepositoryName, session: SessionId, *, tree: Sha, parent: Sha, message: str, at: datetime
    ) -> Sha:
        quarantine, mirror = self._home.session_repository(session), self._home.mirror(name)
        commit = await self._commit(quarantine, tree, parent, message, at)
        await git(quarantine, "update-ref", "refs/overlord/canonical", commit)
        async with self._locks[name]:
            await git(
                mirror,
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-auto-gc",
                str(quarantine),
                f"+refs/overlord/canonical:refs/overlord/canonical/{commit}",
                settings={"fetch.fsckObjects": "true"},
            )
        return commit

    async def drop(
        self,
        name: RepositoryName,
        commit: Sha,
        *,
        base: Sha,
        paths: Sequence[str],
        parent: Sha,
        message: str,
        at: datetime,
    ) -> Sha:
        mirror = self._home.mirror(name)
        with tempfile.TemporaryDirectory(dir=self._home.root) as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            await git(mirror, "read-tree", commit, environment=index)
            entries = b"".join([await self._entry(mirror, base, path) for path in paths])
            await git(mirror, "update-index", "-z", "--index-info", environment=index, stdin=entries)
            tree = (await git(mirror, "write-tree", environment=index)).decode().strip()
        made = await self._commit(mirror, Sha(tree), parent, message, at)
        await git(mirror, "update-ref", f"refs/overlord/canonical/{made}", made)
        return made

    async def _entry(self, mirror: Path, commit: Sha, path: str) -> bytes:
        """The index line that puts `path` back as it is at `commit`, or takes it away when it is not there."""
        found = await git(mirror, "--literal-pathspecs", "ls-tree", "-z", commit, "--", path)
        return found or f"0 {'0' * 40}\t{path}\0".encode()

    async def _commit(self, repository: Path, tree: Sha, parent: Sha, message: str, at: datetime) -> Sha:
        arguments = ("commit-tree", tree, "-p", parent, "-F", "-")
        output = await git(repository, *arguments, environment=_identity(at), stdin=message.encode())
        return Sha(output.decode().strip())

    async def tree_of(self, name: RepositoryName, commit: Sha) -> Sha:
        tree = await self._resolve(self._home.mirror(name), f"{commit}^{{tree}}")
        if tree is None:
            raise GitFailed(f"commit {commit} is not in the mirror of {name}")
        return tree

    async def changes(self, name: RepositoryName, base: Sha, head: Sha) -> Sequence[Change]:
        arguments = (
            "diff",
            "--raw",
            "--numstat",
            "--no-abbrev",
            "-z",
            "-M",
            *_PLAIN_DIFF,
        )
        return parse_changes(await git(self._home.mirror(name), *arguments, base, head, "--"))

    async def diff(self, name: RepositoryName, base: Sha, head: Sha, *, limit_bytes: int) -> str:
        arguments = ("diff", "-M", "--no-color", *_PLAIN_DIFF, base, head, "--")
        output = await git(self._home.mirror(name), *arguments, limit_bytes=limit_bytes + 1)
        text = output[:limit_bytes].decode(errors="replace")
        return (
            text
            if len(output) <= limit_bytes
            else f"{text}\n[cut: the diff is longer than {limit_bytes} bytes]\n"
        )

    async def sizes(self, name: RepositoryName, commit: Sha) -> Mapping[str, int]:
        output = await git(self._home.mirror(name), "ls-tree", "-r", "-l", "-z", commit)
        return parse_sizes(output)

    async def read_file(self, name: RepositoryName, commit: Sha, path: str) -> bytes | None:
        mirror = self._home.mirror(name)
        if await self._resolve(mirror, f"{commit}:{path}") is None:
            return None
        try:
            return await git(mirror, "cat-file", "blob", f"{commit}:{path}")
        except GitFailed:
            return None  # a directory or a submodule has this name

    async def read_files(
        self, name: RepositoryName, commit: Sha, paths: Sequence[str], *, limit_bytes: int = 1_000_000
    ) -> Mapping[str, bytes]:
        mirror = self._home.mirror(name)
        asked = {path: f"{commit}:{path}" for path in paths if "\n" not in path}
        sizes = parse_batch_check(
            await git(mirror, "cat-file", "--batch-check", stdin=_lines(asked.values()))
        )
        named = dict(zip(asked, sizes, strict=True))
        small = [path for path, size in named.items() if size is not None and size <= limit_bytes]
        output = await git(mirror, "cat-file", "--batch", stdin=_lines(asked[path] for path in small))
        found = dict(parse_batch(small, output))
        for path in named.keys() - small:
            if named[path] is not None:
                found[path] = await git(mirror, "cat-file", "blob", asked[path], limit_bytes=limit_bytes)
        return found

    async def push(
        self, name: RepositoryName, remote: Remote, *, sha: Sha, branch: str, expected: Sha | None
    ) -> None:
        if not _SAFE_BRANCH.fullmatch(branch):
            raise GitFailed(f"Overlord pushes to {BRANCH_PREFIX}… only, not to {branch!r}")
        reference = f"refs/heads/{branch}"
        try:
            await git(
                self._home.mirror(name),
                "push",
                "--quiet",
                "--porcelain",
                "--no-verify",
                f"--force-with-lease={reference}:{expected or ''}",
                remote.url,
                f"{sha}:{reference}",
                settings=_signed_in(remote),
            )
        except GitFailed as error:
            if await self.remote_head(name, remote, branch) not in (expected, sha):
                raise PushRejected(f"{branch} at the forge is not where Overlord left it") from error
            raise

    async def remote_head(self, name: RepositoryName, remote: Remote, branch: str) -> Sha | None:
        reference = f"refs/heads/{branch}"
        mirror = self._home.mirror(name)
        output = await git(mirror, "ls-remote", "--quiet", remote.url, reference, settings=_signed_in(remote))
        lines = [line.split("\t") for line in output.decode(errors="replace").splitlines()]
        return next((Sha(sha) for sha, found in lines if found == reference), None)

    async def remove_session(self, session: SessionId) -> None:
        await asyncio.to_thread(shutil.rmtree, self._home.session(session), ignore_errors=True)

    async def _resolve(self, repository: Path, revision: str) -> Sha | None:
        """The object a revision names, or None for one that names nothing. Raises GitFailed when git cannot say."""
        if not _is_there(repository):
            return None
        asked = f"{revision}\n".encode()
        answer = (
            (await git(repository, "cat-file", "--batch-check=%(objectname)", stdin=asked)).decode().strip()
        )
        return None if answer.endswith(" missing") else Sha(answer)


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode(errors="surrogateescape")


def _is_there(repository: Path) -> bool:
    return (repository / "HEAD").exists()


def _signed_in(remote: Remote) -> dict[str, str]:
    # A redirect would take the credential to another host; the forge's address is set, not discovered.
    still = {"http.followRedirects": "false"}
    if not remote.authorization:
        return still
    return {**still, f"http.{remote.url}.extraHeader": f"Authorization: {remote.authorization}"}


def _identity(at: datetime) -> dict[str, str]:
    stamp = f"{int(at.timestamp())} +0000"
    people = {
        f"GIT_{who}_{field}": value for who in ("AUTHOR", "COMMITTER") for field, value in _COMMITTER.items()
    }
    return {**people, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}


def _session_config(writable: str | None) -> str:
    # alternateRefsCommand=true (the program) prints nothing: otherwise every ref of the mirror shows as a `.have`.
    receive = "" if writable is None else f"\thideRefs = !refs/heads/{writable}\n"
    return (
        "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\talternateRefsCommand = true\n"
        "\thooksPath = /dev/null\n\tlogAllRefUpdates = false\n"
        "[gc]\n\tauto = 0\n"
        f"[http]\n\treceivepack = {'true' if writable else 'false'}\n"
        "[receive]\n\tautogc = false\n\tfsckObjects = true\n\tdenyDeletes = true\n\tdenyNonFastForwards = true\n"
        f"\tmaxInputSize = {MAX_PUSH_BYTES}\n\thideRefs = refs\n{receive}"
    )
