"""From label to pull request; what people see on the way; and the endings that are not so good."""

import json

from inline_snapshot import snapshot

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import edit, garbage, run, say, submit, write
from overlord.store import evidence, ledger, sessions
from tests.world import CALC, FIX, REPO, World, made_world


async def test_a_labelled_issue_becomes_a_tested_pull_request() -> None:
    async with made_world() as world:
        number = await world.issue("add() subtracts", "`add(2, 2)` is 0.")
        world.model_will(edit(*FIX), run("python -m pytest -q"), submit("add() adds again."))
        await world.settle()

        [pull] = world.forge.pulls(REPO)
        assert (pull.title, pull.draft, pull.base_branch) == ("add() subtracts", False, "main")
        assert pull.head_branch == f"minion/issue-{number}"
        assert world.forge.files(REPO, pull.head_branch)[
            "calc.py"
        ] == b"def add(a, b):\n    return a + b\n\n\n" + (b"def double(a):\n    return a * 2\n")
        assert pull.body.startswith(f"Closes #{number}\n\n### What the Minion says\n\n> add() adds again.")
        assert "| tests | ✅ pass | 2 passed, 0 new, 1 fixed, 0 broken" in pull.body
        assert world.forge.issue(REPO, number).labels == ("in-review",)
        statuses = [(status.context, status.state) for status in world.forge.statuses(REPO, pull.head_sha)]
        assert statuses[-1] == ("overlord/evaluation", "success")
        sessions_folder = world.overlord.parts.home.session("j1-work-1").parent
        assert list(sessions_folder.iterdir()) == []  # what sessions held is freed
        events = await world.events()
        draft = ("branch_pushed", "pull_opened")
        # The draft is shown beside the checks: after the diff was judged, before the verdict.
        assert events.index("check_completed") < events.index(draft[0]) < events.index(draft[1])
        assert events.index(draft[1]) < events.index("passed")
        assert [event for event in events if event not in draft] == snapshot(
            [
                "claimed",
                "contract_taken",
                "session_prepared",
                "session_started",
                "session_ended",
                "work_submitted",
                "check_completed",
                "check_completed",
                "session_prepared",
                "check_started",
                "session_ended",
                "check_completed",
                "check_completed",
                "session_prepared",
                "check_completed",
                "passed",
                "delivered",
            ]
        )


async def test_the_issue_carries_one_comment_that_is_kept_up_to_date() -> None:
    async with made_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        [comment] = world.forge.comments(REPO, number)
        assert comment.body.splitlines()[0] == "**Overlord: in review** (#2)"


async def test_the_branch_holds_one_commit_of_overlords_own_making() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(
            run("git commit --allow-empty -m 'Fixes #99' --author 'Eve <eve@x.y>'"), edit(*FIX), submit()
        )
        await world.settle()
        log = await world.git_log("minion/issue-1")
        assert log == [
            ("Overlord", "add() subtracts"),
            ("alice", "First commit"),
        ]


async def test_merging_the_pull_request_completes_the_job() -> None:
    async with made_world() as world:
        number = await _delivered(world)
        await world.forge.merge(REPO, 2)
        await world.settle()
        assert (await world.job()).state is JobState.COMPLETED
        assert world.forge.issue(REPO, number).labels == ()


async def test_closing_the_pull_request_cancels_the_job() -> None:
    async with made_world() as world:
        await _delivered(world)
        await world.forge.close_pull(REPO, 2)
        await world.settle()
        assert (await world.job()).state is JobState.CANCELLED


async def test_a_second_job_of_the_same_issue_gets_a_branch_of_its_own() -> None:
    async with made_world() as world:
        number = await _delivered(world)
        await world.forge.close_pull(REPO, 2)
        await world.settle()
        world.model.forget()
        world.model_will(edit(*FIX), submit())
        await world.forge.label(REPO, number, "nebulus-ready")
        await world.settle()
        assert [pull.head_branch for pull in world.forge.pulls(REPO)] == [
            "minion/issue-1",
            "minion/issue-1-2",
        ]


async def test_a_change_that_breaks_the_tests_is_sent_back_with_the_findings() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit("calc.py", "return a * 2", "return a * 3"), submit("triples"))
        world.model_will(edit(*FIX), edit("calc.py", "return a * 3", "return a * 2"), submit("adds"))
        await world.settle()
        job = await world.job()
        assert (job.state, job.revision) == (JobState.IN_REVIEW, 1)
        second = json.loads((await world.read(sessions.of_job, 1))[2].brief)
        assert [(finding["rule"], finding["message"]) for finding in second["findings"]] == [
            ("unproven", "Unproven: no test fails without this change."),
            ("test-broken", "tests.test_calc::test_double passed before and fails."),
            ("failing-before", "tests.test_calc::test_add fails before and after."),
        ]
        assert "tests.test_calc::test_double passed before and fails." in world.minion_heard()[0]["content"]


async def test_after_two_revisions_a_person_is_asked_and_one_more_may_pass() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        undefined = "def other():\n    return nobody_knows\n\n\n" + CALC["calc.py"]
        for wrong in (
            CALC["calc.py"].replace("a * 2", "a * 3"),
            undefined,
            undefined.replace("a * 2", "a * 4"),
        ):
            world.model_will(write("calc.py", wrong), submit("done"))
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.subject, decision.verbs) == (
            Subject.ESCALATION,
            (Verb.ONE_MORE, Verb.REPLY, Verb.TAKE_OVER, Verb.DROP),
        )
        world.model_will(write("calc.py", CALC["calc.py"].replace("a - b", "a + b")), submit("adds"))
        await world.answer(decision, Verb.ONE_MORE)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_write_outside_the_scope_is_refused_and_found_again_on_the_diff() -> None:
    async with made_world(spaces={REPO: {"scope": ["calc.py"]}}) as world:
        await world.issue("add() subtracts")
        sneaky = run("echo sneaky >> README.md")
        world.model_will(edit("README.md", "numbers", "integers"), edit(*FIX), sneaky, submit())
        world.model_will(run("git checkout HEAD~1 -- README.md"), submit())
        await world.settle()
        [refusal] = [m["content"] for m in world.minion_heard(1) if m["role"] == "tool"][:1]
        assert "outside" in refusal and "ask_question" in refusal
        first = (await world.checks())[0]
        assert (first.name, first.score, first.findings[0].file) == ("scope", "needs_revision", "README.md")
        assert (await world.job()).state is JobState.IN_REVIEW
        assert (await world.events()).count("branch_pushed") == 1


async def test_a_protected_path_goes_to_a_person_and_nothing_is_pushed() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(run("mkdir -p .github/workflows && echo evil > .github/workflows/x.yml"), submit())
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.SCOPE
        assert world.forge.pulls(REPO) == []


async def test_a_repository_without_tests_is_a_question_for_a_person() -> None:
    async with made_world({"calc.py": CALC["calc.py"]}) as world:
        number = await world.issue("add() subtracts")
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.subject, decision.kind) == (Subject.UNTESTED, "approval")
        assert world.forge.issue(REPO, number).labels == ("needs-attention",)
        [comment] = world.forge.comments(REPO, number)
        assert "Not judged: whether the code works. No test is run." in comment.body
        assert world.model.requests == [], "it is asked before the first session"
        world.model_will(edit(*FIX), submit())
        await world.answer(decision, Verb.WITHOUT_TESTS)
        await world.settle()
        [pull] = world.forge.pulls(REPO)
        assert pull.body.split("\n\n")[1].startswith("⚠️ **No test was run.** Tests are not judged: this repo")
        assert not pull.draft
        await world.issue("Another")
        world.model_will(write("more.py", "X = 1\n"), submit())
        await world.settle()
        assert (await world.job(2)).state is JobState.IN_REVIEW, "it is not asked again"


async def test_an_empty_repository_is_said_and_can_be_tried_again() -> None:
    async with made_world({}) as world:
        number = await world.issue("Write something")
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.EMPTY_REPOSITORY
        [comment] = world.forge.comments(REPO, number)
        assert "has no branch main with commits" in comment.body
        await world.forge.push_files(REPO, "main", CALC, "First")
        world.model_will(edit(*FIX), submit())
        await world.answer(decision, Verb.RETRY)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_model_that_answers_garbage_ends_in_a_question() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(garbage())
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.STOPPED_SHORT
        assert "The model gave no usable answers." in decision.body


async def test_a_model_that_only_talks_ends_in_a_question() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(say("I would change the minus to a plus."))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.STOPPED_SHORT


async def test_a_spent_budget_is_a_question_and_more_lets_the_work_go_on() -> None:
    async with made_world(budget={"session_tokens": 22_000}) as world:
        await world.issue("add() subtracts")
        world.model_will(*(run(f"echo {index}") for index in range(40)))
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.subject, decision.verbs[0]) == (Subject.BUDGET, Verb.ADD_BUDGET)
        world.model.forget()
        world.model_will(edit(*FIX), submit())
        await world.answer(decision, Verb.ADD_BUDGET, "500000")
        await world.settle()
        job = await world.job()
        assert (job.state, job.revision) == (JobState.IN_REVIEW, 0)


async def test_labelling_a_waiting_issue_again_takes_the_work_up_again() -> None:
    async with made_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(garbage())
        await world.settle()
        world.model.forget()
        world.model_will(edit(*FIX), submit())
        await world.forge.label(REPO, number, "nebulus-ready")
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await world.decisions() == []


async def test_every_session_leaves_its_evidence_and_the_ledger_is_whole() -> None:
    async with made_world() as world:
        await _delivered(world)
        kept = await world.read(evidence.exhibits, 1)
        assert {(item.session_id, item.kind) for item in kept} >= {
            ("j1-work-1", "log"),
            ("j1-work-1", "brief"),
            ("j1-work-1", "report"),
            ("j1-check-1", "report"),
        }
        assert all(world.overlord.parts.evidence.get(item.sha256) is not None for item in kept)
        assert await world.read(lambda c: list(ledger.problems(c))) == []


async def _delivered(world: World) -> int:
    number = await world.issue("add() subtracts")
    world.model_will(edit(*FIX), submit())
    await world.settle()
    assert (await world.job()).state is JobState.IN_REVIEW
    return number
