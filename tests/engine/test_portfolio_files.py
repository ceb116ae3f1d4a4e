"""The portfolio's files beside a working daemon: read when they change, written without losing a person's words."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from overlord import failpoints
from overlord.domain.knowledge.rule import Rule
from overlord.domain.portfolio.escalation import Escalation, EscalationKind, EscalationState, EscalationType
from overlord.domain.portfolio.files import layout
from overlord.domain.portfolio.files.plan_file import BEGIN, END
from overlord.domain.portfolio.initiative import Initiative, InitiativeSource, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task, TaskState
from overlord.engine.portfolio import exports
from overlord.engine.portfolio import files as portfolio_files
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint, Moment
from overlord.store.knowledge import rules
from overlord.store.portfolio import cycles, escalations, files, initiatives, tasks
from tests.memory.world import made_memory_world
from tests.world import REPO, World

TOKEN = "ghp_" + "a1B2" * 9
PLAN = layout.plan(REPO, "sums")


@dataclass
class Desk:
    """A home with files in it, and rows put there by hand."""

    world: World

    @property
    def parts(self) -> Parts:
        return self.world.overlord.parts

    def file(self, path: str) -> Path:
        found = self.parts.home.root / path
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    async def look(self) -> Progress:
        return await portfolio_files.look(self.parts)

    async def row(self, path: str) -> files.KnownFile | None:
        return await self.parts.database.read(lambda c: files.get(c, path))

    async def trouble(self, path: str) -> str:
        found = await self.row(path)
        return found.trouble if found is not None else ""

    async def goals(self) -> list[str]:
        found = await self.parts.database.read(lambda c: portfolio_files.overview_of(c, REPO))
        return [goal.title for goal in found.goals]

    async def write(self, act: Any) -> Any:
        return await self.parts.database.write("by hand", act)

    async def initiative(self, slug: str = "sums", space: str = REPO) -> Initiative:
        at = self.world.clock.now()
        made = Initiative(
            id=0,
            space=space,
            slug=slug,
            title="Sums",
            goal="Add numbers",
            source=InitiativeSource.PERSON,
            key=f"{space}/{slug}",
            state=InitiativeState.QUEUED,
            priority=Priority.NORMAL,
            actor="cli:alice",
            created_at=at,
            updated_at=at,
        )
        found: Initiative = await self.write(lambda c: initiatives.add(c, made))
        return found

    async def task(self, initiative: Initiative, subject: str) -> Task:
        at = self.world.clock.now()
        made = Task(
            id=0,
            initiative_id=initiative.id,
            number=0,
            space=initiative.space,
            subject=subject,
            description=f"with {TOKEN}",
            acceptance_criteria=("it adds",),
            state=TaskState.PENDING,
            priority=Priority.HIGH,
            created_by="cli:alice",
            created_at=at,
            updated_at=at,
        )
        found: Task = await self.write(lambda c: tasks.add(c, made))
        return found

    def exported(self, path: str) -> Any:
        return json.loads(self.file(path).read_text())


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with made_memory_world() as world:
        await world.start()
        yield Desk(world)


async def test_goals_are_read_when_their_file_changes(desk: Desk) -> None:
    overview = desk.file(layout.overview(REPO))
    assert await desk.look() is Progress.IDLE
    overview.write_text(f"## Goals\n\n- Add numbers\n- Use {TOKEN}\n")
    assert await desk.look() is Progress.MOVED
    assert await desk.look() is Progress.IDLE
    assert (await desk.goals())[0] == "Add numbers"
    found = await desk.row(layout.overview(REPO))
    assert found is not None
    assert TOKEN not in found.text
    overview.unlink()
    assert await desk.look() is Progress.MOVED
    assert await desk.goals() == []


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff\xfe", "save it as UTF-8"), (b"x" * 5_000_000, "larger than 1024 kB"), (None, "a link")],
)
async def test_what_cannot_be_read_is_told_and_what_was_read_before_counts(
    desk: Desk, content: bytes | None, said: str
) -> None:
    overview = desk.file(layout.overview(REPO))
    overview.write_text("## Goals\n- Add numbers\n")
    await desk.look()
    overview.unlink()
    if content is None:
        overview.symlink_to("/etc/passwd")
    else:
        overview.write_bytes(content)
    await desk.look()
    assert said in await desk.trouble(layout.overview(REPO))
    assert await desk.goals() == ["Add numbers"]
    told = await desk.parts.database.read(files.troubled)
    assert [file.path for file in told] == [layout.overview(REPO)]
    overview.unlink()
    overview.write_text("## Goals\n- Subtract\n")
    await desk.look()
    assert (await desk.trouble(layout.overview(REPO)), await desk.goals()) == ("", ["Subtract"])


async def test_what_people_tell_every_session_is_bounded_and_without_secrets(desk: Desk) -> None:
    desk.file(layout.IDENTITY).write_text(f"You are careful.<!-- not --> {TOKEN}\n")
    desk.file(layout.MEMORY).write_text("word " * 4000)
    await desk.look()
    words = await desk.parts.database.read(portfolio_files.brief_words)
    assert words.keys() == {layout.IDENTITY, layout.MEMORY}
    assert words[layout.IDENTITY].startswith("You are careful.[hidden: not]")
    assert TOKEN not in words[layout.IDENTITY]
    assert len(words[layout.MEMORY]) == portfolio_files.MOST_BRIEF_CHARS
    assert "shorten it" in await desk.trouble(layout.MEMORY)


async def test_a_plan_is_written_and_what_people_write_into_it_is_the_plan(desk: Desk) -> None:
    initiative = await desk.initiative()
    first = await desk.task(initiative, "Write it")
    assert await portfolio_files.write_plan(desk.parts, initiative) == ""
    assert not desk.file(PLAN).exists()
    assert await portfolio_files.write_plan(desk.parts, initiative, prose=f"First this. {TOKEN}") == ""
    text = desk.file(PLAN).read_text()
    assert "- [ ] 1. Write it (pending)" in text
    assert TOKEN not in text
    assert await desk.look() is Progress.IDLE
    desk.file(PLAN).write_text(text.replace("First this.", "First that.").replace("Write it", "Nothing"))
    assert await desk.look() is Progress.MOVED
    plan = await desk.parts.database.read(lambda c: portfolio_files.plan_of(c, initiative))
    assert plan.startswith("First that.")
    at = desk.world.clock.now()
    await desk.write(lambda c: tasks.change(c, first.id, at=at, state=TaskState.DONE))
    assert await portfolio_files.write_plan(desk.parts, initiative) == ""
    text = desk.file(PLAN).read_text()
    assert text.startswith("First that.")
    assert "- [x] 1. Write it (done)" in text
    desk.file(PLAN).unlink()
    await desk.look()
    await portfolio_files.write_plan(desk.parts, initiative)
    assert desk.file(PLAN).read_text().startswith("First that.")


async def test_a_new_plan_goes_beside_one_that_people_changed_meanwhile(desk: Desk) -> None:
    initiative = await desk.initiative()
    await portfolio_files.write_plan(desk.parts, initiative, prose="Old.")
    desk.file(PLAN).write_text(desk.file(PLAN).read_text().replace("Old.", "Old, by hand."))
    await desk.look()
    trouble = await portfolio_files.write_plan(desk.parts, initiative, prose="New.", based_on="Old.")
    assert "somebody changed it while it was planned anew" in trouble
    assert desk.file(PLAN).read_text().startswith("Old, by hand.")
    assert desk.file(f"{PLAN}.new").read_text().startswith("New.")
    assert trouble == await desk.trouble(PLAN)
    desk.file(f"{PLAN}.new").rename(desk.file(PLAN))
    await desk.look()
    assert await desk.trouble(PLAN) == ""
    assert await portfolio_files.write_plan(desk.parts, initiative, prose="Newer.", based_on="New.") == ""
    assert desk.file(PLAN).read_text().startswith("Newer.")


async def test_marks_that_somebody_broke_are_told_and_the_file_is_left(desk: Desk) -> None:
    initiative = await desk.initiative()
    await portfolio_files.write_plan(desk.parts, initiative, prose="Mine.")
    broken = desk.file(PLAN).read_text().replace(END, "").replace("Mine.", "Yours.")
    desk.file(PLAN).write_text(broken)
    await desk.look()
    assert "the two marks around its list of tasks are not whole" in await desk.trouble(PLAN)
    assert await desk.parts.database.read(lambda c: portfolio_files.plan_of(c, initiative)) == "Mine."
    assert "not whole" in await portfolio_files.write_plan(desk.parts, initiative)
    assert not desk.file(f"{PLAN}.new").exists()
    assert "not whole" in await portfolio_files.write_plan(desk.parts, initiative, prose="New.")
    assert desk.file(PLAN).read_text() == broken
    assert BEGIN in desk.file(f"{PLAN}.new").read_text()


async def test_a_day_is_written_and_one_that_somebody_changed_is_left(desk: Desk) -> None:
    day, path = date(2026, 3, 2), layout.daily(date(2026, 3, 2))
    assert await portfolio_files.write_day(desk.parts, day, f"# Monday\n{TOKEN}\n") == ""
    assert desk.file(path).read_text().startswith("# Monday\n")
    assert TOKEN not in desk.file(path).read_text()
    assert await portfolio_files.write_day(desk.parts, day, "# Monday, later\n") == ""
    desk.file(path).write_text("mine\n")
    assert "left as it is" in await portfolio_files.write_day(desk.parts, day, "# Monday, again\n")
    assert desk.file(path).read_text() == "mine\n"


async def test_rows_are_exported_and_only_those_that_changed(desk: Desk) -> None:
    initiative, other = await desk.initiative(), await desk.initiative("words")
    one, two = await desk.task(initiative, "One"), await desk.task(initiative, "Two")
    at = desk.world.clock.now()
    await desk.write(lambda c: tasks.link(c, two, [one], at=at))
    await desk.write(lambda c: rules.add(c, a_rule(at)))
    assert await exports.write_exports(desk.parts) is Progress.MOVED
    assert await exports.write_exports(desk.parts) is Progress.IDLE
    first = desk.exported(layout.task_export(REPO, "sums", 1))
    assert (first["id"], first["subject"], first["blocks"], first["plan"]) == (1, "One", ["i1.2"], "sums")
    assert (first["acceptanceCriteria"], first["priority"], first["status"]) == (
        ["it adds"],
        "high",
        "pending",
    )
    assert TOKEN not in first["description"]
    assert desk.exported(layout.task_export(REPO, "sums", 2))["blockedBy"] == ["i1.1"]
    assert desk.file(layout.high_watermark(REPO, "sums")).read_text() == "2\n"
    assert desk.exported(layout.initiative_export(REPO, "sums"))["tasks"] == {"pending": 2}
    assert [each["slug"] for each in desk.exported(layout.space_export(REPO))["initiatives"]] == [
        "sums",
        "words",
    ]
    assert desk.exported(layout.RULES)[0]["answer"] == "Redis"
    marks = {path: path.stat().st_ino for path in desk.parts.home.root.rglob("*.json")}
    desk.world.clock.move(60)
    at = desk.world.clock.now()
    await desk.write(lambda c: tasks.change(c, one.id, at=at, state=TaskState.DONE))
    assert await exports.write_exports(desk.parts) is Progress.MOVED
    changed = {path.name for path, mark in marks.items() if path.stat().st_ino != mark}
    assert changed == {"1.json", "initiative.json"}
    assert desk.exported(layout.initiative_export(REPO, other.slug))["tasks"] == {}


async def test_an_escalation_lies_where_its_state_is(desk: Desk) -> None:
    initiative = await desk.initiative()
    task = await desk.task(initiative, "One")
    at = desk.world.clock.now()
    made = await desk.write(lambda c: escalations.draft(c, an_escalation(initiative, task)))
    await exports.write_exports(desk.parts)
    draft = desk.exported(layout.escalation_export("draft", made.id))
    assert (draft["initiative"], draft["blocksTask"], draft["status"]) == ("sums", "i1.1", "draft")
    await desk.write(lambda c: escalations.resolve(c, made.id, "Redis", by="cli:alice", at=at))
    await exports.write_exports(desk.parts)
    assert not desk.file(layout.escalation_export("draft", made.id)).exists()
    assert desk.exported(layout.escalation_export("resolved", made.id))["resolution"] == "Redis"
    assert await exports.write_exports(desk.parts) is Progress.IDLE


async def test_exports_go_with_their_repository_and_prose_stays(desk: Desk) -> None:
    gone = await desk.initiative(space="acme/gone")
    await desk.task(gone, "One")
    await desk.initiative()
    settings = desk.parts.settings
    desk.parts.current.settings = settings.model_copy(update={"repositories": (REPO, "acme/gone")})
    await exports.write_exports(desk.parts)
    await portfolio_files.write_plan(desk.parts, gone, prose="Words.")
    assert desk.file(layout.task_export("acme/gone", "sums", 1)).exists()
    desk.parts.current.settings = settings
    assert await exports.write_exports(desk.parts) is Progress.MOVED
    left = [path for path in desk.file(layout.space_directory("acme/gone")).rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["plan.md"]
    assert desk.file(layout.initiative_export(REPO, "sums")).exists()
    assert await exports.write_exports(desk.parts) is Progress.IDLE


class CutError(OSError):
    """The daemon's end."""


@contextmanager
def cut_at(moment: Moment) -> Iterator[None]:
    """What is to last is cut off on this side of its commit."""

    def watch(point: str, reached: Moment) -> None:
        if point == Failpoint.FILES_READ and reached is moment:
            raise CutError

    failpoints.listen(watch)
    try:
        with pytest.raises(CutError):
            yield
    finally:
        failpoints.listen(None)


@pytest.mark.parametrize("moment", Moment)
async def test_what_was_cut_off_is_done_again_and_once(desk: Desk, moment: Moment) -> None:
    initiative, day = await desk.initiative(), date(2026, 3, 2)
    await desk.task(initiative, "One")
    desk.file(layout.overview(REPO)).write_text("## Goals\n- Add numbers\n")
    prose = " Words. <!-- to see -->\n"
    with cut_at(moment):
        await portfolio_files.write_plan(desk.parts, initiative, prose=prose)
    with cut_at(moment):
        await portfolio_files.look(desk.parts)
    with cut_at(moment):
        await portfolio_files.write_day(desk.parts, day, "# Monday\n")
    with cut_at(moment):
        await exports.write_exports(desk.parts)
    assert await portfolio_files.write_plan(desk.parts, initiative, prose=prose) == ""
    await portfolio_files.look(desk.parts)
    assert await portfolio_files.write_day(desk.parts, day, "# Monday\n") == ""
    await exports.write_exports(desk.parts)
    assert await portfolio_files.look(desk.parts) is Progress.IDLE
    assert await exports.write_exports(desk.parts) is Progress.IDLE
    assert await desk.parts.database.read(files.troubled) == []
    assert await desk.goals() == ["Add numbers"]
    assert {each.name for each in desk.file(PLAN).parent.iterdir()} == {"plan.md", "initiative.json", "tasks"}


async def test_a_link_in_an_exports_place_is_not_followed_and_told_once(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    initiative = await desk.initiative()
    await desk.task(initiative, "One")
    path = layout.task_export(REPO, "sums", 1)
    desk.file(path).symlink_to(tmp_path / "theirs")
    assert await exports.write_exports(desk.parts) is Progress.MOVED
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert "remove it" in await desk.trouble(path)
    assert await exports.write_exports(desk.parts) is Progress.IDLE
    desk.file(path).unlink()
    assert await exports.write_exports(desk.parts) is Progress.MOVED
    assert (desk.exported(path)["subject"], await desk.trouble(path)) == ("One", "")


def a_rule(at: Any) -> Rule:
    return Rule(
        id=0,
        space="",
        question="Redis or Memcached?",
        words=("redis", "memcached"),
        answer="Redis",
        actor="cli:alice",
        created_at=at,
    )


def an_escalation(initiative: Initiative, task: Task) -> Escalation:
    return replace(
        Escalation(
            id=0,
            type=EscalationType.DECISION,
            kind=EscalationKind.DEPENDENCY,
            space=initiative.space,
            question="Redis or Memcached?",
            context="",
            suggested=(),
            escalated_by="session:j1-work-1",
            path=("session",),
            priority=Priority.HIGH,
            state=EscalationState.DRAFT,
            created_at=initiative.created_at,
        ),
        initiative_id=initiative.id,
        task_id=task.id,
    )


async def test_a_plan_lists_its_tasks_as_they_are_after_each_change(desk: Desk) -> None:
    initiative = await desk.initiative()
    await portfolio_files.write_plan(desk.parts, initiative, prose="Words.")
    await desk.task(initiative, "One")
    assert await exports.write_exports(desk.parts) is Progress.MOVED
    assert "- [ ] 1. One (pending)" in desk.file(PLAN).read_text()
    assert await exports.write_exports(desk.parts) is Progress.IDLE


async def test_goals_that_are_others_are_decided_by_and_a_clock_that_is_set_back_asks_nothing_again(
    desk: Desk,
) -> None:
    desk.file(layout.overview(REPO)).write_text("## Goals\n\n- Add numbers\n")
    await desk.world.settle()
    [made] = await desk.parts.database.read(initiatives.every)
    assert made.title == "Add numbers"
    desk.world.clock.jump(-86_400)
    await desk.world.settle()
    before = await desk.parts.database.read(cycles.last)
    desk.world.clock.move(30)
    await desk.world.settle()
    assert await desk.parts.database.read(cycles.last) == before
    desk.file(layout.overview(REPO)).write_text("## Goals\n\n- Add numbers\n- Subtract\n")
    desk.world.clock.move(30)
    await desk.world.settle()
    assert [each.title for each in await desk.parts.database.read(initiatives.every)] == [
        "Add numbers",
        "Subtract",
    ]
    assert desk.exported(layout.space_export(REPO))["initiatives"][1]["title"] == "Subtract"
