"""Where a checkout's calls are worked on, and by whom: the daemon that manages its repository, this process, or another one that holds the place."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime

import pytest

from overlord.domain.disciplines.call import Call, CallState
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.embedded.play import give_result, read, write
from overlord.entrypoints.local.place import Place, place_of
from overlord.entrypoints.local.work import moving
from overlord.entrypoints.mcp.brain_tools import brain_tools
from overlord.entrypoints.mcp.checkout.local_engine import LocalEngine
from overlord.entrypoints.mcp.checkout.project_root import checkout_at
from overlord.entrypoints.mcp.checkout.where import DaemonHome, LocalHome, found
from overlord.entrypoints.mcp.checkout_backend import CheckoutBackend, opened
from overlord.entrypoints.mcp.code_tools import code_tools
from overlord.entrypoints.mcp.tool import Asked
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.database import Database, write_from_command
from overlord.store.disciplines import calls
from overlord.store.schema.migrations import LATEST, migrate
from overlord.verbs.calls import request_call
from tests.local import LocalSession, git
from tests.mcp_checkout.checkouts import write as laid
from tests.quick import quick_desk
from tests.stored import claim

FILES = {"calc.py": "def add(a, b):\n    return a + b\n"}


@asynccontextmanager
async def server(user: LocalSession) -> AsyncIterator[CheckoutBackend]:
    async with opened(user.repo, user.environment({})) as backend:
        yield backend


async def review(backend: CheckoutBackend, user: LocalSession) -> Call:
    """Ask for a review; nobody waits for it."""
    ground = await backend.ground(str(user.repo))
    arguments = {"project_root": str(user.repo), "files": ["calc.py"]}
    return await backend.write(
        Failpoint.CALL_REQUESTED,
        lambda c: request_call(
            c,
            DisciplineName.REVIEW,
            arguments,
            ground,
            settings=backend.settings,
            actor=backend.actor,
            at=datetime.now(UTC),
        ),
    )


async def ended(backend: CheckoutBackend, call: Call) -> Call:
    while (now := await backend.read(lambda c: calls.get(c, call.id))).state is CallState.OPEN:
        await backend.wait(30)
    return now


async def test_a_call_that_another_process_held_is_taken_over_when_that_one_ends() -> None:
    async with quick_desk(FILES) as user, server(user) as backend:
        user.model.will(read("calc.py"), give_result(message="fine"))
        place = place_of(str(user.repo), user.environment({}))
        with place.locked():
            await (await Database.open(place.home.database, exclusive=True)).close()
            call = await review(backend, user)
            await backend.wait(0.2)
            assert isinstance(backend.at, LocalHome)
            assert backend.at.engine.running is None, "another process holds the place"
        assert (await ended(backend, call)).result is not None
        assert backend.at.engine.running is not None


async def test_the_place_is_given_back_when_no_call_is_open() -> None:
    async with quick_desk(FILES) as user:
        place = place_of(str(user.repo), user.environment({}))
        engine = LocalEngine(place=place, environment=user.environment({}), idle_s=0.01)
        await engine.ensure()
        while place.is_locked():
            await asyncio.sleep(0)
        with place.locked():
            pass
        await engine.ensure()
        assert place.is_locked()
        await engine.close()
        assert not place.is_locked()


def older(place: Place) -> None:
    """Have the database that the Overlord before this one made."""
    place.home.root.mkdir(parents=True, mode=0o700)
    with closing(sqlite3.connect(place.home.database, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode=WAL")
        migrate(connection, target=LATEST - 1)


async def test_an_older_programs_database_is_read_and_written_to() -> None:
    async with quick_desk(FILES) as user, server(user) as backend:
        older(place_of(str(user.repo), user.environment({})))
        assert await backend.read(lambda c: calls.open_calls(c, backend.at.space)) == []
    async with quick_desk(FILES) as user, server(user) as backend:
        older(place_of(str(user.repo), user.environment({})))
        await backend.write(Failpoint.JOB_CLAIMED, lambda c: claim(c, number=3, space=backend.at.space))


async def test_a_database_that_is_being_made_is_waited_for() -> None:
    async with quick_desk(FILES) as user, server(user) as backend:
        place = place_of(str(user.repo), user.environment({}))
        older(place)

        async def upgraded() -> None:
            await (await Database.open(place.home.database, exclusive=True)).close()

        with place.locked():
            read = asyncio.create_task(backend.read(lambda c: calls.open_calls(c, backend.at.space)))
            waits = asyncio.create_task(backend.wait(0.1))
            await asyncio.sleep(0)
            await upgraded()
            assert await read == []
            await waits


async def test_calls_that_come_at_once_find_one_database() -> None:
    async with quick_desk(FILES) as user, server(user) as backend:
        older(place_of(str(user.repo), user.environment({})))
        looks = (backend.read(lambda c: calls.open_calls(c, backend.at.space)) for _ in range(4))
        _, _, *found = await asyncio.gather(backend.at.ensure(), backend.at.make_database(), *looks)
        assert found == [[]] * 4


async def test_a_run_that_was_left_under_way_is_not_gone_on_with_by_a_call() -> None:
    async with quick_desk(FILES) as user:
        place = place_of(str(user.repo), user.environment({}))
        engine = LocalEngine(place=place, environment=user.environment({}))
        await engine.make_database()
        write_from_command(
            place.home.database, Failpoint.JOB_CLAIMED, lambda c: claim(c, number=3, space=place.repository)
        )
        with pytest.raises(
            Refused, match="run 3 of this checkout was left under way: `overlord resume` goes on"
        ):
            await engine.ensure()
        assert not place.is_locked()


async def test_a_call_is_no_run() -> None:
    """`overlord run` begins though a call is open, and goes on with no call's job as if it were a run."""
    async with quick_desk(FILES) as user, server(user) as backend:
        place = place_of(str(user.repo), user.environment({}))
        with place.locked():
            await (await Database.open(place.home.database, exclusive=True)).close()
            call = await review(backend, user)
            job = await backend.read(lambda c: jobs.get(c, call.job_id or 0))
            assert job.is_open
            assert await backend.read(lambda c: moving(c, place.repository)) == []


async def test_two_changes_of_one_file_are_not_both_written() -> None:
    async with quick_desk(FILES) as user, server(user) as backend:
        root = str(user.repo)

        async def asked(spec: str) -> Call:
            ground = await backend.ground(root)
            arguments = {"project_root": root, "requirements": spec, "output_path": "docs/spec.md"}
            return await backend.write(
                Failpoint.CALL_REQUESTED,
                lambda c: request_call(
                    c,
                    DisciplineName.SPEC,
                    arguments,
                    ground,
                    settings=backend.settings,
                    actor=backend.actor,
                    at=datetime.now(UTC),
                ),
            )

        for words in ("first", "second"):
            user.model.will(
                write("docs/spec.md", f"# {words}\n"), give_result(file_path="docs/spec.md"), when=words
            )
        one, two = await asked("first"), await asked("second")
        done = [await ended(backend, call) for call in (one, two)]
        delivered = await asyncio.gather(*(backend.deliver(call, apply=True) for call in done))
        assert sorted(item.is_applied for item in delivered) == [False, True]
        [other] = [item for item in delivered if not item.is_applied]
        assert other.why_not.startswith(
            "docs/spec.md is not as when the call began; the patch is in the reply"
        )
        assert "docs/spec.md" in other.patch
        again = await backend.deliver(
            next(call for call, item in zip(done, delivered, strict=True) if item.is_applied), apply=True
        )
        assert again.is_applied


async def test_a_call_of_another_checkout_is_not_written_here() -> None:
    async with quick_desk(FILES) as user, server(user) as backend:
        user.model.will(write("docs/spec.md", "# It\n"), give_result(file_path="docs/spec.md"))
        ground = await backend.ground(str(user.repo))
        call = await backend.write(
            Failpoint.CALL_REQUESTED,
            lambda c: request_call(
                c,
                DisciplineName.SPEC,
                {"project_root": str(user.repo), "requirements": "It"},
                ground,
                settings=backend.settings,
                actor=backend.actor,
                at=datetime.now(UTC),
            ),
        )
        done = await ended(backend, call)
        git(user.root, "clone", "--quiet", str(user.repo), str(user.root / "other"))
        other = CheckoutBackend(
            own=checkout_at(user.root / "other"), at=backend.at, environment=backend.environment
        )
        delivered = await other.deliver(done, apply=True)
        assert (delivered.is_applied, delivered.why_not) == (
            False,
            "It began on the files of another checkout.",
        )


async def test_the_daemon_that_manages_the_repository_works_on_it() -> None:
    async with quick_desk(FILES) as user:
        (user.root / "home").mkdir(exist_ok=True)
        git(user.repo, "remote", "add", "origin", "git@github.com:acme/other.git")
        environment = user.environment({})
        own = checkout_at(user.repo)
        assert isinstance(await found(own, environment), LocalHome)
        database = await Database.open(user.home / "overlord.db", exclusive=True)
        at = await found(own, environment)
        assert isinstance(at, DaemonHome)
        assert (at.space, at.home.root) == ("acme/other", user.home)
        for address in ("https://github.com/acme/third", "https://elsewhere.example/acme/other"):
            git(user.repo, "remote", "set-url", "origin", address)
            assert isinstance(await found(own, environment), LocalHome)
        await at.ensure()
        await database.close()
        with pytest.raises(Refused, match="acme/other does not run; start it with `overlord serve`"):
            await at.ensure()


async def test_what_needs_no_files_copies_none() -> None:
    async with quick_desk(FILES) as user, server(user) as backend:
        git(user.repo, "checkout", "--quiet", "--orphan", "nothing")  # of which no copy can be made
        assert (
            await backend.space_of(str(user.repo), "s") == await backend.space_of("", "s") == backend.at.space
        )
        with pytest.raises(Refused, match="is in no git work tree"):
            await backend.space_of("/", "s")
        tools = {tool.name: tool for tool in (*code_tools(), *brain_tools())}
        arguments = {"project_root": str(user.repo), "session_id": "s", "content": "Digits are numbers."}
        for name in ("session_log", "brain_write"):
            await tools[name].act(Asked(backend=backend, arguments=arguments))
        assert not backend.state.exists()


async def test_who_calls_is_a_machine_of_this_user() -> None:
    async with quick_desk(FILES) as user, server(user) as backend:
        assert backend.actor.startswith("mcp:")
        assert backend.right == "act"
        with pytest.raises(Refused, match="no file in empty"):
            (user.repo / "empty").mkdir()
            await backend.ground(str(user.repo / "empty"))
        laid(user.repo, {"src/a.py": "1\n"})
        assert (await backend.ground(str(user.repo / "src"))).directory == "src"
        assert (await backend.ground_of_session("unknown")).directory == ""
