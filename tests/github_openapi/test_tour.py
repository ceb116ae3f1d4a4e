"""Every operation Overlord calls, called once as it calls them, and held against GitHub's description."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from overlord.adapters.github.access import GitHubPermissions
from overlord.adapters.github.operation import OPERATIONS
from overlord.domain.conversation.comment import Reaction
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.embedded.forge.forge import OWNER, EmbeddedForge
from overlord.embedded.server import serve
from overlord.errors import ForgeRefused
from tests.app_keys import keys
from tests.github_openapi.check import Recorder
from tests.github_openapi.description import find
from tests.github_openapi.regenerate import OUTSIDE

REPO = RepositoryName("demo/calc")
BRANCH = "minion/issue-1"
LABEL = "in progress/ü: now"
SINCE = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tour:
    """A forge that is listened to, and whoever asks it."""

    people: EmbeddedForge
    recorder: Recorder
    url: str
    asking: GitHubPermissions

    def succeeded(self) -> set[str]:
        """The operations that were answered with what was asked for."""
        met = ((find(item.method, item.path), item.status) for item in self.recorder.exchanges)
        return {found.name for found, status in met if found and status < 400}


@pytest.fixture
async def tour(tmp_path: Path) -> AsyncIterator[Tour]:
    people = EmbeddedForge(tmp_path / "forge")
    await people.create_repository(REPO, files={"a.txt": "a\n"})
    await people.open_issue(REPO, "One", "Text", labels=["ready"])
    recorder = Recorder(people)
    async with serve(recorder) as url:
        asking = GitHubPermissions.with_token(people.token, base_url=url, retry_wait_s=0)
        yield Tour(people=people, recorder=recorder, url=url, asking=asking)
        await asking.close()
    people.close()


async def the_issue(tour: Tour) -> None:
    asking = tour.asking
    await asking.repository(REPO)
    await asking.issues_labelled(REPO, "ready")
    await asking.issue(REPO, 1)
    await asking.open_issue(REPO, title="Of our own", body="Because")
    await asking.create_label(REPO, "made", color="ededed", description="By hand")
    await asking.labels(REPO)
    await asking.add_label(REPO, 1, LABEL)
    await asking.remove_label(REPO, 1, LABEL)
    await asking.labelling(REPO, 1, "ready")
    said = await asking.add_comment(REPO, 1, "Hello")
    await asking.edit_comment(REPO, said, "Hello again")
    await asking.react(REPO, said, Reaction.SEEN)
    await asking.comments(REPO, 1)
    await asking.comments_since(REPO, SINCE)
    await asking.may_write(REPO, OWNER)
    await asking.close_issue(REPO, 1)
    await asking.reopen_issue(REPO, 1)
    await asking.edit_issue(REPO, 1, title="One and a half", body="Tasks")
    first, second, _ = [await asking.open_issue(REPO, title=title, body="") for title in "ABC"]
    await asking.add_sub_issue(REPO, 1, first)
    await asking.sub_issues(REPO, 1)
    await asking.add_blocked_by(REPO, first, REPO, second)
    await asking.remove_blocked_by(REPO, first, REPO, second)
    await asking.close_issue(REPO, 1, "not_planned")


async def the_pull(tour: Tour) -> None:
    people, asking = tour.people, tour.asking
    sha = Sha(await people.push_files(REPO, BRANCH, {"a.txt": "b\n", "skills/a.yaml": "c\n"}, "Change"))
    pull = await asking.open_pull(REPO, branch=BRANCH, base="main", title="T", body="", draft=True)
    await asking.edit_pull(REPO, pull.number, title="Better", body="Because")
    await asking.mark_ready(pull)
    await asking.pulls_from(REPO, BRANCH)
    await asking.pull_files(REPO, pull.number)
    entries = await asking.folder(REPO, sha, "skills")
    await asking.blob(REPO, entries["a.yaml"].sha)
    await people.review(REPO, pull.number, state="commented", body="Hm", comments=[("a.txt", 1, "Why?")])
    await asking.reviews(REPO, pull.number)
    [remark] = await asking.review_comments(REPO, pull.number)
    await asking.answer_review_comment(REPO, pull.number, remark.id, "So")
    run = await people.check_run(REPO, sha, "test", log="Failed\n")
    await asking.set_status(REPO, sha, state="success", context="overlord/evaluation", description="Fine")
    await asking.checks_of(REPO, sha, but=())
    await asking.check_log(REPO, run, limit_bytes=100)
    await people.merge(REPO, pull.number)
    await asking.pull(REPO, pull.number)
    await asking.delete_branch(REPO, BRANCH)


async def the_refusals(tour: Tour) -> None:
    asking = tour.asking
    with pytest.raises(ForgeRefused):
        await asking.issue(REPO, 99)
    with pytest.raises(ForgeRefused):
        await asking.add_comment(REPO, 2, "")
    with pytest.raises(ForgeRefused):
        await asking.open_pull(REPO, branch="nowhere", base="main", title="T", body="", draft=False)


async def ourselves(tour: Tour) -> None:
    app = tour.people.add_app("overlord", keys()[1], [REPO])
    of_app = GitHubPermissions.with_app(str(app.id), keys()[0], base_url=tour.url, retry_wait_s=0)
    await of_app.identity(REPO)
    await of_app.remote(REPO)
    await of_app.close()
    await tour.asking.identity(REPO)
    await tour.asking.allowance(REPO)


async def test_every_operation_is_asked_and_answered_as_github_describes_it(tour: Tour) -> None:
    for part in (the_issue, the_pull, the_refusals, ourselves):
        await part(tour)
    assert tour.succeeded() == OPERATIONS.keys() - OUTSIDE
    assert tour.recorder.violations() == []
