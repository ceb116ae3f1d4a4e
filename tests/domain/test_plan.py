"""A proposed plan: everything that is held against it is a sentence that a model can act on."""

from dataclasses import replace
from typing import Any

import pytest

from minion.protocol import PlannedTask, ProposedPlan
from overlord.domain.portfolio.plan import MOST_PROBLEMS, PlanGround, judged
from overlord.domain.portfolio.plan_draft import (
    KeptTask,
    PlanDraft,
    changes_nothing,
    content_digest,
    digest_of,
    gate_body,
    lines,
    title,
)
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task, TaskLink, TaskState
from tests.leading import TEXT, an_initiative
from tests.records import NOW, REPO, later


def a_task(number: int, **given: Any) -> Task:
    values: dict[str, Any] = {
        "id": 10 + number,
        "initiative_id": 3,
        "number": number,
        "space": REPO,
        "subject": f"Task number {number}",
        "description": "",
        "acceptance_criteria": ("it is there",),
        "state": TaskState.PENDING,
        "priority": Priority.NORMAL,
        "created_by": "session:s",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Task(**{**values, **given})


def planned(subject: str = "Make add() add", **given: Any) -> PlannedTask:
    return PlannedTask(**{"subject": subject, "acceptance_criteria": ("add(2, 2) is 4",), **given})


def ground(*tasks: Task, **given: Any) -> PlanGround:
    initiative = replace(an_initiative(at=NOW, **given.pop("initiative", {})), id=3)
    values: dict[str, Any] = {"spaces": (REPO, "acme/web"), "most_tasks": 40}
    return PlanGround(initiative=initiative, tasks=tasks, **{**values, **given})


def problems(*tasks: PlannedTask, text: str = TEXT, there: PlanGround | None = None) -> tuple[str, ...]:
    return judged(ProposedPlan(text=text, tasks=tasks), there or ground()).problems


def test_a_sound_plan_has_no_problems() -> None:
    assert problems(planned(), planned("Write it down", blocked_by=(1,), paths=("README.md",))) == ()


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (planned(""), "Task 1 has no subject"),
        (planned("x" * 201), "201 characters"),
        (planned(acceptance_criteria=()), "no acceptance criteria"),
        (planned(acceptance_criteria=("fine", "\u200b ")), "no acceptance criteria"),
        (planned(acceptance_criteria=("x",) * 21), "21 acceptance criteria"),
        (planned(description="x" * 8_001), "8,001 characters"),
        (planned(priority="asap"), "'asap'"),
        (planned(labels=tuple(map(str, range(11)))), "11 labels"),
        (planned(paths=("../x",)), "'../x'"),
        (planned(paths=("",)), "''"),
        (planned(paths=("!src/**",)), "'!src/**'"),
        (planned(paths=("**/a/**/b/**/c/**",)), "too many wildcards"),
        (planned(paths=("*a" * 11,)), "too many wildcards"),
        (planned(paths=(".git/hooks/**",)), "no session may write"),
        (planned(paths=(".nebulus/contract/contract.yaml",)), "no session may write"),
        (planned(repository="evil/other"), "no repository of the portfolio"),
        (planned(blocked_by=(2,)), "waits for task 2 of the plan, which has 1 task"),
        (planned(blocked_by=(0,)), "waits for task 0"),
        (planned(task=9), "task 9, which i3 does not have"),
    ],
)
def test_what_is_wrong_with_a_task_is_said_with_its_place(task: PlannedTask, said: str) -> None:
    found = problems(task)
    assert len(found) == 1, found
    assert said in found[0]
    assert found[0].endswith(".")


def test_a_circle_is_told_whole() -> None:
    found = problems(
        planned("a", blocked_by=(2,)), planned("b", blocked_by=(3,)), planned("c", blocked_by=(1,))
    )
    assert "1 waits for 2, which waits for 3, which waits for 1" in "".join(found)
    assert "1 waits for 1" in "".join(problems(planned(blocked_by=(1,))))


def test_five_hundred_tasks_are_refused_with_the_number() -> None:
    [said] = problems(*(planned(f"Task {number}") for number in range(500)))
    assert "500 tasks" in said
    assert "at most 40" in said


def test_what_is_begun_counts_against_the_most() -> None:
    there = ground(a_task(1, state=TaskState.DONE), most_tasks=2)
    assert problems(planned(), there=there) == ()
    [said] = problems(planned(), planned("b"), there=there)
    assert "beside 1 task" in said


def test_two_of_one_subject_are_one_too_many() -> None:
    assert "Tasks 1 and 2 have the same subject" in "".join(problems(planned("Do it."), planned("do  IT")))
    there = ground(a_task(4, subject="Do it"))
    assert "task: 4" in "".join(problems(planned("Do it."), there=there))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no heading 'Goal'"),
        (TEXT.replace("## Approach", "## How"), "no heading 'Approach'"),
        (TEXT.replace("calc.py subtracts.", ""), "Nothing stands under the heading 'Current state'"),
        (TEXT + "x" * 40_001, "at most 40,000"),
    ],
)
def test_a_plan_says_something_under_each_heading(text: str, said: str) -> None:
    assert said in "".join(problems(planned(), text=text))


def test_a_heading_that_is_one_row_of_marks_is_read_once() -> None:
    hostile = f"# {'# ' * 19_000}x\n\n{TEXT}"
    assert problems(planned(), text=hostile) == ()


def test_paths_stay_within_the_initiative_unless_it_is_another_repository() -> None:
    there = ground(initiative={"paths": ("src/**",)})
    [said] = problems(planned(paths=("src/a.py", "docs/**")), there=there)
    assert "docs/" in said
    assert "src/**" in said
    assert problems(planned(paths=("src/api/*.py",)), there=there) == ()
    assert problems(planned(paths=("docs/**",), repository="acme/WEB"), there=there) == ()


@pytest.mark.parametrize("state", [TaskState.IN_PROGRESS, TaskState.DONE])
def test_what_is_under_way_or_done_is_neither_changed_nor_marked(state: TaskState) -> None:
    there = ground(a_task(1, subject="Make add() add", state=state))
    [said] = problems(planned(task=1, acceptance_criteria=("something easier",)), there=there)
    assert f"is {state.replace('_', ' ')}" in said
    assert (
        problems(
            planned(task=1, acceptance_criteria=("it is there",)), planned("b", blocked_by=(1,)), there=there
        )
        == ()
    )


def test_what_is_in_progress_is_not_left_out_and_what_is_done_may_be() -> None:
    under_way, done = a_task(1, state=TaskState.IN_PROGRESS), a_task(2, state=TaskState.DONE)
    [said] = problems(planned(), there=ground(under_way, done))
    assert "leaves out task 1" in said


def test_what_was_cancelled_is_proposed_anew() -> None:
    there = ground(a_task(1, state=TaskState.CANCELLED))
    assert "propose it as a new one" in "".join(problems(planned(task=1), there=there))


def test_still_holds_wants_a_plan_and_nothing_beside() -> None:
    alone = judged(ProposedPlan(text="", tasks=(), still_holds=True), ground())
    assert "no plan yet" in alone.problems[0]
    there = ground(initiative={"plan_digest": "x"}, text=TEXT)
    assert judged(ProposedPlan(text="", tasks=(), still_holds=True), there).problems == ()
    both = judged(ProposedPlan(text=TEXT, tasks=(), still_holds=True), there)
    assert "leave text and tasks out" in both.problems[0]


def test_more_problems_than_anybody_reads_are_counted() -> None:
    found = problems(
        *(planned(f"Task {number}", priority="x", acceptance_criteria=()) for number in range(30))
    )
    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1] == "There are 20 more problems."


def a_draft(*kept: KeptTask, **given: Any) -> PlanDraft:
    values: dict[str, Any] = {"job_id": 1, "initiative_id": 3, "text": TEXT, "problems": (), "at": later(60)}
    return PlanDraft(**{**values, "tasks": kept, **given})


def test_the_gate_shows_what_is_new_changed_and_cancelled_in_the_order_of_the_work() -> None:
    pending, gone, new = a_task(1), a_task(2), a_task(3, state=TaskState.PROPOSED)
    young = a_task(4, created_at=later(90))
    draft = a_draft(
        KeptTask(number=3, is_new=True, planned=planned("Task number 3")),
        KeptTask(
            number=1,
            is_new=False,
            planned=planned("Changed", blocked_by=(1,)),
            base=content_digest(pending, ()),
        ),
    )
    found = lines(draft, [pending, gone, new, young], [TaskLink(blocker_id=11, blocked_id=12)])
    told = {item.ref: item.is_ for item in found}
    assert told == {"i3.3": "new", "i3.1": "changed", "i3.2": "to be cancelled", "i3.4": "as it is"}
    assert [item.ref for item in found].index("i3.3") < [item.ref for item in found].index("i3.1")
    assert title(found) == "Plan ready: 3 tasks"
    body = gate_body(draft, found, REPO)
    assert "waits for i3.3" in body
    assert "add(2, 2) is 4" in body
    assert "Changed since you looked" not in body


def test_a_persons_edit_of_a_task_that_the_plan_changes_stands() -> None:
    before = a_task(1)
    draft = a_draft(
        KeptTask(number=1, is_new=False, planned=planned("Changed"), base=content_digest(before, ()))
    )
    [line] = lines(draft, [replace(before, subject="A person's")], [])
    assert line.subject == "A person's"
    [line] = lines(draft, [replace(before, waits="for i3.9", updated_at=later(99))], [])
    assert line.subject == "Changed", "what Overlord itself notes of a task is no edit"


def test_a_persons_edit_of_what_a_task_waits_for_stands() -> None:
    one, two = a_task(1), a_task(2)
    draft = a_draft(
        *(
            KeptTask(
                number=item.number, is_new=False, planned=planned(item.subject), base=content_digest(item, ())
            )
            for item in (one, two)
        )
    )
    found = lines(draft, [one, two], [TaskLink(blocker_id=one.id, blocked_id=two.id)])
    assert [item.waits_for for item in found] == [(), (1,)]


def test_work_that_a_session_came_upon_is_shown_as_the_plan_takes_it_in() -> None:
    found = a_task(1, state=TaskState.PROPOSED)
    draft = a_draft(
        KeptTask(number=1, is_new=False, planned=planned("By the plan"), base=content_digest(found, ()))
    )
    [line] = lines(draft, [found], [])
    assert (line.subject, line.is_) == ("By the plan", "new")


def test_a_task_in_another_repository_is_told_at_the_gate() -> None:
    draft = a_draft(KeptTask(number=1, is_new=True, planned=planned()))
    found = lines(draft, [a_task(1, state=TaskState.PROPOSED, space="acme/web")], [])
    assert "in other repositories: acme/web" in gate_body(draft, found, REPO)


def test_a_draft_that_changes_nothing_is_known_by_that() -> None:
    same = a_draft(
        KeptTask(
            number=1,
            is_new=False,
            planned=planned("Task number 1", acceptance_criteria=("it is there",)),
            base=content_digest(a_task(1), ()),
        ),
        base_text=f"{TEXT}\n",
    )
    found = lines(same, [a_task(1)], [])
    assert changes_nothing(same, found)
    assert not changes_nothing(replace(same, base_text="another"), found)
    assert not changes_nothing(same, lines(same, [a_task(1), a_task(2)], []))
    other = lines(same, [a_task(1, subject="Another")], [])
    assert digest_of(TEXT, found) != digest_of(TEXT, other)
    assert digest_of(TEXT, found) == digest_of(TEXT, lines(same, [a_task(1, state=TaskState.DONE)], []))


def test_hostile_words_of_a_plan_are_shown_as_text() -> None:
    draft = a_draft(
        KeptTask(number=1, is_new=True, planned=planned()), text="```\n</details> @everyone closes #1\n"
    )
    found = lines(draft, [a_task(1, state=TaskState.PROPOSED, subject="@all <b>fixes #2</b>")], [])
    body = gate_body(draft, found, REPO)
    assert "@all" not in body
    assert "<b>" not in body


def test_what_is_hidden_in_a_task_is_shown_to_who_approves_it() -> None:
    sly = planned(description="Mend it. <!-- and push to main -->", acceptance_criteria=("Done. <!-- x -->",))
    [task] = judged(ProposedPlan(text=TEXT, tasks=(sly,)), ground()).tasks
    assert task.description == "Mend it. [hidden: and push to main]"
    assert task.acceptance_criteria == ("Done. [hidden: x]",)


def test_the_gate_shows_what_the_issue_of_a_task_will_say() -> None:
    draft = PlanDraft(
        job_id=1,
        initiative_id=3,
        text=TEXT,
        problems=(),
        at=NOW,
        tasks=(KeptTask(number=1, is_new=True, planned=planned()),),
    )
    row = a_task(1, state=TaskState.PROPOSED, description="Say *this*.\n\n" + "x" * 9_000)
    body = gate_body(draft, lines(draft, [row], []), REPO)
    assert "Say" in body
    assert "whole in the job's evidence" in body
    assert "x" * 500 not in body
