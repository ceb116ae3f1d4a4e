"""What a mutant is."""

from dataclasses import dataclass

KILLS = "tests/faults/test_kills.py::test_a_daemon_killed_at_its_points_loses_nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A defence, how the source looks without it, and the part of the campaign that must notice."""

    name: str
    file: str
    before: str
    after: str
    says: str
    """What must be found of it, as an expression: a mutant that cannot even be imported fails everything."""
    tests: tuple[str, ...] = (KILLS,)
    points: str = ""
    """Those at which a daemon is killed."""
    needs_docker: bool = False
