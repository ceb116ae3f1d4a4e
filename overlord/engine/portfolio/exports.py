"""The portfolio's rows as JSON files beside the prose, and as the lists of tasks in the plans: written after a change, those alone that say
something else than before. The JSON is taken away when its repository is no longer in Overlord's care."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from overlord.domain.portfolio.files import exports, layout
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task, TaskLink
from overlord.domain.text.json_text import json_text
from overlord.engine.portfolio.files import write_plan
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.file_tree import FileTree, UnreadableFileError, digest_of
from overlord.settings.load import Settings
from overlord.store.knowledge import rules
from overlord.store.portfolio import escalations, files, initiatives, tasks
from overlord.store.portfolio.files import FileState, KnownFile

_SIGNATURE = "made of "


@dataclass(kw_only=True)
class _Changes:
    """What is to be written and taken away."""

    contents: dict[str, bytes] = field(default_factory=dict)
    wholes: dict[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    """Of an initiative's file, what it and those with it were made of, and the paths of those: once all are there, that is noted."""
    initiatives: list[Initiative] = field(default_factory=list)
    """Those that changed, or whose tasks did."""
    gone: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


async def write_exports(parts: Parts) -> Progress:
    """Write what changed; whether anything did. Repeated after it was cut short, it writes the rest."""
    gather = partial(_gather, settings=parts.settings, redact=parts.current.redactor.redact)
    known, changes = await parts.database.read(gather)
    if not changes.contents and not changes.gone and not changes.wholes:
        return Progress.IDLE
    await asyncio.to_thread(_carry_out, FileTree(parts.home.root), changes)
    for initiative in changes.initiatives:
        await write_plan(parts, initiative)  # what is in the way is told in the row of its file
    rows = list(_rows(known, changes, parts.clock.now()))
    gone = [path for path in changes.gone if path not in changes.failed]
    if not rows and not gone:
        return Progress.IDLE  # what could not be written was told before
    await parts.database.write(Failpoint.FILES_READ, partial(_note, rows=rows, gone=gone))
    return Progress.MOVED


def _gather(
    connection: sqlite3.Connection, *, settings: Settings, redact: Callable[[str], str]
) -> tuple[Mapping[str, FileState], _Changes]:
    known = {path: file for path, file in files.states(connection).items() if layout.is_exported(path)}
    gathered = _Gathered(connection, settings, known, redact)
    gathered.initiatives()
    gathered.escalations()
    gathered.rules()
    changes = gathered.changes
    changes.gone = [path for path in known if not gathered.is_wanted(path)]
    return known, changes


class _Gathered:
    """What the files are to say, of what may have changed."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        settings: Settings,
        known: Mapping[str, FileState],
        redact: Callable[[str], str],
    ) -> None:
        self.changes = _Changes()
        self._connection = connection
        self._settings = settings
        self._spaces = {name.casefold() for name in settings.repositories}
        self._known = known
        self._redact = redact
        self._wanted = set[str]()
        self._unchanged = set[str]()
        """Directories of initiatives in which nothing changed."""
        self._all = initiatives.every(connection)
        self._links = dict[int, list[TaskLink]]()
        """By each of its two ends."""
        for link in tasks.links(connection):
            for end in (link.blocker_id, link.blocked_id):
                self._links.setdefault(end, []).append(link)

    def is_wanted(self, path: str) -> bool:
        """Whether a file is still to be there."""
        return path in self._wanted or "/".join(path.split("/")[:5]) in self._unchanged

    def initiatives(self) -> None:
        """Of each repository in Overlord's care, and of each of its initiatives."""
        by_space = dict[str, list[Initiative]]()
        for each in self._all:
            if each.space.casefold() in self._spaces:
                by_space.setdefault(each.space.casefold(), []).append(each)
        signatures = files.signatures(self._connection)
        for space, own in by_space.items():
            autonomy = self._settings.space(space).autonomy
            self._want(
                layout.space_export(space), exports.space_document(own[0].space, own, autonomy=autonomy)
            )
            for each in own:
                self._initiative(each, _SIGNATURE + signatures[each.id])

    def _initiative(self, initiative: Initiative, signature: str) -> None:
        space, slug = initiative.space, initiative.slug
        own = layout.initiative_export(space, slug)
        before = self._known.get(own)
        if before is not None and before.mark == signature:
            self._unchanged.add(layout.plan_directory(space, slug))
            return
        listed = tasks.of_initiative(self._connection, initiative.id)
        refs = {task.id: task.ref for task in listed}
        links = [link for task in listed for link in self._links.get(task.id, ())]
        refs |= {row: tasks.get(self._connection, row).ref for row in _others(links, refs)}
        paths = [layout.high_watermark(space, slug)]
        self._put(paths[0], f"{initiative.last_task}\n".encode())
        for task in listed:
            path = layout.task_export(space, slug, task.number)
            paths.append(path)
            self._want(path, _task(task, initiative, links, refs))
        self._want(own, exports.initiative_document(initiative, listed))
        self.changes.wholes[own] = (signature, paths)
        self.changes.initiatives.append(initiative)

    def escalations(self) -> None:
        """Of each, in the folder of its state."""
        by_id = {each.id: each for each in self._all}
        for each in escalations.every(self._connection):
            if each.space.casefold() not in self._spaces:
                continue
            path = layout.escalation_export(exports.escalation_folder(each), each.id)
            before = self._known.get(path)
            if not each.is_open and before is not None and before.digest:
                self._wanted.add(path)  # it is over: nothing of it changes any more
                continue
            task = tasks.get(self._connection, each.task_id) if each.task_id is not None else None
            initiative = by_id.get(each.initiative_id) if each.initiative_id is not None else None
            self._want(path, exports.escalation_document(each, initiative=initiative, task=task))

    def rules(self) -> None:
        """All of them in one."""
        if found := rules.every(self._connection):
            self._want(layout.RULES, exports.rules_document(found))

    def _want(self, path: str, document: object) -> None:
        self._put(path, f"{self._redact(json_text(document, indent=2))}\n".encode())

    def _put(self, path: str, content: bytes) -> None:
        self._wanted.add(path)
        before = self._known.get(path)
        if before is None or before.digest != digest_of(content):
            self.changes.contents[path] = content


def _task(
    task: Task, initiative: Initiative, links: Sequence[TaskLink], refs: Mapping[int, str]
) -> exports.Document:
    return exports.task_document(
        task,
        initiative,
        blocks=lambda row: sorted({refs[link.blocked_id] for link in links if link.blocker_id == row}),
        blocked_by=lambda row: sorted({refs[link.blocker_id] for link in links if link.blocked_id == row}),
    )


def _others(links: Sequence[TaskLink], refs: Mapping[int, str]) -> set[int]:
    """Tasks of other initiatives that these are linked with."""
    return {row for link in links for row in (link.blocker_id, link.blocked_id)} - refs.keys()


def _carry_out(tree: FileTree, changes: _Changes) -> None:
    for path, content in changes.contents.items():
        try:
            tree.put(path, content)
        except UnreadableFileError as error:
            changes.failed[path] = str(error)
    for path in changes.gone:
        try:
            tree.remove(path)
        except UnreadableFileError as error:
            changes.failed[path] = str(error)


def _rows(known: Mapping[str, FileState], changes: _Changes, at: datetime) -> Sequence[KnownFile]:
    """The rows that are another than before."""
    made = dict[str, KnownFile]()
    for path, content in changes.contents.items():
        trouble = changes.failed.get(path, "")
        digest = "" if trouble else digest_of(content)
        made[path] = KnownFile(path=path, digest=digest, trouble=trouble, read_at=at)
    for path, (signature, paths) in changes.wholes.items():
        if changes.failed.keys().isdisjoint([path, *paths]):
            digest = made[path].digest if path in made else known[path].digest
            made[path] = KnownFile(path=path, digest=digest, mark=signature, read_at=at)
    return [row for path, row in made.items() if not _is_same(known.get(path), row)]


def _is_same(before: FileState | None, row: KnownFile) -> bool:
    return before is not None and (before.digest, before.mark, before.trouble) == (
        row.digest,
        row.mark,
        row.trouble,
    )


def _note(connection: sqlite3.Connection, *, rows: Sequence[KnownFile], gone: Sequence[str]) -> None:
    files.forget(connection, gone)
    for row in rows:
        files.put(connection, row)
