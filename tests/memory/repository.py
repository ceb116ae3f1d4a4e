"""Repositories in memory: commits with whole trees, and branches. Trees and blobs have the names that git gives them.

One simplification against git, which no caller here depends on: a file counts as renamed only when its content is the same.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha1
from typing import NamedTuple

from overlord.domain.identifiers import Sha
from overlord.domain.scope.check import Change
from overlord.embedded.forge.repository import Content, Link
from tests.memory.merging import merge_texts

PLAIN, PROGRAM, LINK, SUBMODULE, DIRECTORY = "100644", "100755", "120000", "160000", "040000"
ABSENT = "000000"
CONTEXT_LINES = 3


class Entry(NamedTuple):
    """A path's mode and content; a submodule's content is the commit it names."""

    mode: str
    data: bytes

    @property
    def sha(self) -> Sha:
        if self.mode == SUBMODULE:
            return Sha(self.data.decode())
        return named("blob", self.data)

    @classmethod
    def of(cls, content: Content) -> "Entry":
        if isinstance(content, Link):
            return cls(SUBMODULE if content.is_submodule else LINK, content.to.encode())
        data = content.encode() if isinstance(content, str) else content
        return cls(PROGRAM if data.startswith(b"#!") else PLAIN, data)


Tree = Mapping[str, Entry]


def named(kind: str, content: bytes) -> Sha:
    """The name git gives an object."""
    return Sha(sha1(b"%b %d\0%b" % (kind.encode(), len(content), content), usedforsecurity=False).hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    sha: Sha
    tree: Tree
    parents: tuple[Sha, ...]
    message: str
    author: str


@dataclass(slots=True)
class Objects:
    """Every commit of every repository in one place: git's objects have the same name wherever they lie."""

    commits: dict[Sha, Commit] = field(default_factory=dict)
    trees: dict[Sha, Tree] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def tree(self, tree: Tree) -> Sha:
        """Keep a tree; its name."""
        for entry in tree.values():
            if entry.mode != SUBMODULE:
                self.blobs[entry.sha] = entry.data
        lines = b"".join(
            b"%b %b\0%b" % (mode.lstrip("0").encode(), name.encode(), bytes.fromhex(sha))
            for name, (mode, sha) in sorted(self.folder(tree, "").items(), key=_as_git_sorts)
        )
        sha = named("tree", lines)
        self.trees[sha] = tree
        return sha

    def folder(self, tree: Tree, path: str) -> dict[str, tuple[str, str]]:
        """What a directory has, by name: mode and object."""
        prefix, found = f"{path}/" if path else "", dict[str, tuple[str, str]]()
        below: dict[str, dict[str, Entry]] = {}
        for full, entry in tree.items():
            if full.startswith(prefix):
                name, slash, rest = full[len(prefix) :].partition("/")
                if slash:
                    below.setdefault(name, {})[rest] = entry
                else:
                    found[name] = entry.mode, entry.sha
        return found | {name: (DIRECTORY, self.tree(inner)) for name, inner in below.items()}

    def commit(self, tree: Tree, parents: tuple[Sha, ...], *, message: str, author: str, at: datetime) -> Sha:
        told = [f"tree {self.tree(tree)}", *(f"parent {parent}" for parent in parents), f"{author} {at}"]
        sha = named("commit", "\n".join([*told, "", message]).encode())
        self.commits[sha] = Commit(sha=sha, tree=tree, parents=parents, message=message, author=author)
        return sha

    def history(self, sha: str) -> Iterator[Commit]:
        """A commit and all before it, the newest first."""
        seen, waiting = set[str](), [sha]
        while waiting:
            now = waiting.pop(0)
            if now not in seen:
                seen.add(now)
                yield self.commits[Sha(now)]
                waiting += self.commits[Sha(now)].parents

    def merge_base(self, one: str, other: str) -> Sha | None:
        """The newest commit in both histories."""
        theirs = {commit.sha for commit in self.history(other)}
        return next((commit.sha for commit in self.history(one) if commit.sha in theirs), None)

    def merged(self, head: str, other: str) -> tuple[Tree, tuple[str, ...]]:
        """The tree of a merge and the paths in conflict, whose files hold both sides between marks."""
        base = self.merge_base(head, other)
        old = self.commits[base].tree if base else {}
        ours, theirs = self.commits[Sha(head)].tree, self.commits[Sha(other)].tree
        tree, conflicts = dict[str, Entry](), list[str]()
        for path in sorted({*ours, *theirs}):
            sides = old.get(path), ours.get(path), theirs.get(path)
            if sides[1] == sides[2] or sides[2] == sides[0]:
                chosen = sides[1]
            elif sides[1] == sides[0]:
                chosen = sides[2]
            else:
                chosen, is_conflict = _both(*sides)
                conflicts += [path] * is_conflict
            if chosen is not None:
                tree[path] = chosen
        return tree, tuple(conflicts)


def _as_git_sorts(item: tuple[str, tuple[str, str]]) -> bytes:
    name, (mode, _) = item
    return name.encode() + (b"/" if mode == DIRECTORY else b"")


def _both(base: Entry | None, ours: Entry | None, theirs: Entry | None) -> tuple[Entry, bool]:
    """A file that both sides changed, and whether they contradict each other."""
    if ours is None or theirs is None:
        left = ours or theirs
        assert left is not None, "one side has it, or there is nothing to decide"
        return left, True
    text, is_conflict = merge_texts(base.data if base else b"", ours.data, theirs.data)
    return Entry(ours.mode, text), is_conflict


@dataclass(slots=True)
class Repository:
    """Branches over objects."""

    objects: Objects
    default_branch: str = "main"
    heads: dict[str, Sha] = field(default_factory=dict)
    pulled: dict[str, Sha] = field(default_factory=dict)
    """Heads of pull requests from forks, by reference."""

    def commit_files(
        self,
        branch: str,
        files: Mapping[str, Content | None],
        *,
        parent: str | None,
        message: str,
        author: str,
        at: datetime,
    ) -> Sha:
        """One commit that changes these files, None removing one, on a branch or, named in full, a reference."""
        tree = changed(self.objects.commits[Sha(parent)].tree if parent else {}, files)
        parents = (Sha(parent),) if parent else ()
        sha = self.objects.commit(tree, parents, message=message, author=author, at=at)
        (self.pulled if branch.startswith("refs/") else self.heads)[branch] = sha
        return sha

    def has(self, sha: str) -> bool:
        return any(
            sha == commit.sha
            for head in (*self.heads.values(), *self.pulled.values())
            for commit in self.objects.history(head)
        )

    def file(self, commit: str, path: str) -> bytes | None:
        """A file's content; None where there is none at that commit."""
        known = self.objects.commits.get(Sha(commit))
        entry = known.tree.get(path) if known else None
        return entry.data if entry is not None and entry.mode != SUBMODULE else None


def changed(tree: Tree, files: Mapping[str, Content | None]) -> Tree:
    """A tree with these files over it, None taking one away. What stands where a directory is needed goes, and the reverse."""
    found = dict(tree)
    for path, content in files.items():
        found.pop(path, None)
        if content is None:
            continue
        for other in [item for item in found if item.startswith(f"{path}/") or path.startswith(f"{item}/")]:
            del found[other]
        found[path] = Entry.of(content)
    return found


# What differs, as git says it


def changes_between(old: Tree, new: Tree) -> list[Change]:
    """Every path that differs, renames found, in git's order."""
    gone = [path for path in old if path not in new]
    came = [path for path in new if path not in old]
    renames: dict[str, str] = {}
    for path in sorted(came):
        before = next((item for item in sorted(gone) if old[item] == new[path] and new[path].data), None)
        if before is not None:
            renames[path] = before
            gone.remove(before)
    found = []
    for path in sorted({*gone, *came, *(path for path in old if path in new and old[path] != new[path])}):
        was, now = old.get(renames.get(path, path)), new.get(path)
        lines = [] if path in renames else list(_hunks(was, now))
        found.append(
            Change(
                path=path,
                old_path=renames.get(path),
                status="R" if path in renames else _status(was, now),
                old_mode=was.mode if was else ABSENT,
                new_mode=now.mode if now else ABSENT,
                added=sum(line.startswith("+") for line in lines),
                removed=sum(line.startswith("-") for line in lines),
                binary=_is_binary(was) or _is_binary(now),
            )
        )
    return found


def _status(was: Entry | None, now: Entry | None) -> str:
    if was is None or now is None:
        return "D" if now is None else "A"
    return "M" if was.mode[:2] == now.mode[:2] else "T"


def _is_binary(entry: Entry | None) -> bool:
    return entry is not None and b"\0" in entry.data


def diff_of(old: Tree, new: Tree) -> str:
    """The unified diff of two trees."""
    parts = []
    for change in changes_between(old, new):
        was, now = old.get(change.old_path or change.path), new.get(change.path)
        if change.status == "T":
            parts += [_section(change, was, None), _section(change, None, now)]
        else:
            parts.append(_section(change, was, now))
    return "".join(parts)


def _section(change: Change, was: Entry | None, now: Entry | None) -> str:
    before, after = change.old_path or change.path, change.path
    head = [f"diff --git a/{before} b/{after}"]
    if was is None and now is not None:
        head.append(f"new file mode {now.mode}")
    elif now is None and was is not None:
        head.append(f"deleted file mode {was.mode}")
    elif was and now and was.mode != now.mode:
        head += [f"old mode {was.mode}", f"new mode {now.mode}"]
    if change.status == "R":
        head += ["similarity index 100%", f"rename from {before}", f"rename to {after}"]
        return "".join(f"{line}\n" for line in head)
    names = f"a/{before}" if was else "/dev/null", f"b/{after}" if now else "/dev/null"
    if _is_binary(was) or _is_binary(now):
        head.append(f"Binary files {names[0]} and {names[1]} differ")
        return "".join(f"{line}\n" for line in head)
    hunks = list(_hunks(was, now))
    if hunks:
        head += [f"--- {names[0]}", f"+++ {names[1]}"]
    return "".join(f"{line}\n" for line in [*head, *hunks])


def _hunks(was: Entry | None, now: Entry | None) -> Iterator[str]:
    """The hunks from one content to the other, without what stands above them."""
    if _is_binary(was) or _is_binary(now):
        return
    if was is not None and now is not None and was.mode[:2] != now.mode[:2]:
        yield from _hunks(was, None)
        yield from _hunks(None, now)
        return
    before, after = (_lines(item.data if item else b"") for item in (was, now))
    told = difflib.unified_diff(before, after, n=CONTEXT_LINES, lineterm="")
    for number, line in enumerate(told):
        if number < 2:
            continue
        text, newline, _ = line.partition("\n")
        yield text
        if not newline and not text.startswith("@@"):
            yield "\\ No newline at end of file"


def _lines(data: bytes) -> list[str]:
    parts = data.decode(errors="replace").split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def with_paths_of(tree: Tree, other: Tree, paths: Collection[str]) -> Tree:
    """A tree with some paths as they are in another."""
    kept = {path: entry for path, entry in tree.items() if path not in paths}
    return kept | {path: other[path] for path in paths if path in other}
