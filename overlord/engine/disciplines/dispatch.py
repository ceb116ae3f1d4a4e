"""A call's session: what it may write, what it is told, who works in it; then it is started as every session is."""

import sqlite3
from dataclasses import replace

from minion.protocol import Scope, ScopeMode, SessionKind, Terms
from overlord.domain.disciplines import prompts
from overlord.domain.disciplines.arguments import DEFAULT_OUTPUT
from overlord.domain.disciplines.call import Call
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.session import Session, prepared
from overlord.engine.contracts import take
from overlord.engine.disciplines import ground, trainer
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import agent_choice, capacity, environment, launcher, preconditions, setup
from overlord.engine.sessions.agent_choice import Chosen
from overlord.errors import AgentUnknown
from overlord.failpoints import Failpoint
from overlord.settings.model import BudgetLimits
from overlord.store import environments, jobs, sessions
from overlord.store.budgets import exchanges
from overlord.store.disciplines import calls, history
from overlord.store.environments import EnvironmentState

NOTHING = Scope(mode=ScopeMode.EXPLICIT, patterns=(".nebulus/nothing",))
"""For disciplines that write nothing: a path that no session may write."""
TESTS = (
    "**/test/**",
    "**/tests/**",
    "**/__tests__/**",
    "**/spec/**",
    "**/test_*",
    "**/*_test.*",
    "**/*.test.*",
    "**/*.spec.*",
    "**/conftest.py",
)
"""Where tests are."""
NANO = 1_000_000_000


async def step(parts: Parts, job: Job, call: Call) -> Progress:
    """Prepare a session once there is room for one, then start it. Raises GitFailed, EnvironmentFailed, RunnerRefused, AgentUnknown,
    ContractError."""
    session = await parts.database.read(lambda c: sessions.live_of(c, job.id))
    if session is None:
        return await _prepare(parts, job, call)
    if session.kind is SessionKind.SETUP:
        return await setup.advance(parts, job, session)
    started = session

    def note(connection: sqlite3.Connection) -> None:
        data: dict[str, Json] = {"session": started.id, "may_write": Scope.parse(started.scope).describe()}
        jobs.move(connection, job.id, EventName.SESSION_STARTED, at=parts.clock.now(), data=data)
        calls.stage(connection, call.id, "the model is asked")

    return Progress.of(await launcher.start(parts, job, session, Failpoint.CALL_STARTED, note=note))


async def _prepare(parts: Parts, job: Job, call: Call) -> Progress:
    for is_met in (preconditions.not_paused, preconditions.room_for_a_session):
        if (wait := await is_met(parts, job)) is not None:
            return Progress.of(wait is preconditions.Wait.NEWS)
    job = await ground.laid(parts, job, call)
    need = await environment.need_of(parts, job, job.base)
    if need is not None and await parts.database.read(lambda c: _failed_before(c, need.key, call)):
        await parts.database.write(Failpoint.CALL_PREPARED, lambda c: environments.remove(c, need.key))
    layer = await setup.ensure(parts, job, need)
    if layer is None:
        return Progress.IDLE
    session = await _session(parts, job, call, layer, _chosen(parts, job, call))

    def may(connection: sqlite3.Connection) -> bool:
        is_as_read = jobs.get(connection, job.id).state is job.state
        return is_as_read and capacity.for_one_more(connection, parts, job)

    def note(connection: sqlite3.Connection) -> None:
        jobs.repair(connection, job.id, reason="")
        calls.stage(connection, call.id, "its session is started")

    prepared_now = await launcher.prepare(parts, job, session, Failpoint.CALL_PREPARED, may=may, note=note)
    return Progress.of(prepared_now)


def _failed_before(connection: sqlite3.Connection, key: str, call: Call) -> bool:
    """Whether an environment could not be set up for somebody before: it is tried again, for nobody is there to be asked."""
    known = environments.get(connection, key)
    return known is not None and known.state is EnvironmentState.FAILED and known.at < call.created_at


def _chosen(parts: Parts, job: Job, call: Call) -> Chosen:
    """Who works: the settings' agent, by the model of the call. Raises AgentUnknown for a model that is not there any more."""
    is_walled = parts.runner.capabilities.isolates_files
    found = agent_choice.chosen(parts.settings, job, None, "", is_walled=is_walled)
    if not call.model:
        return found
    if call.model not in parts.settings.models:
        known = ", ".join(parts.settings.models) or "none"
        raise AgentUnknown(f"models.yaml has no model {call.model!r} any more; it has {known}. Call again.")
    upstream = parts.settings.model_name(parts.settings.models[call.model][0])
    return replace(found, agent=replace(found.agent, model=upstream), model=call.model)


async def _session(parts: Parts, job: Job, call: Call, layer: str, by: Chosen) -> Session:
    of = parts.settings.disciplines
    limits = replace(capacity.limits_of(parts, job.space, turns=of.turns, time_s=of.time_s), questions=0)
    ordinal, entries, spent, key = await parts.database.read(
        lambda c: (
            sessions.count(c, job.id, SessionKind.WORK) + 1,
            history.read(c, call.space, call.session_key) if call.session_key else [],
            exchanges.job_cost(c, job.id) or 0,
            calls.training_key(c, call),
        )
    )
    role = trainer.role_of(job, call)
    task = prompts.discipline_task(
        call,
        entries,
        role=role,
        candidates=await trainer.candidates_for(parts, job, role),
        redact=parts.current.redactor.redact,
    )
    if role is prompts.Role.WRITER:
        task = replace(task, tools=trainer.WRITER_TOOLS, task=f"{trainer.files_line(key)}\n{task.task}")
    terms = await _terms(parts, job, call)
    brief = replace(
        launcher.described(
            job,
            SessionKind.WORK,
            ordinal,
            role=role or call.kind.phase,
            base=job.base,
            head=job.base,
            scope=_but(trainer.scope_for(role, key) or scope_of(call), terms),
            limits=limits,
        ),
        agent=by.agent,
        discipline=task,
        terms=terms,
        traced=parts.settings.tracing.is_on,
    )
    tokens, nusd = _caps(parts.settings.space(job.space).budget, spent)
    return prepared(
        brief,
        job.id,
        at=parts.clock.now(),
        layer=layer,
        time_limit_s=limits.time_s,
        token_budget=tokens,
        nusd_budget=nusd,
        model=by.model,
    )


async def _terms(parts: Parts, job: Job, call: Call) -> Terms | None:
    """What the repository's contract, or else the settings' one, keeps out of sight; None for nothing. Raises ContractError."""
    contract = await take.own_contract(parts, job, job.base) or parts.contract(job.space)
    if not contract.secret_paths:
        return None
    return Terms(contract=contract.name, phase=call.kind.phase, secret_paths=contract.secret_paths)


def _but(scope: Scope, terms: Terms | None) -> Scope:
    """A scope without what is kept out of sight."""
    return scope if terms is None else replace(scope, without=(*scope.without, *terms.secret_paths))


def _caps(budget: BudgetLimits, spent: int) -> tuple[int, int | None]:
    """What a session may spend, in tokens and nano-dollars."""
    usd = budget.session_usd
    return budget.session_tokens, max(round(usd * NANO) - spent, 1) if usd else None


def scope_of(call: Call) -> Scope:
    """What a call's session may write, by its discipline. Whatever a directory or a path is called, it stands for itself."""
    place = f"{call.directory}/" if call.directory else ""
    inside = _literal(place)
    test = f"{place}{call.text('test_path')}" if call.text("test_path") else ""
    named = (_literal(test),) if test else ()
    tests = tuple(f"{inside}{pattern}" for pattern in TESTS)
    if call.discipline is DisciplineName.TDD_RED:
        return Scope(patterns=(*tests, *named))
    if call.discipline is DisciplineName.TDD_GREEN:
        return _within(call, without=named)
    if call.discipline is DisciplineName.TDD_REFACTOR:
        return _within(call, without=(*tests, *named))
    if call.discipline is DisciplineName.SPEC:
        path = call.text("output_path") or DEFAULT_OUTPUT
        return Scope(mode=ScopeMode.EXPLICIT, patterns=(_exact(f"{place}{path}"),))
    return NOTHING


def _within(call: Call, *, without: tuple[str, ...]) -> Scope:
    """Everything of the project but these."""
    if call.directory:
        return Scope(patterns=(f"{_literal(call.directory)}/**",), without=without)
    return Scope(mode=ScopeMode.UNRESTRICTED, without=without)


def _exact(path: str) -> str:
    """A path as an exact name; what begins like a comment of patterns, or like an exception from them, is written from `.`."""
    return f"./{path}" if path.startswith(("#", "!")) else path


def _literal(path: str) -> str:
    """A path as a pattern that matches it alone."""
    return "".join(f"\\{letter}" if letter in "\\*?[]!# " else letter for letter in path)
