"""The spaces take turns: nobody starves, no room stays empty that could be used, and the same line gives the same turns."""

import random as randomness
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.job import JobId
from overlord.domain.space_rotation import Lane, Waiting, in_turn

DAY = datetime(2026, 3, 2, tzinfo=UTC)
SPACES = ("acme/a", "acme/b", "acme/c")

LANES = st.fixed_dictionaries(
    {
        name: st.builds(
            Lane,
            running=st.integers(0, 4),
            most=st.integers(1, 5),
            begun_at=st.none() | st.integers(0, 50).map(lambda minutes: DAY + timedelta(minutes=minutes)),
        )
        for name in SPACES
    }
)
LINE = st.lists(st.tuples(st.sampled_from(SPACES), st.booleans()), max_size=30).map(
    lambda items: [
        Waiting(job=JobId(number), space=space, is_urgent=urgent)
        for number, (space, urgent) in enumerate(items, start=1)
    ]
)


def line(*spaces: str, urgent: tuple[int, ...] = ()) -> list[Waiting]:
    return [
        Waiting(job=JobId(number), space=space, is_urgent=number in urgent)
        for number, space in enumerate(spaces, start=1)
    ]


def free(most: int = 9, **running: int) -> dict[str, Lane]:
    return {f"acme/{name}": Lane(running=count, most=most) for name, count in running.items()}


def test_one_job_is_next_after_the_first_of_fifty() -> None:
    waiting = line(*["acme/a"] * 50, "acme/b")
    assert in_turn(waiting, free(a=0, b=0), room=3) == [1, 51, 2]


def test_the_space_with_the_fewest_sessions_is_next() -> None:
    assert in_turn(line("acme/a", "acme/b", "acme/b"), free(a=1, b=0), room=1) == [2]


def test_of_as_many_the_one_that_waited_longest_is_next_and_one_that_never_had_any_before_it() -> None:
    lanes = {
        "acme/a": Lane(running=0, most=9, begun_at=DAY + timedelta(hours=1)),
        "acme/b": Lane(running=0, most=9, begun_at=DAY),
        "acme/c": Lane(running=0, most=9),
    }
    assert in_turn(line(*SPACES), lanes, room=9) == [3, 2, 1]


def test_urgent_jobs_go_first_in_their_own_space() -> None:
    waiting = line("acme/a", "acme/b", "acme/b", urgent=(3,))
    assert in_turn(waiting, free(a=0, b=0), room=9) == [1, 3, 2]


def test_a_space_has_no_more_than_it_may() -> None:
    assert in_turn(line(*["acme/a"] * 5, "acme/b"), free(most=2, a=1, b=2), room=9) == [1]


@given(LINE, LANES, st.integers(-1, 12))
def test_no_room_stays_empty_that_could_be_used(
    waiting: list[Waiting], lanes: dict[str, Lane], room: int
) -> None:
    able = sum(
        min(sum(item.space == name for item in waiting), max(lane.most - lane.running, 0))
        for name, lane in lanes.items()
    )
    turns = in_turn(waiting, lanes, room=room)
    assert len(turns) == len(set(turns)) == min(max(room, 0), able)


@given(LINE, LANES, st.randoms())
def test_the_order_of_the_rows_decides_nothing(
    waiting: list[Waiting], lanes: dict[str, Lane], random: randomness.Random
) -> None:
    shuffled = list(waiting)
    random.shuffle(shuffled)
    assert in_turn(shuffled, lanes, room=5) == in_turn(waiting, lanes, room=5)


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.integers(1, 4), st.randoms())
def test_no_space_waits_longer_than_for_one_turn_of_each_other(
    lengths: list[int], room: int, random: randomness.Random
) -> None:
    """Sessions end in any order; new jobs come to every space but the last, which has but those it began with."""
    names = [f"acme/{index}" for index in range(len(lengths))]
    waiting = line(*(name for name, many in zip(names, lengths, strict=True) for _ in range(many)))
    last, following = names[-1], len(waiting)
    running: list[str] = []
    begun: dict[str, datetime] = {}
    turns = 0
    while last not in begun:
        lanes = {
            name: Lane(running=running.count(name), most=room, begun_at=begun.get(name)) for name in names
        }
        [number] = in_turn(waiting, lanes, room=1)
        [taken] = [item for item in waiting if item.job == number]
        waiting.remove(taken)
        turns += 1
        running.append(taken.space)
        begun[taken.space] = DAY + timedelta(minutes=turns)
        following += 1
        waiting.append(Waiting(job=JobId(following), space=random.choice(names[:-1])))
        if len(running) == room:
            running.pop(random.randrange(room))
        assert turns <= len(names)
