"""What is counted while Overlord runs and in no row: how long things took, what external services answered. Gone with the process.

A leaf that every room may use: whoever does a thing counts it, and the operator's listener reads it. Label values are few
and ours: names of settings, statuses, never words of others.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field


class Counter:
    """A number for each tuple of label values; it only grows."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, ...], float] = {}

    def add(self, *labels: str, amount: float = 1.0) -> None:
        self.values[labels] = self.values.get(labels, 0.0) + amount


class Gauge:
    """The last number for each tuple of label values."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, ...], float] = {}

    def set(self, *labels: str, to: float) -> None:
        self.values[labels] = to


class Histogram:
    """How many observations were at most each bound, and their sum, for each tuple of label values."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts: dict[tuple[str, ...], list[int]] = {}
        self.sums: dict[tuple[str, ...], float] = {}

    def observe(self, value: float, *labels: str) -> None:
        counts = self.counts.get(labels)
        if counts is None:
            counts = self.counts[labels] = [0] * (len(self.bounds) + 1)
        counts[bisect_left(self.bounds, value)] += 1
        self.sums[labels] = self.sums.get(labels, 0.0) + value


QUICK_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
CALL_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meters:
    """Every one there is. One thread writes: that of the loop."""

    tick_s: Histogram = field(default_factory=lambda: Histogram(QUICK_S))
    """One pass of the loop, with the moment it waits for the steps it began."""
    model_call_s: Histogram = field(default_factory=lambda: Histogram(CALL_S))
    """By model: one request to one endpoint, from its reservation to its last byte."""
    forge_requests: Counter = field(default_factory=Counter)
    """By outcome: `ok`, `unchanged`, `refused`, `limited`, `failed`, `unanswered`."""
    forge_request_s: Histogram = field(default_factory=lambda: Histogram(CALL_S))
    forge_requests_left: Gauge = field(default_factory=Gauge)
    """By the forge's own name of the limit (`core`, `graphql`), as its last answer said."""
