"""The metrics by name. Label values are names of repositories and models in the settings, and words of our own: never
anything a session, an issue or an endpoint says.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from minion.protocol import SessionKind
from overlord.domain.budgets.budget import NANO
from overlord.domain.decision import DecisionKind
from overlord.domain.event import EventName
from overlord.domain.job import OPEN
from overlord.domain.pause import EVERYTHING
from overlord.metrics import Histogram, Meters
from overlord.settings.load import Settings
from overlord.store.counts import Census, Key
from overlord.store.schema.totals import BEYOND, JOB_BOUNDS_S, SESSION_BOUNDS_S

REVISED = (
    EventName.REVISION_ORDERED,
    EventName.CHANGES_REQUESTED,
    EventName.CI_FAILED,
    EventName.CONFLICT_FOUND,
)
"""The facts that send a job back to work on what it has."""
RUN = (SessionKind.WORK, SessionKind.CHECK, SessionKind.SETUP)


def gauges(found: Census, settings: Settings, *, at: datetime, free_bytes: int) -> Iterator[Metric]:
    """How things are now."""
    spaces = sorted({*settings.repositories, *(space for space, _ in found.jobs)})
    jobs: Values = {
        (space, state): found.jobs.get((space, state), 0) for space in spaces for state in sorted(OPEN)
    }
    yield _gauge("jobs", "Open jobs by repository and state.", ("space", "state"), jobs)
    waits: Values = {(state,): _age(found.oldest.get(state), at) for state in sorted(OPEN)}
    yield _gauge(
        "job_oldest_seconds", "How long the job that is longest in a state is in it.", ("state",), waits
    )
    queue: Values = {(): waits["queued",]}
    yield _gauge("queue_oldest_seconds", "How long the job that waits longest in the queue waits.", (), queue)
    running: Values = {(kind,): found.sessions.get((kind,), 0) for kind in RUN}
    yield _gauge("sessions_running", "Sessions that have not ended.", ("kind",), running)
    limit: Values = {(): settings.sessions.concurrent}
    yield _gauge("sessions_limit", "How many sessions may run at once.", (), limit)
    asked: Values = {(kind,): found.decisions.get((kind,), 0) for kind in DecisionKind}
    yield _gauge("decisions_open", "What waits for a person.", ("kind",), asked)
    age: Values = {(): _age(found.decision_since, at)}
    yield _gauge("decision_oldest_seconds", "How long the oldest open decision waits.", (), age)
    all_paused = EVERYTHING in found.paused
    paused: Values = {(space,): int(all_paused or space in found.paused) for space in spaces}
    yield _gauge(
        "paused",
        "1 where nothing new is begun: by a person's word, or because it cannot be found.",
        ("space",),
        paused,
    )
    yield _gauge("database_bytes", "The size of the database.", (), {(): found.bytes})
    yield _gauge("home_free_bytes", "What is left on the disk of OVERLORD_HOME.", (), {(): free_bytes})


def counted(found: Census) -> Iterator[Metric]:
    """What it came to since this home was made."""
    totals = found.totals
    yield _counter(
        "jobs_ended", "Jobs that ended, by repository and how.", ("space", "state"), totals.get("jobs")
    )
    yield _counter(
        "sessions_ended", "Sessions that ended, by how.", ("kind", "ending"), totals.get("sessions")
    )
    facts = {key[0]: value for key, value in totals.get("facts", {}).items()}
    revised: Values = {(name,): facts.get(name, 0) for name in REVISED}
    yield _counter("revisions", "Jobs that were sent back to work, by why.", ("cause",), revised)
    verdicts = totals.get("verdicts")
    yield _counter("check_verdicts", "Checks that were made, by score.", ("check", "verdict"), verdicts)
    yield _counter(
        "model_calls", "Requests to models, by outcome.", ("model", "outcome"), totals.get("calls")
    )
    yield _counter("tokens", "Tokens by model and kind.", ("model", "kind"), totals.get("tokens"))
    usd = {key: value / NANO for key, value in totals.get("spend_nusd", {}).items()}
    yield _counter("spend_usd", "Spent in USD, where the model has a price.", ("model", "space"), usd)
    counts: Values = {(name,): facts.get(name, 0) for name in EventName}
    yield _counter("facts", "Events of the ledger.", ("fact",), counts)


def timed(meters: Meters, found: Census) -> Iterator[Metric]:
    """How long things took, and what external services answered."""
    totals = found.totals
    session_s = _summed(totals.get("session_s", {}), totals.get("session_ms", {}), SESSION_BOUNDS_S)
    yield _histogram("session_duration_seconds", "Sessions from start to end.", ("kind",), session_s)
    job_s = _summed(totals.get("job_s", {}), totals.get("job_ms", {}), JOB_BOUNDS_S)
    yield _histogram("job_duration_seconds", "Jobs from claim to end.", ("state",), job_s)
    calls = _observed(meters.model_call_s)
    yield _histogram("model_call_duration_seconds", "One request to one endpoint.", ("model",), calls)
    yield _histogram("tick_duration_seconds", "One pass of the loop.", (), _observed(meters.tick_s))
    requests = meters.forge_requests.values
    yield _counter("forge_requests", "Requests to the forge, by outcome.", ("outcome",), requests)
    forge_s = _observed(meters.forge_request_s)
    yield _histogram("forge_request_duration_seconds", "One request to the forge.", (), forge_s)
    left = meters.forge_requests_left.values
    yield _gauge("forge_requests_left", "What the forge said is left of its limit.", ("limit",), left)


Values = Mapping[Key, float]
Buckets = Mapping[Key, tuple[Sequence[tuple[str, int]], float]]
"""By labels: how many were at most each bound, and their sum."""


def _gauge(name: str, text: str, labels: Sequence[str], values: Values) -> Metric:
    family = GaugeMetricFamily(f"overlord_{name}", text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _counter(name: str, text: str, labels: Sequence[str], values: Values | None) -> Metric:
    """A sum; what the database keeps beyond the labels in its keys is empty."""
    family = CounterMetricFamily(f"overlord_{name}", text, labels=labels)
    for key, value in sorted((values or {}).items()):
        family.add_metric(key[: len(labels)], value)
    return family


def _histogram(name: str, text: str, labels: Sequence[str], values: Buckets) -> Metric:
    family = HistogramMetricFamily(f"overlord_{name}", text, labels=labels)
    for key, (buckets, total) in sorted(values.items()):
        family.add_metric(key, list(buckets), sum_value=total)
    return family


def _summed(counts: Mapping[Key, int], sums_ms: Mapping[Key, int], bounds: Iterable[int]) -> Buckets:
    """Of sums in the database: their keys are label, bound; and label."""
    names = [*map(str, bounds), BEYOND]
    found: dict[Key, tuple[Sequence[tuple[str, int]], float]] = {}
    for label, *_ in sums_ms:
        at_most = accumulate(counts.get((label, name, ""), 0) for name in names)
        found[label,] = list(zip(names, at_most, strict=True)), sums_ms[label, "", ""] / 1000
    return found


def _observed(histogram: Histogram) -> Buckets:
    names = [*map(str, histogram.bounds), BEYOND]
    return {
        key: (list(zip(names, accumulate(counts), strict=True)), histogram.sums[key])
        for key, counts in histogram.counts.items()
    }


def _age(since: datetime | None, at: datetime) -> float:
    return max((at - since).total_seconds(), 0.0) if since else 0.0
