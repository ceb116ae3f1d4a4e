"""The composition root: builds each part once, and the loop that keeps them going."""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import structlog

from overlord.adapters.clock import SystemClock
from overlord.adapters.git.mirrors import GitMirrors
from overlord.adapters.github.connection import connect
from overlord.adapters.github.forge import GitHubForge
from overlord.adapters.hooks import ProcessHooks
from overlord.adapters.mcp import HttpMcp
from overlord.adapters.model import OpenAIModel
from overlord.adapters.process.children import watch_children
from overlord.adapters.runner_choice import choose_runner
from overlord.adapters.schedule import Schedule
from overlord.adapters.space_runners import USUAL, SpaceRunners
from overlord.config_files import packaged
from overlord.domain.chat.card import Place
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.hooks import ASKING, HookCall, HookFailure
from overlord.domain.identifiers import ChannelId
from overlord.domain.repositories.forge import web_of
from overlord.domain.review.rubric import load_rubric
from overlord.engine.issues import missing_repository
from overlord.engine.reload import Renewal
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.tick import Tick
from overlord.engine.timetable import timetable
from overlord.errors import (
    Fenced,
    ImageUnusable,
    SettingsError,
)
from overlord.failpoints import Failpoint, guarded
from overlord.home import Home
from overlord.metrics import Meters
from overlord.ports.access import RemoteAccess
from overlord.ports.clock import Clock
from overlord.process_limits import raise_descriptor_limit
from overlord.session_api.gateway.assistant import GatewayAssistant
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.remote.access import session_listener
from overlord.session_api.server import SessionApiServer
from overlord.settings.current import CurrentSettings, check
from overlord.settings.env import check_socket_path
from overlord.settings.load import Settings, rebuilt, with_added
from overlord.settings.model import PRIMARY
from overlord.store import hooks as stored_hooks
from overlord.store import ledger
from overlord.store.database import Database, epoch
from overlord.store.evidence import EvidenceStore
from overlord.store.schema.migrations import LATEST
from overlord.store.spaces import managed, settings_notes
from overlord.wakeup import Wakeup

Result = TypeVar("Result")
log = structlog.get_logger()

LONGEST_NAP_S = 5.0
"""Time limits are kept by looking at the clock, so the loop never sleeps longer than this."""
SIDE_TASK_DELAY_S = 1.0


@dataclass(slots=True, kw_only=True)
class Pulse:
    """When the loop last made a pass, on the monotonic clock."""

    beat_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlord:
    """Everything that runs, put together."""

    parts: Parts
    session_api: SessionApiServer
    tick: Tick
    renewal: Renewal
    wakeup: Wakeup
    watchers: Wakeup
    """Rung with the wakeup, and for what no job is moved by: what its Minion is at."""
    passes: Wakeup = field(default_factory=Wakeup)
    """Rung after each pass, for who follows the facts."""
    pulse: Pulse = field(default_factory=Pulse)

    async def turn(self) -> bool:
        """One pass: settings that changed, session APIs for prepared sessions, then every job a step. True when another pass is
        worth it at once.

        Raises Fenced once another daemon has taken over.
        """
        began_at = self.parts.clock.monotonic()
        await self._attempt("settings", self.renewal.look)
        opened = await self._attempt("doors", self.session_api.reconcile)
        moved = await self._attempt("jobs", self.tick.run)
        self.pulse.beat_at = self.parts.clock.monotonic()
        self.parts.meters.tick_s.observe(self.pulse.beat_at - began_at)
        self.passes.notify()
        return moved or opened

    async def _attempt(self, name: str, act: Callable[[], Awaitable[Progress | bool]]) -> bool:
        """One half of a pass; what the disk or the database does not allow now is there to be done in the next."""
        try:
            return bool(await act())
        except (sqlite3.DatabaseError, OSError) as error:
            log.warning("pass_cut_short", half=name, trouble=str(error))
            return False

    async def run(self, stopped: asyncio.Event) -> None:
        """Work until `stopped` is set; running sessions are left to be found again."""
        async with self.concurrently("runner_events", self._follow_runner):
            schedule = Schedule(self.wakeup.notify)
            with self.wakeup.listening(self.parts.home.wakeup), schedule.running():
                while not stopped.is_set():
                    seen = self.wakeup.count
                    moved = await self.turn()
                    schedule.set(timetable(self.parts.settings, next_poll_at=self.tick.next_poll_at))
                    if not moved:
                        await self.wakeup.wait(seen, timeout_s=self._nap_s())

    async def pursue(self, step: Callable[[], Awaitable[Result | None]]) -> Result:
        """Repeat one step until it has a result, with session APIs open and the runner followed; no job is moved meanwhile."""
        async with self.concurrently("runner_events", self._follow_runner):
            while True:
                seen = self.wakeup.count
                opened = await self.session_api.reconcile()
                if (result := await step()) is not None:
                    return result
                if not opened:
                    await self.wakeup.wait(seen, timeout_s=LONGEST_NAP_S)

    def _nap_s(self) -> float:
        delays = self.tick.next_delay_s(), self.parts.hints.next_delay_s(self.parts.clock.monotonic())
        known = (delay for delay in delays if delay is not None)
        return min((LONGEST_NAP_S, *known))

    async def _follow_runner(self) -> None:
        async for _ in self.parts.runner.follow():
            self.wakeup.notify()

    @contextlib.asynccontextmanager
    async def concurrently(self, name: str, act: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """Keep a side task going while the block runs."""
        side = asyncio.create_task(self._monitored(name, act))
        try:
            yield
        finally:
            side.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await side

    async def _monitored(self, name: str, act: Callable[[], Awaitable[None]]) -> None:
        """Keep a side task going: what it raises is written down, and it is started again."""
        while True:
            try:
                await act()
            except Exception as error:
                log.exception("side_task_failed", task=name)
                await self._note(EventName.SIDE_TASK_FAILED, {"task": name, "error": str(error)})
            await asyncio.sleep(SIDE_TASK_DELAY_S)

    async def _note(self, name: EventName, data: Mapping[str, Json]) -> None:
        event = LedgerEvent(name=name, at=self.parts.clock.now(), data=data)
        with contextlib.suppress(
            sqlite3.DatabaseError, Fenced
        ):  # it is in the log, and the loop meets both by itself
            await self.parts.database.write(Failpoint.TROUBLE_NOTED, lambda c: ledger.append(c, event))


@contextlib.asynccontextmanager
async def overlord(
    settings: Settings, *, clock: Clock | None = None, needs_model: bool = True, falls_back: bool = False
) -> AsyncIterator[Overlord]:
    """Build an Overlord on its home. `falls_back`: see `choose_runner`. Raises SettingsError and, for its database, StoreError."""
    _check_services(settings, needs_model=needs_model)
    clock, home, wakeup = clock or SystemClock(), Home(settings.home), Wakeup(also=(watchers := Wakeup()))
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback((database := await Database.open(home.database, exclusive=True)).close)
        current = _current(settings, await database.read(managed.added))
        models, forge, mcp, meters = _external_services(settings, clock, stack)
        number, check_held = await database.read(epoch) + 1, database.check_held
        runner = await choose_runners(current, stack, epoch=number, check=check_held, falls_back=falls_back)
        session_parts = SessionApiParts(
            current=current,
            hooks=(hooks := _hooks(current, home, database, clock)),
            home=home,
            database=database,
            model=models[PRIMARY],
            spare_models=models,
            git=(git := guarded(GitMirrors(home, extent=current.extent), check_held)),
            mcp=mcp,
            clock=clock,
            wakeup=wakeup,
            watchers=watchers,
            meters=meters,
        )
        session_api, access = await _open_session_api(session_parts, stack)
        parts = Parts(
            current=current,
            home=home,
            database=database,
            evidence=EvidenceStore(home.evidence),
            forge=guarded(forge, database.check_held),
            git=git,
            runner=runner,
            access=access,
            clock=clock,
            assistant=GatewayAssistant(session_parts),
            rubric=load_rubric(packaged("rubric.yaml"), "the built-in rubric"),
            notify=wakeup.notify,
            meters=meters,
            hooks=hooks,
            chat_output=_chat_output(settings, clock, home, database, stack),
        ).watched()
        await database.take_over(Failpoint.DAEMON_STARTED, partial(_note_start, parts=parts))
        stack.push_async_callback(_end_steps, tick := Tick(parts), hooks)
        renewal = Renewal(parts, settings)
        yield Overlord(
            parts=parts, session_api=session_api, tick=tick, renewal=renewal, wakeup=wakeup, watchers=watchers
        )


async def _open_session_api(
    parts: SessionApiParts, stack: contextlib.AsyncExitStack
) -> tuple[SessionApiServer, RemoteAccess]:
    """What sessions on this machine reach, and those on others; closed with the stack."""
    stack.push_async_callback((server := SessionApiServer(parts)).close)
    return server, await stack.enter_async_context(session_listener(parts))


async def _end_steps(tick: Tick, hooks: ProcessHooks) -> None:
    """Let steps under way end for a moment; none waits for a program of the operator's."""
    await hooks.close()
    await tick.close()


def _external_services(
    settings: Settings, clock: Clock, stack: contextlib.AsyncExitStack
) -> tuple[dict[str, OpenAIModel], GitHubForge, HttpMcp, Meters]:
    """The models, the forge and the MCP servers, with what is measured of them; closed with the stack."""
    models, forge, mcp = _models(settings), _forge(settings, clock, meters := Meters()), HttpMcp()
    for close in (*(model.close for model in models.values()), forge.close, mcp.close):
        stack.push_async_callback(close)
    return models, forge, mcp, meters


def _note_start(connection: sqlite3.Connection, number: int, *, parts: Parts) -> None:
    at = parts.clock.now()
    if (upgrade := parts.database.upgrade) is not None:
        fields: dict[str, Json] = {"from": upgrade.version, "to": LATEST, "copy": upgrade.copy.name}
        ledger.append(connection, LedgerEvent(name=EventName.DATABASE_UPGRADED, at=at, data=fields))
    data: dict[str, Json] = {"pid": os.getpid(), "runner": parts.runner.name, "epoch": number}
    ledger.append(connection, LedgerEvent(name=EventName.DAEMON_STARTED, at=at, data=data))
    missing_repository.look_again(connection, at=at)
    settings_notes.put(connection, None)  # whatever it said, these are the settings that were just loaded


def _hooks(current: CurrentSettings, home: Home, database: Database, clock: Clock) -> ProcessHooks:
    """The operator's programs. One that fails is in the log, and on record if it could have refused."""

    async def note(call: HookCall, failure: HookFailure) -> None:
        about = {"space": call.space or None, "job_id": call.job, "session_id": call.session or None}
        log.warning("hook_failed", hook=call.hook.value, program=failure.program, why=failure.why, **about)
        if call.hook in ASKING:
            act = partial(stored_hooks.note_failure, call=call, failure=failure, at=clock.now())
            await database.write(Failpoint.TROUBLE_NOTED, act)

    return ProcessHooks(
        home.hooks,
        programs=current.hook_programs,
        redact=current.redactor.redact,
        note=note,
    )


def _models(settings: Settings) -> dict[str, OpenAIModel]:
    """An adapter for each endpoint, by its name."""
    if unpriced := settings.unpriced():
        log.info("model_without_price", models=list(unpriced), budgets="tokens only")
    return {
        name: OpenAIModel(
            endpoint.base_url, endpoint.api_key.get_secret_value(), read_timeout_s=endpoint.timeout_s
        )
        for name, endpoint in {PRIMARY: settings.model, **settings.endpoints}.items()
    }


def _forge(settings: Settings, clock: Clock, meters: Meters) -> GitHubForge:
    return connect(GitHubForge, settings, now=clock.now, meters=meters)


def _chat_output(
    settings: Settings,
    clock: Clock,
    home: Home,
    database: Database,
    stack: contextlib.AsyncExitStack,
) -> ChatOutput | None:
    """What steps talk to people with; None without a chat."""
    slack = settings.slack
    if not slack.is_on:
        return None
    from overlord.adapters.slack.chat import (
        SlackChat,  # its libraries are large, and not everybody has a chat
    )

    chat = SlackChat(
        api_url=slack.api_url,
        bot_token=slack.bot_token.get_secret_value(),
        timeout_s=slack.timeout_s,
        now=clock.now,
    )
    stack.push_async_callback(chat.close)
    return ChatOutput(
        chat=guarded(chat, database.check_held),
        channel=ChannelId(slack.channel),
        instance=home.instance(),
        place=Place(web=web_of(settings.forge.api_url)),
        monotonic=clock.monotonic,
    )


async def choose_runners(
    current: CurrentSettings,
    stack: contextlib.AsyncExitStack,
    *,
    epoch: int,
    check: Callable[[], Coroutine[Any, Any, None]],
    falls_back: bool = False,
) -> SpaceRunners:
    """The runner of the settings, and those that spaces ask for beside it. Raises SettingsError as `choose_runner` does."""
    settings = current.settings
    usual = await choose_runner(settings, epoch=epoch, falls_back=falls_back)
    found = {usual.name: usual}
    stack.push_async_callback(usual.close)
    for name in settings.repositories:
        kind = settings.space(name).runner
        if kind in {USUAL, *found}:
            continue
        try:
            found[kind] = await choose_runner(rebuilt(settings, runner=kind), epoch=epoch)
        except ImageUnusable:
            raise
        except SettingsError as error:
            raise SettingsError(f"spaces.{name}.{error}") from error
        stack.push_async_callback(found[kind].close)
    each = {kind: guarded(runner, check) for kind, runner in found.items()}
    return SpaceRunners(each, lambda space: current.settings.space(space).runner)


def _current(settings: Settings, added: Mapping[str, Mapping[str, object]]) -> CurrentSettings:
    """The settings with what people added by command. Raises SettingsError where no work could be done by them."""
    whole = with_added(settings, added)
    if not whole.repositories:
        raise SettingsError(
            "no repositories: set OVERLORD_REPOS=owner/repo, or `repositories` in overlord.yaml, or type"
            " `overlord space add owner/repo`"
        )
    check(whole)
    return CurrentSettings(whole)


def _check_services(settings: Settings, *, needs_model: bool) -> None:
    """Make this process ready for its work. Raises SettingsError where something is missing that no work can do without."""
    watch_children()
    raise_descriptor_limit()
    check_socket_path(settings.home)
    if needs_model and not (settings.model.base_url and settings.model.name):
        raise SettingsError(
            "no model: set OPENAI_BASE_URL (as https://api.openai.com/v1), OPENAI_API_KEY and OVERLORD_MODEL"
        )
    if not settings.forge.signs_in():
        raise SettingsError(
            "no forge sign-in: set GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY_FILE, or GITHUB_TOKEN to a fine-grained"
            " token; deploy/github-app.md says with which permissions"
        )
