"""Signing in as a GitHub App: one refresh for many waiters, tokens for one repository, and none that is too old."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from overlord.adapters.credentials import AppCredentials
from overlord.adapters.github import GitHubForge
from overlord.adapters.github_client import GitHubClient
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.record import Grant
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable, SettingsError
from overlord.ports import RepositoryName

REPO, OTHER = RepositoryName("demo/calc"), RepositoryName("demo/other")
MINT = "apps/create-installation-access-token"


@cache
def keys() -> tuple[str, str]:
    """A private key and its public half, as PEM."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    secret = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return secret.decode(), public.decode()


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
        return list(self.people.shelf.all(Grant))


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
    credentials = AppCredentials(client, app_id=world.app_id, private_key=keys()[0], now=world.now)
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
    world.people.fail("issues/create-comment", kind="401", times=2)
    with pytest.raises(ForgeRefused, match="sign-in"):
        await forge.add_comment(REPO, 1, "Again")
    assert [comment.body for comment in world.people.comments(REPO, 1)] == ["Hello"]


async def test_each_git_operation_has_a_token_of_its_own(world: World, forge: GitHubForge) -> None:
    first, second = await forge.remote(REPO), await forge.remote(REPO)
    assert first.authorization != second.authorization


async def test_where_the_app_is_not_installed_there_is_nothing(world: World, forge: GitHubForge) -> None:
    with pytest.raises(ForgeMissing):
        await forge.issue(OTHER, 1)
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
