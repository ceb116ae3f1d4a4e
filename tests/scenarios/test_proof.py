"""A judge that is not fooled, from outside: red tests, changed expectations, and changes that nothing proves."""

import json

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import Turn, blocked, edit, say, submit, write
from tests.world import CALC, FIX, REPO, World, made_world

TEST = CALC["tests/test_calc.py"]
EMPTIED = ("tests/test_calc.py", "assert add(2, 2) == 4", "add(2, 2)")
EXPECTS = ("tests/test_calc.py", "assert double(4) == 8", "assert double(4) == 16")
SQUARES = ("calc.py", "return a * 2", "return a * a")
CHANGES = (
    edit(*FIX),
    edit(*SQUARES),
    edit(*EXPECTS),
)
WORDS = "double() must square its argument"


def reviewed(*, quote: str) -> Turn:
    """A review that holds nothing against the change, and answers for the one test it changed."""
    answer = {"number": 1, "justified": bool(quote), "quote": quote, "reason": "So the issue says."}
    files = ["calc.py", "tests/test_calc.py"]
    return say(json.dumps({"files_reviewed": files, "findings": [], "claims": [answer]}))


async def rules(world: World, check: str = "tests") -> list[list[str]]:
    return [[found.rule for found in made.findings] for made in await world.checks() if made.name == check]


async def test_a_red_test_that_was_emptied_is_named_first_and_nobody_delivers_it() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*EMPTIED), submit("It passes."))
        world.model_will(edit("calc.py", "a - b", "a - b - 0"), submit("It still passes."))
        world.model_will(edit("calc.py", "a - b - 0", "a - (b)"), submit("It passes for good."))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.ESCALATION and Verb.ACCEPT not in decision.verbs
        named = decision.body.partition("```")[2].split("\n")
        assert "tests/red-test-rewritten" in named[1], decision.body
        assert all(
            found[:2] == ["red-test-rewritten", "unproven"] or found[0] == "red-test-rewritten"
            for found in await rules(world)
        )
        assert all(pull.draft for pull in world.forge.pulls(REPO))


async def test_what_a_test_expects_may_change_where_the_issue_says_so_word_for_word() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts", f"And {WORDS}.")
        world.model_will(*CHANGES, submit("Both."))
        world.model.will(reviewed(quote=WORDS), when="You review one change")
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        [pull] = world.forge.pulls(REPO)
        assert "⚠️ **This changes what 1 test expects:**" in pull.body
        assert pull.body.index("This changes what") < pull.body.index("What the Minion says")


async def test_without_the_issues_words_it_is_sent_back() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(*CHANGES, submit("Both."))
        for _ in range(2):  # a quote that is not there is asked for once more
            world.model.will(reviewed(quote=WORDS), when="You review one change")
        world.model_will(submit("It was meant so."))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.CHECKS_UNAVAILABLE and "is not in the issue" in decision.body


async def test_without_a_review_a_person_says_whether_a_test_may_expect_something_else() -> None:
    async with made_world(checks={"review": False}) as world:
        await world.issue("add() subtracts")
        world.model_will(*CHANGES, submit("Both."))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.CHANGED_TESTS
        assert "-    assert double(4) == 8\n+    assert double(4) == 16" in decision.body
        await world.answer(decision, Verb.ACCEPT)
        await world.settle()
        assert "This changes what 1 test expects" in world.forge.pulls(REPO)[0].body


async def test_a_change_that_nothing_proves_is_asked_for_a_test_and_then_marked() -> None:
    async with made_world({**CALC, "calc.py": CALC["calc.py"].replace("a - b", "a + b")}) as world:
        await world.issue("double() is slow")
        world.model_will(edit("calc.py", "a * 2", "a + a"), submit("Faster."))
        world.model_will(submit("No test can show it."))
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await rules(world) == [["unproven"], ["unproven"]]
        body = world.forge.pulls(REPO)[0].body
        assert "⚠️ **unproven**: no test fails without this change." in body.splitlines()[2]
        started = [event for event in await world.events() if event == "check_started"]
        assert len(started) == 1, "an unchanged commit is not judged again"


async def test_where_proof_is_required_a_person_decides() -> None:
    files = {**CALC, "calc.py": CALC["calc.py"].replace("a - b", "a + b")}
    async with made_world(files, checks={"proof": "required"}) as world:
        await world.issue("double() is slow")
        world.model_will(edit("calc.py", "a * 2", "a + a"), submit("Faster."))
        vacuous = TEST + "\n\ndef test_twice():\n    assert double(2) == 4\n"
        world.model_will(write("tests/test_calc.py", vacuous), submit("There."))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.UNPROVEN
        assert "the new tests pass without this change as well (test_twice)" in decision.body


async def test_a_red_test_that_is_wrong_itself_may_be_mended_where_a_person_says_so() -> None:
    wrong = {**CALC, "calc.py": CALC["calc.py"].replace("a - b", "a + b")}
    wrong["tests/test_calc.py"] = TEST.replace("add(2, 2) == 4", "add(2, 2) == 5")
    async with made_world(wrong) as world:
        await world.issue("test_add expects 5 of 2 + 2")
        world.model_will(edit("tests/test_calc.py", "== 5", "== 4"), submit("The test was wrong."))
        for _ in range(2):
            world.model_will(submit("It is the test that is wrong."))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.CHANGED_TESTS
        assert "-    assert add(2, 2) == 5\n+    assert add(2, 2) == 4" in decision.body
        await world.answer(decision, Verb.ACCEPT)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert "**Tests that were red at base:**" in world.forge.pulls(REPO)[0].body


async def test_what_a_person_answered_may_be_quoted_like_the_issue() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(blocked("Is double() meant as well?"))
        await world.settle()
        [decision] = await world.decisions()
        world.model_will(*CHANGES, submit("Both."))
        world.model.will(reviewed(quote=WORDS), when="You review one change")
        await world.answer(decision, Verb.REPLY, WORDS)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
