"""Tasks that may write the same paths wait for each other, also where their patterns are made to be hard to compare."""

from overlord.domain.portfolio.cycle.action import AssignTask, SayWaits
from overlord.domain.portfolio.cycle.assign import assign
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.task import TaskState
from overlord.domain.portfolio.view import PortfolioView, SpaceView
from tests.portfolio import a_task, an_initiative
from tests.records import NOW, REPO

INTRICATE = tuple("*".join(chr(97 + (row * 7 + place) % 26) for place in range(40)) for row in range(30))


def test_patterns_that_cannot_be_compared_are_waited_for_and_stop_no_cycle() -> None:
    view = PortfolioView(
        at=NOW,
        spaces={REPO: SpaceView(name=REPO)},
        initiatives=(an_initiative(id=1, state=InitiativeState.ACTIVE),),
        tasks=(
            a_task(id=1, number=1, paths=INTRICATE),
            a_task(id=2, number=2, state=TaskState.PENDING, paths=(*INTRICATE[::-1], "*" + "a*" * 40)),
            a_task(id=3, number=3, state=TaskState.PENDING),
        ),
    )
    found = list(assign(view))
    [waits] = [item for item in found if isinstance(item, SayWaits) and item.task_id == 2]
    assert waits.waits.startswith("waits for i1.1, which may write ")
    assert [item.task_id for item in found if isinstance(item, AssignTask)] == [3]
