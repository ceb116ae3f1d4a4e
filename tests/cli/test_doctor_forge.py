"""What `overlord doctor` says of GitHub: as whom, with which permissions, labels and how many requests are left."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from overlord.adapters.github.permission import PERMISSIONS
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.server import serve
from overlord.entrypoints.cli.command_list import app as overlord
from overlord.entrypoints.cli.main import run
from overlord.entrypoints.doctor import forge
from overlord.entrypoints.doctor.finding import Finding, Health
from overlord.settings.load import load
from overlord.settings.work import Labels
from tests.app_keys import keys, write_key

REPO, OTHER = "acme/calc", "acme/web"


@dataclass
class Ground:
    """A forge with two repositories, and an App that is installed on both."""

    people: EmbeddedForge
    url: str
    root: Path
    app_id: int
    environment: dict[str, str] = field(default_factory=dict)

    def as_app(self, app_id: int | None = None) -> "Ground":
        key = write_key(self.root / "key.pem")
        self.environment = {
            "GITHUB_APP_ID": str(app_id or self.app_id),
            "GITHUB_APP_PRIVATE_KEY_FILE": str(key),
        }
        return self

    def as_token(self, token: str = "") -> "Ground":
        self.environment = {"GITHUB_TOKEN": token or self.people.token}
        return self

    def variables(self) -> dict[str, str]:
        home = {"OVERLORD_HOME": str(self.root / "home"), "OVERLORD_REPOS": f"{REPO},{OTHER}"}
        return home | self.environment | {"GITHUB_API_URL": self.url}

    async def found(self, *, fix: bool = False, **other: Any) -> dict[str, Finding]:
        settings = load(self.variables(), **other)
        return {item.what: item for item in await forge.examine_forge(settings, fix=fix)}


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    people = EmbeddedForge(tmp_path / "forge")
    for name in (REPO, OTHER):
        await people.create_repository(name, files={"README.md": "# It\n"})
    app = people.add_app("overlord-acme", keys()[1], [REPO, OTHER])
    async with people.serve() as url:
        yield Ground(people, url, tmp_path, app.id)
    people.close()


async def test_an_app_with_everything_it_needs_is_well(ground: Ground) -> None:
    found = await ground.as_app().found(fix=True)
    assert {item.health for item in found.values()} == {Health.WELL}, found
    assert "as GitHub App overlord-acme, installed on acme (" in found[REPO].said
    assert found[f"{REPO} permissions"].said == (
        "Contents: read and write, Issues: read and write, Pull requests: read and write,"
        " Commit statuses: read and write, Checks: read-only, Actions: read-only, Metadata: read-only"
    )
    # Both repositories share one installation, and so one limit.
    assert [what for what in found if what.startswith("rate limit")] == ["rate limit overlord-acme on acme"]


async def test_what_an_app_lacks_is_named_with_where_to_set_it(ground: Ground) -> None:
    ground.people.permit_app(ground.app_id, **{**PERMISSIONS, "statuses": "read", "checks": "none"})
    finding = (await ground.as_app().found())[f"{REPO} permissions"]
    assert finding.health is Health.BAD
    assert (
        "lacks Commit statuses: read and write, Checks: read-only; add it on the App's page" in finding.said
    )
    assert "/organizations/acme/settings/installations/" in finding.said


async def test_permissions_are_told_even_where_nothing_else_can_be_asked(ground: Ground) -> None:
    ground.people.permit_app(ground.app_id, metadata="read")
    found = await ground.as_app().found()
    assert found[REPO].health is Health.WELL
    assert "lacks Contents: read and write" in found[f"{REPO} permissions"].said
    assert found[f"{REPO} labels"].health is Health.BAD
    assert "Resource not accessible by integration" in found[f"{REPO} labels"].said


async def test_an_app_that_is_suspended_gone_or_unknown_is_told_per_repository(ground: Ground) -> None:
    ground.people.suspend_app(ground.app_id)
    found = await ground.as_app().found()
    assert {found[name].health for name in (REPO, OTHER)} == {Health.BAD}
    assert f"for {OTHER} is suspended" in found[OTHER].said
    ground.people.uninstall_app(ground.app_id)
    found = await ground.found()
    assert f"is not installed on {OTHER}" in found[OTHER].said
    found = await ground.as_app(app_id=1).found()
    assert "check GITHUB_APP_ID" in found[REPO].said


async def test_a_key_others_can_read_is_a_warning(ground: Ground) -> None:
    ground.as_app()
    assert (await ground.found())["app key"].health is Health.WELL
    (ground.root / "key.pem").chmod(0o644)
    finding = (await ground.found())["app key"]
    assert finding.health is Health.WARN
    assert "chmod 600" in finding.said


async def test_a_key_that_cannot_sign_is_one_finding(ground: Ground) -> None:
    ground.as_app()
    (ground.root / "key.pem").write_text(
        "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"
    )
    found = await ground.found()
    assert set(found) == {"sign-in"}
    assert "GITHUB_APP_PRIVATE_KEY_FILE holds no RSA private key" in found["sign-in"].said


async def test_of_a_token_github_tells_only_whether_it_may_push(ground: Ground) -> None:
    finding = (await ground.as_token().found())[f"{REPO} permissions"]
    assert (finding.health, finding.said) == (
        Health.WELL,
        "the token may push; GitHub does not tell what else a token may",
    )
    ground.people.add_user("reader", "ghp_reader0123456789")
    await ground.people.create_repository("acme/open", files={"a": "a"}, private=False)
    found = await ground.as_token("ghp_reader0123456789").found(repositories=["acme/open"])
    assert found["acme/open permissions"].health is Health.BAD
    assert "it needs Contents: read and write" in found["acme/open permissions"].said
    assert "as reader" in found["acme/open"].said


async def test_a_github_that_cannot_be_reached_is_a_finding_and_nothing_else_is_on_the_screen(
    ground: Ground, unused_tcp_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    ground.url = f"http://127.0.0.1:{unused_tcp_port}"
    finding = (await ground.as_token().found())[REPO]
    assert (finding.health, finding.said) == (
        Health.BAD,
        f"GET /repos/{REPO}: 127.0.0.1:{unused_tcp_port} cannot be reached (Connection refused);"
        " check the network, firewall and proxy (ConnectError)",
    )
    assert capsys.readouterr() == ("", "")


async def test_labels_are_missed_made_and_then_there(ground: Ground) -> None:
    await ground.people.open_issue(REPO, "One", labels=["Nebulus-Ready", "needs-attention"])
    what = f"{REPO} labels"
    finding = (await ground.as_token().found())[what]
    assert (finding.health, finding.said) == (
        Health.WARN,
        "there is no in-progress, in-review, high-priority, skill-change; `overlord doctor --fix` makes them",
    )
    finding = (await ground.found(fix=True))[what]
    assert (finding.health, finding.said) == (
        Health.WELL,
        "made in-progress, in-review, high-priority, skill-change",
    )
    made = {label.name: (label.color, label.description) for label in ground.people.labels(REPO)}
    assert made["high-priority"] == ("b60205", "Overlord takes this before the others")
    assert len(made) == 6
    assert (await ground.found())[what].health is Health.WELL
    assert len(ground.people.labels(OTHER)) == 6


async def test_labels_that_may_not_be_made_are_bad(ground: Ground) -> None:
    ground.people.permit_app(ground.app_id, **{**PERMISSIONS, "issues": "read", "pull_requests": "read"})
    finding = (await ground.as_app().found(fix=True))[f"{REPO} labels"]
    assert finding.health is Health.BAD
    assert "issues=write" in finding.said


async def test_a_limit_that_is_nearly_reached_is_a_warning(ground: Ground) -> None:
    for later_s in (0, 3_600):  # another hour may begin in the middle
        ground.people.limit.spend("overlord-agent", ground.people.now().timestamp() + later_s, 4_550)
    finding = (await ground.as_token().found())["rate limit overlord-agent"]
    assert finding.health is Health.WARN
    assert " of 5,000 requests left, all again at " in finding.said
    ground.people.limit.per_hour = 50_000
    assert (await ground.found())["rate limit overlord-agent"].health is Health.WELL
    ground.people.fail("rate-limit/get", kind="404", times=9)
    assert (await ground.found())["rate limit overlord-agent"].said == "none at this server"


async def test_an_enterprise_server_has_its_api_below_a_path(ground: Ground) -> None:
    server = Starlette(routes=[Mount("/api/v3", app=ground.people)])
    async with serve(server) as url:
        ground.url = f"{url}/api/v3"
        for signed_in in (ground.as_app(), ground.as_token()):
            found = await signed_in.found(fix=True)
            assert {item.health for item in found.values()} == {Health.WELL}, found
    assert found[REPO].said == f"at {url}/api/v3, branch main, as overlord-agent"


def test_every_label_of_the_settings_has_its_colour_and_words() -> None:
    assert set(forge.LABELS) == set(Labels.model_fields)
    assert max(len(words) for _, words in forge.LABELS.values()) <= 100


def test_fix_is_typed_and_changes_the_exit_code_of_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OVERLORD_HOME", str(tmp_path))
    monkeypatch.setenv("OVERLORD_REPOS", REPO)
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    with pytest.raises(SystemExit) as ended:
        run(lambda: overlord(["doctor", "--fix", "--json"]))
    assert ended.value.code == 1
    findings = {item["what"]: item for item in json.loads(capsys.readouterr().out)}
    assert findings[REPO]["said"] == forge.NO_SIGN_IN
