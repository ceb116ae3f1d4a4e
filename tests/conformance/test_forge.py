"""What every forge does for the engine: the embedded one, the one in memory, and a real one where there is one."""

import os
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.repositories.forge import Pull
from overlord.errors import ForgeMissing, ForgeRefused
from tests.conformance.ground import KINDS, LIVE_VARIABLES, Ground, embedded_ground, live_ground

IMPLEMENTATIONS = [*KINDS] + ["live"] * all(os.environ.get(name) for name in LIVE_VARIABLES)


@pytest.fixture(params=IMPLEMENTATIONS)
async def ground(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ground]:
    kind, root = request.param, tmp_path / "forge"
    async with live_ground() if kind == "live" else embedded_ground(kind, root) as ground:
        yield ground


@pytest.fixture
def word() -> str:
    """Something no other run has used."""
    return secrets.token_hex(4)


async def open_pull(ground: Ground, branch: str, *, draft: bool = False) -> tuple[Pull, Sha]:
    sha = await ground.commit(branch)
    base = (await ground.forge.repository(ground.name)).default_branch
    pull = await ground.forge.open_pull(
        ground.name, branch=branch, base=base, title="A change", body="Why", draft=draft
    )
    return pull, sha


async def test_a_repository_is_described(ground: Ground) -> None:
    repository = await ground.forge.repository(ground.name)
    assert repository.name == ground.name
    assert repository.can_push
    assert repository.clone_url.endswith(f"/{ground.name}.git")


async def test_a_repository_that_is_not_there_is_missing(ground: Ground, word: str) -> None:
    owner = ground.name.split("/")[0]
    with pytest.raises(ForgeMissing):
        await ground.forge.repository(RepositoryName(f"{owner}/nothing-{word}"))
    with pytest.raises(ForgeMissing):
        await ground.forge.issue(ground.name, 99_999_999)


async def test_a_remote_has_its_credential_beside_the_address(ground: Ground) -> None:
    remote = await ground.forge.remote(ground.name)
    assert remote.url == (await ground.forge.repository(ground.name)).clone_url
    assert "@" not in remote.url
    assert remote.authorization.startswith("Basic ")
    assert remote.authorization not in repr(remote)


async def test_open_issues_with_a_label_are_listed_oldest_first(ground: Ground, word: str) -> None:
    label = f"ready/{word}: now"
    first = await ground.open_issue("First", labels=(label,))
    await ground.open_issue("Without")
    second = await ground.open_issue("Second", labels=(label, "other"))
    closed = await ground.open_issue("Closed", labels=(label,))
    await ground.close_issue(closed)
    pull, _ = await open_pull(ground, f"minion/{word}")
    await ground.forge.add_label(ground.name, pull.number, label)
    listed = await ground.forge.issues_labelled(ground.name, label)
    assert [(state.issue.number, state.issue.title, state.open) for state in listed] == [
        (first, "First", True),
        (second, "Second", True),
    ]
    assert set(listed[1].issue.labels) == {label, "other"}
    assert listed[0].created_at.utcoffset() is not None
    await ground.close_pull(pull.number)


async def test_a_label_nobody_has_is_on_no_issue(ground: Ground, word: str) -> None:
    assert await ground.forge.issues_labelled(ground.name, f"nobody/{word}") == []


async def test_labels_come_and_go_and_may_be_gone_already(ground: Ground, word: str) -> None:
    number = await ground.open_issue("Labels")
    for _ in range(2):
        await ground.forge.add_label(ground.name, number, f"in progress/{word}")
    assert (await ground.forge.issue(ground.name, number)).issue.labels == (f"in progress/{word}",)
    for _ in range(2):
        await ground.forge.remove_label(ground.name, number, f"in progress/{word}")
    assert (await ground.forge.issue(ground.name, number)).issue.labels == ()
    with pytest.raises(ForgeMissing):
        await ground.forge.remove_label(ground.name, 99_999_999, "anything")


async def test_an_issue_of_our_own_is_found_by_what_it_says(ground: Ground, word: str) -> None:
    before = (await ground.forge.issue(ground.name, await ground.open_issue("Before"))).created_at
    number = await ground.forge.open_issue(ground.name, title="Keep “x” away", body=f"Because · {word}")
    found = await ground.forge.issues_since(ground.name, before)
    assert [state.issue.number for state in found if word in state.issue.body] == [number]
    opened = await ground.forge.issue(ground.name, number)
    assert (opened.issue.title, opened.open, opened.issue.labels) == ("Keep “x” away", True, ())
    await ground.close_issue(number)


async def test_a_closed_issue_says_so(ground: Ground) -> None:
    number = await ground.open_issue("Done already")
    assert (await ground.forge.issue(ground.name, number)).open
    await ground.close_issue(number)
    assert not (await ground.forge.issue(ground.name, number)).open


async def test_a_comment_is_posted_once_and_edited_in_place(ground: Ground) -> None:
    number = await ground.open_issue("Talk")
    first = await ground.forge.add_comment(ground.name, number, "Working on it: \u00e9 \U0001f600")
    second = await ground.forge.add_comment(ground.name, number, "Second")
    await ground.forge.edit_comment(ground.name, first, "Done")
    comments = await ground.forge.comments(ground.name, number)
    assert [(comment_id, comment.body) for comment_id, comment in comments] == [
        (first, "Done"),
        (second, "Second"),
    ]
    assert comments[0][1].association in {"OWNER", "MEMBER", "COLLABORATOR", "NONE", "CONTRIBUTOR"}
    with pytest.raises(ForgeRefused):
        await ground.forge.add_comment(ground.name, number, "")


async def test_a_draft_becomes_a_pull_request_that_follows_its_branch(ground: Ground, word: str) -> None:
    branch = f"minion/issue-{word}"
    draft, sha = await open_pull(ground, branch, draft=True)
    assert (draft.draft, draft.open, draft.merged, draft.head_branch, draft.head_sha) == (
        True,
        True,
        False,
        branch,
        sha,
    )
    await ground.forge.mark_ready(draft)
    await ground.forge.edit_pull(ground.name, draft.number, title="Better", body="Because")
    newer = await ground.commit(branch)
    pull = await ground.forge.pull(ground.name, draft.number)
    assert (pull.draft, pull.title, pull.body, pull.head_sha) == (False, "Better", "Because", newer)
    await ground.close_pull(draft.number)
    assert not (await ground.forge.pull(ground.name, draft.number)).open


async def test_pull_requests_of_a_branch_are_found_open_and_closed_newest_first(
    ground: Ground, word: str
) -> None:
    branch = f"minion/issue-{word}"
    assert await ground.forge.pulls_from(ground.name, branch) == []
    first, _ = await open_pull(ground, branch)
    await ground.close_pull(first.number)
    second, _ = await open_pull(ground, branch)
    await open_pull(ground, f"{branch}-2")
    found = await ground.forge.pulls_from(ground.name, branch)
    assert [(pull.number, pull.open) for pull in found] == [(second.number, True), (first.number, False)]
    alone = await ground.forge.pull(ground.name, second.number)
    assert found[0] == replace(alone, mergeable=None), "a listing does not tell what merges"


async def test_a_pull_request_that_is_there_already_is_refused(ground: Ground, word: str) -> None:
    branch = f"minion/issue-{word}"
    await open_pull(ground, branch)
    with pytest.raises(ForgeRefused, match="already exists"):
        await open_pull(ground, branch)


async def test_a_pull_request_without_a_branch_or_a_change_is_refused(ground: Ground, word: str) -> None:
    base = (await ground.forge.repository(ground.name)).default_branch
    for branch in (f"nowhere-{word}", base):
        with pytest.raises(ForgeRefused):
            await ground.forge.open_pull(
                ground.name, branch=branch, base=base, title="Nothing", body="", draft=False
            )


@pytest.mark.parametrize("state", ["pending", "success", "failure", "error"])
async def test_a_status_is_set_and_a_long_description_is_shortened(
    ground: Ground, word: str, state: str
) -> None:
    sha = await ground.commit(f"minion/status-{word}")
    for description in ("", "Fine", "x" * 500):
        await ground.forge.set_status(
            ground.name, sha, state=state, context="overlord/evaluation", description=description
        )


async def test_a_status_of_no_commit_is_refused(ground: Ground) -> None:
    with pytest.raises(ForgeRefused):
        await ground.forge.set_status(
            ground.name, Sha("0" * 40), state="success", context="overlord/evaluation", description=""
        )
