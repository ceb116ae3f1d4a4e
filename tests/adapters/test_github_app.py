"""Signing in as a GitHub App: one refresh for many waiters, tokens for one repository, and none that is too old."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from overlord.adapters.github.client import GitHubClient
from overlord.adapters.github.credentials import AppCredentials
from overlord.adapters.github.forge import GitHubForge
from overlord.domain.identifiers import RepositoryName
from overlord.domain.launch import Remote
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.record import Grant
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable, SettingsError
from tests.app_keys import keys

REPO, OTHER = RepositoryName("demo/calc"), RepositoryName("demo/other")
MINT, LOOK_UP = "apps/create-installation-access-token", "apps/get-repo-installation"


@dataclass(slots=True)
class World:
    """A forge with an app on one of its two repositories, and a clock both sides read."""

    people: EmbeddedForge
    url: str
    app_id: str
    at: datetime

    def now(self) -> datetime:
        return self.at

    def minted(self) -> list[Grant]:
        return list(self.people.records.all(Grant))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(people=None, url="", app_id="", at=datetime.now(UTC))  # type: ignore[arg-type]
    world.people = EmbeddedForge(tmp_path / "forge", now=world.now)
    for name in (REPO, OTHER):
        await world.people.create_repository(name, files={"a": "a"})
        await world.people.open_issue(name, "One")
    world.app_id = str(world.people.add_app("overlord", keys()[1], [REPO]).id)
    async with world.people.serve() as world.url:
        yield world
    world.people.close()


@pytest.fixture
async def forge(world: World) -> AsyncIterator[GitHubForge]:
    client = GitHubClient(world.url, now=world.now)
    credentials = AppCredentials(
        client, app_id=world.app_id, private_key=keys()[0], retry_wait_s=0, now=world.now
    )
    forge = GitHubForge(client, credentials, retry_wait_s=0)
    yield forge
    await forge.close()


async def test_fifty_who_wait_share_one_token(world: World, forge: GitHubForge) -> None:
    await asyncio.gather(*(forge.issue(REPO, 1) for _ in range(50)))
    assert len(world.minted()) == 1
    assert world.minted()[0].repositories == (REPO,)


async def test_the_app_acts_as_its_bot(world: World, forge: GitHubForge) -> None:
    await forge.add_comment(REPO, 1, "Hello")
    [comment] = world.people.comments(REPO, 1)
    assert (comment.author, world.people.user(comment.author).kind) == ("overlord[bot]", "Bot")


async def test_a_token_is_replaced_before_it_is_too_old(world: World, forge: GitHubForge) -> None:
    world.people.grant_lifetime_s = 60
    for passed_s in (0, 30, 30, 60):
        world.at += timedelta(seconds=passed_s)
        await forge.issue(REPO, 1)
    assert len(world.minted()) == 3
    assert 401 not in [seen.status for seen in world.people.requests]


async def test_a_refused_token_is_replaced_once(world: World, forge: GitHubForge) -> None:
    await forge.issue(REPO, 1)
    world.people.fail("issues/create-comment", kind="401")
    await forge.add_comment(REPO, 1, "Hello")
    assert len(world.minted()) == 2
    world.people.fail("issues/create-comment", kind="401", times=4)
    with pytest.raises(ForgeRefused, match="sign-in"):
        await forge.add_comment(REPO, 1, "Again")
    assert [comment.body for comment in world.people.comments(REPO, 1)] == ["Hello"]


async def test_each_git_operation_has_a_token_of_its_own(world: World, forge: GitHubForge) -> None:
    first, second = await forge.remote(REPO), await forge.remote(REPO)
    assert first.authorization != second.authorization


async def test_where_the_app_is_not_installed_there_is_nothing(world: World, forge: GitHubForge) -> None:
    with pytest.raises(ForgeRefused, match="not installed on demo/other") as refusal:
        await forge.issue(OTHER, 1)
    # That says nothing about the issue, which may well be there.
    assert not isinstance(refusal.value, ForgeMissing)
    # A token for one repository does not open another.
    await forge.issue(REPO, 1)
    borrowed = GitHubForge.with_token(world.minted()[0].token, base_url=world.url)
    with pytest.raises(ForgeMissing):
        await borrowed.issue(OTHER, 1)
    await borrowed.close()


async def test_a_token_that_cannot_be_had_now_fails_all_who_wait_and_is_had_later(
    world: World, forge: GitHubForge
) -> None:
    world.people.fail(MINT, kind="500")
    outcomes = await asyncio.gather(
        *(forge.add_comment(REPO, 1, "Hello") for _ in range(5)), return_exceptions=True
    )
    assert {type(outcome) for outcome in outcomes} == {ForgeUnavailable}
    await forge.add_comment(REPO, 1, "Hello")
    assert len(world.minted()) == 1


async def test_a_waiter_who_gives_up_does_not_take_the_token_from_the_others(
    world: World, forge: GitHubForge
) -> None:
    impatient = asyncio.create_task(forge.issue(REPO, 1))
    patient = asyncio.create_task(forge.issue(REPO, 1))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).issue.number == 1
    assert len(world.minted()) == 1


async def test_another_apps_key_is_refused(world: World) -> None:
    strangers = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    forge = GitHubForge.with_app(world.app_id, strangers.decode(), base_url=world.url, retry_wait_s=0)
    with pytest.raises(ForgeRefused, match="sign-in"):
        await forge.issue(REPO, 1)
    await forge.close()


@pytest.mark.parametrize(
    "key", ["", "no key", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----"]
)
async def test_a_file_that_is_no_key_is_found_out_at_start(key: str) -> None:
    with pytest.raises(SettingsError, match="GITHUB_APP_PRIVATE_KEY_FILE"):
        GitHubForge.with_app("1", key)


async def test_neither_key_nor_token_is_in_what_is_shown(world: World, forge: GitHubForge) -> None:
    await forge.issue(REPO, 1)
    shown = repr(vars(forge._credentials)) + repr(world.minted())
    assert world.minted()[0].token not in shown


# What is known of the installation


async def test_an_installation_is_looked_up_once_in_an_hour(world: World, forge: GitHubForge) -> None:
    for passed_m in (0, 1, 30, 28):
        world.at += timedelta(minutes=passed_m)
        await forge.remote(REPO)
    assert looked_up(world) == 1
    world.at += timedelta(minutes=2)
    await forge.remote(REPO)
    assert looked_up(world) == 2


def looked_up(world: World) -> int:
    return [seen.operation for seen in world.people.requests].count(LOOK_UP)


@pytest.mark.parametrize("status", ["401", "404"])
async def test_an_installation_that_is_another_now_is_looked_up_again_once(
    world: World, forge: GitHubForge, status: str
) -> None:
    await forge.remote(REPO)
    world.people.fail(MINT, kind=status, times=2)
    await forge.remote(REPO)
    assert (looked_up(world), len(world.minted())) == (2, 2)
    world.people.fail(MINT, kind=status, times=4)
    with pytest.raises(ForgeRefused):
        await forge.remote(REPO)
    assert looked_up(world) == 3


@pytest.mark.parametrize("operation", [MINT, LOOK_UP])
@pytest.mark.parametrize("status", ["401", "403", "404"])
async def test_a_refusal_of_the_sign_in_counts_when_it_is_said_twice(
    world: World, forge: GitHubForge, operation: str, status: str
) -> None:
    world.people.fail(operation, kind=status)
    assert (await forge.remote(REPO)).authorization
    world.at += timedelta(hours=2)
    world.people.fail(operation, kind=status, times=2)
    with pytest.raises(ForgeRefused):
        await forge.remote(REPO)
    assert world.people.wire.faults.take(operation) is None


async def test_a_removed_installation_is_refused_and_found_again_when_it_is_back(
    world: World, forge: GitHubForge
) -> None:
    await forge.add_comment(REPO, 1, "Before")
    world.people.uninstall_app(int(world.app_id))
    for act in (forge.issue(REPO, 1), forge.remote(REPO)):
        with pytest.raises(ForgeRefused, match="is not installed on demo/calc") as refusal:
            await act
        assert not isinstance(refusal.value, ForgeMissing)
    world.people.install_app(int(world.app_id))
    await forge.add_comment(REPO, 1, "After")
    assert (await forge.remote(REPO)).authorization


async def test_a_suspended_installation_says_where_to_unsuspend_it(world: World, forge: GitHubForge) -> None:
    await forge.issue(REPO, 1)
    world.people.suspend_app(int(world.app_id))
    with pytest.raises(ForgeRefused, match="suspended"):
        await forge.issue(REPO, 1)
    with pytest.raises(ForgeRefused, match=r"demo/calc is suspended; .* at http.*/settings/installations/"):
        await forge.remote(REPO)
    world.people.suspend_app(int(world.app_id), suspended=False)
    assert (await forge.issue(REPO, 1)).open
    assert (await forge.remote(REPO)).authorization


async def test_an_app_nobody_registered_is_named(world: World) -> None:
    forge = GitHubForge.with_app("1", keys()[0], base_url=world.url, retry_wait_s=0, now=world.now)
    with pytest.raises(ForgeRefused, match="no App with the id 1; check GITHUB_APP_ID"):
        await forge.issue(REPO, 1)
    await forge.close()


# What a token may do


async def test_a_token_for_git_can_do_nothing_else_and_is_not_used_for_anything_else(
    world: World, forge: GitHubForge
) -> None:
    await forge.remote(REPO)
    await forge.add_comment(REPO, 1, "Hello")
    for_git, for_all = world.minted()
    assert (for_git.repositories, dict(for_git.permissions)) == (
        (REPO,),
        {"contents": "write", "metadata": "read"},
    )
    assert dict(for_all.permissions) == dict(world.people.app(int(world.app_id)).permissions)
    borrowed = GitHubForge.with_token(for_git.token, base_url=world.url, retry_wait_s=0)
    with pytest.raises(ForgeRefused, match=r"403 Resource not accessible by integration .*issues=write"):
        await borrowed.add_comment(REPO, 1, "Hello")
    with pytest.raises(ForgeRefused, match="403"):
        await borrowed.issue(REPO, 1)
    await borrowed.close()


async def test_a_token_for_git_may_change_workflows_where_somebody_granted_that(
    world: World, forge: GitHubForge
) -> None:
    world.people.permit_app(int(world.app_id), contents="write", metadata="read", workflows="write")
    await forge.remote(REPO)
    assert dict(world.minted()[0].permissions) == {
        "contents": "write",
        "workflows": "write",
        "metadata": "read",
    }


async def test_a_missing_permission_is_named_before_git_is_asked_and_found_once_granted(
    world: World, forge: GitHubForge
) -> None:
    world.people.permit_app(int(world.app_id), contents="read", metadata="read", issues="write")
    with pytest.raises(ForgeRefused, match=r"lacks Contents: read and write; .*/settings/installations/"):
        await forge.remote(REPO)
    world.people.permit_app(int(world.app_id), contents="write", metadata="read", issues="write")
    assert (await forge.remote(REPO)).authorization


async def test_a_permission_that_was_granted_meanwhile_is_used_at_once(
    world: World, forge: GitHubForge
) -> None:
    app, lacking = int(world.app_id), {"contents": "write", "metadata": "read", "issues": "write"}
    world.people.permit_app(app, **lacking)
    with pytest.raises(ForgeRefused, match="one of: pull_requests=read"):
        await forge.pulls_from(REPO, "minion/issue-1")
    world.people.permit_app(app, **lacking, pull_requests="write")
    assert await forge.pulls_from(REPO, "minion/issue-1") == []
    made = len(world.minted())
    await forge.pulls_from(REPO, "minion/issue-1")
    assert len(world.minted()) == made, "what may do what it is used for is used again"


async def test_a_permission_that_graphql_wants_is_used_at_once_too(world: World, forge: GitHubForge) -> None:
    app = int(world.app_id)
    branch = await world.people.push_files(REPO, "minion/issue-1", {"a": "b"}, "Change")
    pull = await forge.open_pull(
        REPO, branch="minion/issue-1", base="main", title="Change", body=branch, draft=True
    )
    lacking = {"contents": "read", "metadata": "read", "issues": "write", "pull_requests": "write"}
    world.people.permit_app(app, **lacking)
    forge.renew_sign_in(REPO)
    with pytest.raises(ForgeRefused, match="Resource not accessible by integration"):
        await forge.mark_ready(replace(pull, url=f"https://forge/{REPO}/pull/{pull.number}"))
    world.people.permit_app(app, **(lacking | {"contents": "write"}))
    await forge.mark_ready(replace(pull, url=f"https://forge/{REPO}/pull/{pull.number}"))
    assert not (await forge.pull(REPO, pull.number)).draft


async def test_once_a_person_has_answered_git_may_what_was_granted_since(
    world: World, forge: GitHubForge
) -> None:
    app, enough = int(world.app_id), {"contents": "write", "metadata": "read"}
    world.people.permit_app(app, **enough)
    await forge.remote(REPO)
    world.people.permit_app(app, **enough, workflows="write")
    forge.renew_sign_in(REPO)
    await forge.remote(REPO)
    assert "workflows" in world.minted()[-1].permissions


async def test_ten_pushes_at_once_have_ten_tokens_and_reads_beside_them_share_one(
    world: World, forge: GitHubForge
) -> None:
    remotes = [forge.remote(REPO) for _ in range(10)]
    made = await asyncio.gather(*remotes, *(forge.issue(REPO, 1) for _ in range(10)))
    assert len({remote.authorization for remote in made[:10] if isinstance(remote, Remote)}) == 10
    assert len(world.minted()) == 11


# Clocks


@pytest.mark.parametrize(
    ("ahead_s", "works"), [(-520, True), (-50, True), (0, True), (55, True), (90, False), (-600, False)]
)
async def test_a_clock_that_is_a_minute_fast_or_some_slow_still_signs_in(
    world: World, ahead_s: int, works: bool
) -> None:
    forge = GitHubForge.with_app(
        world.app_id,
        keys()[0],
        base_url=world.url,
        retry_wait_s=0,
        now=lambda: world.at + timedelta(seconds=ahead_s),
    )
    if works:
        assert (await forge.issue(REPO, 1)).open
    else:
        with pytest.raises(ForgeRefused, match="this machine's clock"):
            await forge.issue(REPO, 1)
    await forge.close()


@pytest.mark.parametrize(("lives_s", "used_s"), [(3600, 3290), (60, 47)])
async def test_a_token_is_used_until_shortly_before_it_expires(
    world: World, forge: GitHubForge, lives_s: int, used_s: int
) -> None:
    world.people.grant_lifetime_s = lives_s
    await forge.issue(REPO, 1)
    world.at += timedelta(seconds=used_s)
    await forge.issue(REPO, 1)
    assert len(world.minted()) == 1
    world.at += timedelta(seconds=lives_s / 10)
    await forge.issue(REPO, 1)
    assert len(world.minted()) == 2
    assert 401 not in [seen.status for seen in world.people.requests]
