"""What GitHub says about ourselves: as whom we are signed in, what is left of the limit, which labels there are."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from overlord.adapters.github.access import GitHubPermissions
from overlord.adapters.github.requests import READ_ATTEMPTS
from overlord.domain.identifiers import RepositoryName
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.record import Grant
from overlord.errors import ForgeRefused, ForgeUnavailable
from tests.app_keys import keys

REPO = RepositoryName("demo/calc")


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[EmbeddedForge]:
    forge = EmbeddedForge(tmp_path / "forge")
    await forge.create_repository(REPO, files={"calc.py": "x = 1\n"})
    yield forge
    forge.close()


@pytest.fixture
async def url(people: EmbeddedForge) -> AsyncIterator[str]:
    async with people.serve() as url:
        yield url


@pytest.fixture
async def standing(people: EmbeddedForge, url: str) -> AsyncIterator[GitHubPermissions]:
    standing = GitHubPermissions.with_token(people.token, base_url=url, retry_wait_s=0)
    yield standing
    await standing.close()


@pytest.fixture
async def of_app(people: EmbeddedForge, url: str) -> AsyncIterator[GitHubPermissions]:
    app = people.add_app("overlord", keys()[1], [REPO])
    standing = GitHubPermissions.with_app(str(app.id), keys()[0], base_url=url, retry_wait_s=0)
    yield standing
    await standing.close()


async def test_a_token_is_its_account_and_says_nothing_of_permissions(standing: GitHubPermissions) -> None:
    identity = await standing.identity(REPO)
    assert (identity.shown, identity.permissions) == ("overlord-agent", None)


async def test_an_app_is_its_installation_with_what_it_was_granted(
    people: EmbeddedForge, of_app: GitHubPermissions
) -> None:
    identity = await of_app.identity(REPO)
    assert identity.shown.startswith("GitHub App overlord, installed on demo (")
    assert (identity.permissions or {})["contents"] == "write"
    assert "/settings/installations/" in identity.settings_url
    # What GitHub says of accounts it does not say of apps.
    assert not (await of_app.repository(REPO)).can_push


async def test_a_token_of_an_app_alone_belongs_to_no_account(
    people: EmbeddedForge, of_app: GitHubPermissions, url: str
) -> None:
    await of_app.labels(REPO)
    [grant] = people.records.all(Grant)
    borrowed = GitHubPermissions.with_token(grant.token, base_url=url, retry_wait_s=0)
    assert "no account" in (await borrowed.identity(REPO)).shown
    await borrowed.close()


async def test_a_wrong_token_is_nobodys(url: str) -> None:
    wrong = GitHubPermissions.with_token("wrong", base_url=url, retry_wait_s=0)
    with pytest.raises(ForgeRefused, match="GITHUB_TOKEN"):
        await wrong.identity(REPO)
    await wrong.close()


async def test_what_is_left_of_the_limit_is_told_without_costing_any(
    people: EmbeddedForge, standing: GitHubPermissions
) -> None:
    hours = (people.now().timestamp(), people.now().timestamp() + 3_600)  # another may begin in the middle
    for moment in hours:
        people.limit.spend("overlord-agent", moment, 4_900)
    for _ in range(2):
        left = await standing.allowance(REPO)
        assert left is not None
        assert (left.limit, left.remaining) == (5_000, 100)
        assert left.resets_at.timestamp() in {people.limit.resets_at(moment) for moment in hours}


async def test_a_server_without_a_limit_has_none(people: EmbeddedForge, standing: GitHubPermissions) -> None:
    people.fail("rate-limit/get", kind="404", times=2)
    assert await standing.allowance(REPO) is None


async def test_labels_are_listed_to_the_last_page_and_made_once(
    people: EmbeddedForge, standing: GitHubPermissions
) -> None:
    for number in range(120):
        await standing.create_label(REPO, f"label {number}", color="0e8a16", description="One of many")
    await standing.create_label(REPO, "LABEL 7", color="ffffff", description="The same")
    assert len(await standing.labels(REPO)) == 120
    [made] = [label for label in people.labels(REPO) if label.name == "label 7"]
    assert (made.color, made.description) == ("0e8a16", "One of many")


async def test_a_label_that_is_refused_is_an_error(standing: GitHubPermissions) -> None:
    with pytest.raises(ForgeRefused, match="color"):
        await standing.create_label(REPO, "odd", color="green", description="")


@pytest.mark.parametrize(
    "operation", ["users/get-authenticated", "rate-limit/get", "issues/list-labels-for-repo"]
)
async def test_a_far_end_that_does_not_answer_is_told_from_one_that_says_no(
    people: EmbeddedForge, standing: GitHubPermissions, operation: str
) -> None:
    people.fail(operation, kind="502-html", times=READ_ATTEMPTS)
    ask = {
        "users/get-authenticated": standing.identity,
        "rate-limit/get": standing.allowance,
        "issues/list-labels-for-repo": standing.labels,
    }[operation]
    with pytest.raises(ForgeUnavailable):
        await ask(REPO)
