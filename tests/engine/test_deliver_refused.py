"""What the forge will not take is put to a person once, with its own words; their answer tries it again or ends it."""

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.job import JobState
from overlord.engine.delivery import deliver
from overlord.engine.sessions import apply_answers
from overlord.errors import ForgeRefused
from tests.engine.between import forge_world
from tests.engine.by_hand import SPACE, job_by_hand, work_at_forge
from tests.quick import made_quick_world
from tests.world import REPO, World

SECRET = "ghp_" + "a" * 36
RULE = f"""error: GH013: Repository rule violations found for refs/heads/minion/issue-1.

- Commits must have verified signatures. Ask @octocat, and see <b>https://github.com/rules</b> {SECRET}
"""


async def finished_work(world: World, state: JobState) -> None:
    """A job whose work passed, or is judged, and is not at the forge on its own branch."""
    await job_by_hand(world, state, head_sha=await work_at_forge(world, "somebody/else"))


async def refused(world: World) -> Decision:
    await deliver.step(world.overlord.parts, await world.job())
    assert (await world.job()).state is JobState.WAITING
    [decision] = await world.decisions()
    assert decision.subject is Subject.DELIVERY_REFUSED
    return decision


async def test_a_push_that_a_rule_refuses_is_put_to_a_person_and_delivered_once_the_rule_is_gone() -> None:
    async with made_quick_world() as world:
        await world.start()
        await finished_work(world, JobState.DELIVERING)
        world.forge.refuse_pushes(REPO, RULE)
        decision = await refused(world)
        assert decision.verbs == (Verb.REDELIVER, Verb.TAKE_OVER, Verb.DROP)
        world.forge.take_pushes(REPO)
        await world.answer(decision, Verb.REDELIVER)
        assert await apply_answers.step(world.overlord.parts, await world.job())
        assert (await world.job()).state is JobState.DELIVERING
        await deliver.step(world.overlord.parts, await world.job())
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await world.decisions() == []


async def test_the_question_has_the_forges_words_as_a_quote_that_does_nothing_and_holds_no_secret() -> None:
    async with made_quick_world() as world:
        await world.start()
        await finished_work(world, JobState.DELIVERING)
        world.forge.refuse_pushes(REPO, RULE)
        decision = await refused(world)
        first, _, rest = decision.body.partition("\n\n")
        assert first == (
            "the forge refused the push to minion/issue-1: "
            "GH013: Repository rule violations found for refs/heads/minion/issue-1"
        )
        assert (await world.job()).reason == first
        assert "> - Commits must have verified signatures." in rest
        assert "Exempt branches below `minion/` from the rule" in rest
        assert rest.endswith("Then deliver it again.")
        assert "@octocat" not in rest and "<b>" not in rest and "https://" not in rest
        assert world.files_with(SECRET) == []


async def test_a_person_may_drop_what_cannot_be_pushed() -> None:
    async with made_quick_world() as world:
        await world.start()
        await finished_work(world, JobState.DELIVERING)
        world.forge.refuse_pushes(REPO, RULE)
        await world.answer(await refused(world), Verb.DROP)
        assert await apply_answers.step(world.overlord.parts, await world.job())
        assert (await world.job()).state is JobState.CANCELLED


async def test_a_draft_that_a_rule_refuses_does_not_hold_up_the_evaluation_and_delivery_asks() -> None:
    async with made_quick_world() as world:
        await world.start()
        await finished_work(world, JobState.EVALUATING)
        world.forge.refuse_pushes(REPO, RULE)
        parts = world.overlord.parts
        assert not await deliver.push_draft(parts, await world.job())
        pushes = sum(seen.operation == "git/receive-pack" for seen in world.forge.requests)
        assert not await deliver.push_draft(parts, await world.job()), "not tried in every pass"
        assert sum(seen.operation == "git/receive-pack" for seen in world.forge.requests) == pushes
        by_hand = "UPDATE jobs SET state = 'delivering'"
        await parts.database.write("by hand", lambda c: c.execute(by_hand))
        assert "GH013" in (await refused(world)).body
        assert await parts.git.remote_head(SPACE, await parts.forge.remote(SPACE), "minion/issue-1") is None


async def test_an_answer_lets_the_next_call_be_made_with_what_was_granted_before_it() -> None:
    async with forge_world() as (world, forge):
        await finished_work(world, JobState.DELIVERING)
        forge.fails("pulls_from", ForgeRefused("403 Resource not accessible by integration"))
        decision = await refused(world)
        renewed: list[str] = []
        forge.instead["renew_sign_in"] = lambda _, name: renewed.append(name)  # type: ignore[assignment, return-value]
        assert not await apply_answers.step(world.overlord.parts, await world.job())
        assert renewed == []
        await world.answer(decision, Verb.REDELIVER)
        assert await apply_answers.step(world.overlord.parts, await world.job())
        assert renewed == [SPACE]
