"""What others say of a pull request at a forge: reviews, comments on the diff, checks and their logs; and its end."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.repositories.forge import FailedCheck, ReviewState
from overlord.embedded.forge.forge import OWNER, EmbeddedForge
from overlord.errors import ForgeMissing, ForgeRefused
from overlord.ports.forge import Forge
from tests.conformance.ground import KINDS, far_end
from tests.turning import WorldClock

NAME = RepositoryName("demo/reviews")
BRANCH = "minion/issue-1"
LINES = "one\ntwo\nthree\nfour\n"


@dataclass
class Ground:
    """A repository with one pull request, which people look at."""

    people: EmbeddedForge
    forge: Forge
    clock: WorldClock
    pull: int

    async def push(self, content: str, *, branch: str = BRANCH) -> Sha:
        return Sha(await self.people.push_files(NAME, branch, {"a.txt": content}, "Change"))

    async def head(self) -> Sha:
        return Sha((await self.forge.pull(NAME, self.pull)).head_sha)


@pytest.fixture(params=KINDS)
async def ground(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ground]:
    clock = WorldClock()
    async with far_end(request.param, tmp_path / "forge", clock.now) as end:
        await end.people.create_repository(NAME, files={"a.txt": "a\n"})
        await end.people.push_files(NAME, BRANCH, {"a.txt": LINES}, "Change")
        pull = await end.forge.open_pull(NAME, branch=BRANCH, base="main", title="T", body="", draft=False)
        yield Ground(end.people, end.forge, clock, pull.number)


async def test_reviews_are_told_with_who_said_what_of_which_commit(ground: Ground) -> None:
    assert await ground.forge.reviews(NAME, ground.pull) == []
    ground.people.add_user("helpful[bot]", bot=True)
    head, at = await ground.head(), ground.clock.now()
    first = await ground.people.review(NAME, ground.pull, state="changes_requested", body="Why?")
    ground.clock.move(60)
    await ground.push(LINES + "five\n")
    second = await ground.people.review(NAME, ground.pull, author="helpful[bot]", state="approved")
    found = await ground.forge.reviews(NAME, ground.pull)
    assert [(item.id, item.author, item.is_bot, item.state, item.body) for item in found] == [
        (first, OWNER, False, ReviewState.CHANGES_REQUESTED, "Why?"),
        (second, "helpful[bot]", True, ReviewState.APPROVED, ""),
    ]
    assert [(item.head_sha, item.at) for item in found] == [
        (head, at),
        (await ground.head(), ground.clock.now()),
    ]
    await ground.people.dismiss_review(NAME, first)
    assert (await ground.forge.reviews(NAME, ground.pull))[0].state is ReviewState.DISMISSED


async def test_all_pages_of_reviews_and_comments_are_read(ground: Ground) -> None:
    remarks = [("a.txt", 1, f"Number {number}") for number in range(130)]
    for number in range(130):
        await ground.people.review(NAME, ground.pull, state="commented", body=f"Number {number}")
    await ground.people.review(NAME, ground.pull, state="commented", comments=remarks)
    reviews = await ground.forge.reviews(NAME, ground.pull)
    assert [item.body for item in reviews] == [*(f"Number {number}" for number in range(130)), ""]
    found = await ground.forge.review_comments(NAME, ground.pull)
    assert [item.body for item in found] == [text for _, _, text in remarks]


async def test_a_comment_on_a_line_follows_it_until_it_is_changed(ground: Ground) -> None:
    remarks = (("a.txt", 2, "On two"), ("a.txt", 4, "On four"))
    await ground.people.review(NAME, ground.pull, state="commented", comments=remarks)
    await ground.push("zero\n" + LINES.replace("two", "2"))
    found = await ground.forge.review_comments(NAME, ground.pull)
    assert [(item.path, item.line, item.body, item.author) for item in found] == [
        ("a.txt", None, "On two", OWNER),
        ("a.txt", 5, "On four", OWNER),
    ]


async def test_an_answer_is_in_the_thread_of_what_it_answers(ground: Ground) -> None:
    await ground.people.review(NAME, ground.pull, state="commented", comments=(("a.txt", 1, "Why?"),))
    [first] = await ground.forge.review_comments(NAME, ground.pull)
    answer = await ground.forge.answer_review_comment(NAME, ground.pull, first.id, "Because.")
    theirs = await ground.people.review_reply(NAME, ground.pull, first.id, "I see.")
    found = await ground.forge.review_comments(NAME, ground.pull)
    assert [(item.id, item.thread, item.author, item.body) for item in found] == [
        (first.id, first.id, OWNER, "Why?"),
        (answer, first.id, "overlord-agent", "Because."),
        (theirs, first.id, OWNER, "I see."),
    ]
    with pytest.raises(ForgeRefused):
        await ground.forge.answer_review_comment(NAME, ground.pull, answer, "And so on")
    with pytest.raises(ForgeMissing):
        await ground.forge.answer_review_comment(NAME, ground.pull, 99_999_999, "Nowhere")


async def test_a_commit_nobody_checks_has_no_checks(ground: Ground) -> None:
    checks = await ground.forge.checks_of(NAME, await ground.head(), but=())
    assert (checks.is_pending, checks.failed) == (False, ())
    with pytest.raises(ForgeRefused):
        await ground.forge.checks_of(NAME, Sha("0" * 40), but=())


async def test_what_failed_is_told_with_what_it_says_of_itself(ground: Ground) -> None:
    head = await ground.head()
    job = await ground.people.check_run(NAME, head, "build", title="It broke", summary="In two places")
    await ground.people.check_run(NAME, head, "other", app="elsewhere", conclusion="timed_out")
    for conclusion in ("success", "neutral", "cancelled", "skipped", "action_required", "stale"):
        await ground.people.check_run(NAME, head, conclusion, conclusion=conclusion)
    await ground.forge.set_status(NAME, head, state="error", context="ci", description="No machine")
    await ground.forge.set_status(NAME, head, state="failure", context="ours", description="Ours")
    checks = await ground.forge.checks_of(NAME, head, but=("ours",))
    assert not checks.is_pending
    assert sorted(checks.failed, key=lambda item: item.name) == [
        FailedCheck(name="build", summary="It broke\nIn two places", log=job),
        FailedCheck(name="ci", summary="No machine"),
        FailedCheck(name="other", summary=""),
    ]


async def test_only_the_newest_of_each_check_counts(ground: Ground) -> None:
    head = await ground.head()
    await ground.people.check_run(NAME, head, "build")
    again = await ground.people.check_run(NAME, head, "build", status="queued")
    await ground.forge.set_status(NAME, head, state="failure", context="ci", description="")
    await ground.forge.set_status(NAME, head, state="pending", context="ci", description="")
    checks = await ground.forge.checks_of(NAME, head, but=())
    assert (checks.is_pending, checks.failed) == (True, ())
    assert again == await ground.people.check_run(NAME, head, "build", conclusion="success")
    assert (await ground.forge.checks_of(NAME, head, but=())).is_pending, "the status is"
    assert not (await ground.forge.checks_of(NAME, head, but=("ci",))).is_pending


async def test_all_pages_of_checks_are_read(ground: Ground) -> None:
    head = await ground.head()
    for number in range(130):
        await ground.people.check_run(NAME, head, f"check {number}")
        await ground.forge.set_status(NAME, head, state="failure", context=f"ci {number}", description="")
    assert len((await ground.forge.checks_of(NAME, head, but=())).failed) == 260


async def test_the_end_of_a_jobs_log_is_read(ground: Ground) -> None:
    head = await ground.head()
    log = "".join(f"line {number} ü\n" for number in range(50_000))
    job = await ground.people.check_run(NAME, head, "build", log=log)
    tail = await ground.forge.check_log(NAME, job, limit_bytes=1_000)
    assert tail == log.encode()[-1_000:].decode(errors="replace")
    assert await ground.forge.check_log(NAME, job, limit_bytes=1_000_000) == log
    [failed] = (await ground.forge.checks_of(NAME, head, but=())).failed
    assert failed.log == job


async def test_a_log_that_cannot_be_had_is_empty(ground: Ground) -> None:
    head = await ground.head()
    without = await ground.people.check_run(NAME, head, "build")
    elsewhere = await ground.people.check_run(NAME, head, "other", app="elsewhere", log="Some")
    going_on = await ground.people.check_run(NAME, head, "slow", status="in_progress", log="Some")
    for job in (without, elsewhere, going_on, 99_999_999):
        assert await ground.forge.check_log(NAME, job, limit_bytes=1_000) == ""


async def test_an_issue_is_closed_as_done_however_often(ground: Ground) -> None:
    number = await ground.people.open_issue(NAME, "One")
    for _ in range(2):
        await ground.forge.close_issue(NAME, number)
    issue = ground.people.issue(NAME, number)
    assert (issue.open, issue.state_reason) == (False, "completed")
    assert [item.event for item in ground.people.occurrences(issue)] == ["closed"]
    with pytest.raises(ForgeMissing):
        await ground.forge.close_issue(NAME, 99_999_999)


async def test_a_branch_is_deleted_and_may_be_gone_already(ground: Ground) -> None:
    for _ in range(2):
        await ground.forge.delete_branch(NAME, BRANCH)
    assert set(await ground.people.heads(NAME)) == {"main"}
    assert not (await ground.forge.pull(NAME, ground.pull)).open
    with pytest.raises(ForgeMissing):
        await ground.forge.delete_branch(RepositoryName("demo/nothing"), BRANCH)


async def test_no_branch_but_a_minions_is_deleted(ground: Ground) -> None:
    await ground.push("mine\n", branch="mine")
    for branch in ("mine", "main", "minion"):
        with pytest.raises(ForgeRefused):
            await ground.forge.delete_branch(NAME, branch)
    assert {"mine", "main"} <= set(await ground.people.heads(NAME))


async def test_a_pull_request_tells_whether_it_merges(ground: Ground) -> None:
    assert (await ground.forge.pull(NAME, ground.pull)).mergeable is True
    await ground.push("other\n", branch="main")
    assert (await ground.forge.pull(NAME, ground.pull)).mergeable is False
    [listed] = await ground.forge.pulls_from(NAME, BRANCH)
    assert listed.mergeable is None
    await ground.people.close_pull(NAME, ground.pull)
    assert (await ground.forge.pull(NAME, ground.pull)).mergeable is None
