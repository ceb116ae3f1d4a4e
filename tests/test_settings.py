"""Settings: defaults, one file, the environment; every refusal names the key and where it was said."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from overlord.config_files import packaged
from overlord.domain.repositories.extent import Extent
from overlord.errors import ContractError, SettingsError
from overlord.settings.env import ENVIRONMENT, check_socket_path
from overlord.settings.load import Settings, contract_for, load

CANARY = "sk-canary-0123456789"
Configured = Callable[..., Settings]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def configured(home: Path) -> Configured:
    """Load with this text as the home's overlord.yaml and this environment."""

    def loading(text: str = "", environment: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
        home.mkdir(exist_ok=True)
        (home / "overlord.yaml").write_text(text, encoding="utf-8")
        return load({"OVERLORD_HOME": str(home), **(environment or {})}, **overrides)

    return loading


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(SettingsError) as error:
        act()
    assert CANARY not in str(error.value)
    return str(error.value)


def value_at(settings: Settings, *path: str) -> Any:
    value: Any = settings
    for name in path:
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value.get_secret_value() if hasattr(value, "get_secret_value") else value


# Defaults.


def test_the_defaults_are_those_of_the_design(home: Path) -> None:
    settings = load({"OVERLORD_HOME": str(home)})
    assert settings.home == home
    assert (settings.repositories, settings.runner, settings.contract, settings.poll_s) == (
        (),
        "auto",
        "default",
        30,
    )
    assert settings.labels.model_dump() == {
        "work": "nebulus-ready",
        "in_progress": "in-progress",
        "in_review": "in-review",
        "attention": "needs-attention",
        "priority": "high-priority",
        "skill_change": "skill-change",
    }
    sessions = settings.sessions
    assert (sessions.concurrent, sessions.turns, sessions.time_s, sessions.tool_errors) == (3, 50, 1800, 3)
    assert sessions.silent_s == 300
    assert (settings.questions.per_session, settings.questions.wait_s) == (3, 600)
    assert settings.delivery.open_pulls == 5
    assert settings.forge.api_url == "https://api.github.com"
    assert settings.space("acme/calc").scope is None


def test_the_home_is_dot_overlord_unless_said_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load({}).home == tmp_path / ".overlord"
    assert load({"OVERLORD_HOME": ""}).home == tmp_path / ".overlord"
    assert load({"OVERLORD_HOME": "~/other"}).home == tmp_path / "other"


def test_the_working_directory_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: Path
) -> None:
    (tmp_path / "overlord.yaml").write_text("poll_s: 7\n")
    monkeypatch.chdir(tmp_path)
    assert load({"OVERLORD_HOME": str(home)}).poll_s == 30


def test_every_key_of_the_defaults_has_a_comment() -> None:
    lines = packaged("overlord.yaml").splitlines()
    keys = [line for line in lines if re.match(r"\s*[a-z_]+:\s*\S", line)]
    assert len(keys) > 30
    assert [line.strip() for line in keys if "  # " not in line] == []


def test_every_setting_has_its_default_in_the_file() -> None:
    defaults = yaml.safe_load(packaged("overlord.yaml")) | yaml.safe_load(packaged("models.yaml"))
    assert {name for name in Settings.model_fields if name != "home"} == set(defaults)
    assert [name for name, field in Settings.model_fields.items() if not field.is_required()] == []


def test_settings_do_not_change(configured: Configured) -> None:
    with pytest.raises(ValueError, match="frozen"):
        configured().poll_s = 5  # type: ignore[misc]


def test_secrets_are_not_shown(configured: Configured) -> None:
    settings = configured(environment={"OPENAI_API_KEY": CANARY, "GITHUB_TOKEN": CANARY})
    assert CANARY not in repr(settings)
    assert CANARY not in str(settings.model_dump(mode="json"))


# The file.


def test_a_file_needs_only_what_differs(configured: Configured) -> None:
    settings = configured("sessions: {concurrent: 7}\nspaces: {acme/calc: {scope: [src/**]}}\n")
    assert (settings.sessions.concurrent, settings.sessions.turns) == (7, 50)
    assert settings.space("acme/calc").scope == ("src/**",)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_says_nothing(configured: Configured, text: str) -> None:
    assert configured(text).poll_s == 30


def test_another_file_can_be_named(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("poll_s: 11\n")
    assert load({"OVERLORD_HOME": str(home), "OVERLORD_CONFIG": str(other)}).poll_s == 11


def test_a_named_file_must_exist(home: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.yaml")
    said = refused(lambda: load({"OVERLORD_HOME": str(home), "OVERLORD_CONFIG": missing}))
    assert said == f"OVERLORD_CONFIG names {missing}, which does not exist"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("polls_s: 30", "unknown key 'polls_s'"),
        ("sessions: {turn: 3}", "unknown key 'sessions.turn'"),
        ("spaces: {acme/calc: {scopes: [a]}}", "unknown key 'spaces.acme/calc.scopes'"),
        ("poll_s: soon", "poll_s: Input should be a valid integer"),
        ("poll_s: 0", "poll_s: Input should be greater than 0"),
        ("poll_s: null", "poll_s: Input should be a valid integer"),
        ("sessions: null", "sessions: Input should be a valid dictionary"),
        ("sessions: 3", "sessions: Input should be a valid dictionary"),
        ("sessions: {memory_mb: 63}", "sessions.memory_mb: "),
        ("sessions: {cpus: .nan}", "sessions.cpus: "),
        ("runner: podman", "runner: Input should be 'auto', 'docker', 'process', 'swarm' or 'kubernetes'"),
        ("repositories: acme/calc", "repositories: Input should be a valid tuple"),
        ("repositories: [calc]", "repositories.0: a repository is named owner/repo"),
        ("repositories: [acme/calc/x]", "repositories.0: "),
        ("repositories: ['acme/calc\\n']", "repositories.0: "),
        ("repositories: ['../calc']", "repositories.0: "),
        ("repositories: [acme/..]", "repositories.0: a repository is named owner/repo"),
        ("repositories: [acme/calc.git]", "repositories.0: a repository is named owner/repo"),
        ("spaces: {acme/..: {}}", "spaces.acme/...[key]: a repository is named owner/repo"),
        ("repositories: [acme/calc, Acme/Calc]", "the same repository is listed twice: acme/calc"),
        ("spaces: {calc: {}}", "spaces.calc"),
        ("spaces: {acme/calc: {}, ACME/calc: {}}", "the same repository is listed twice: acme/calc"),
        ("spaces: {acme/calc: {scope: ['../x']}}", "spaces.acme/calc.scope: MINION_SCOPE has a pattern"),
        ("spaces: {acme/calc: {scope: []}}", "spaces.acme/calc.scope: MINION_SCOPE lists no patterns"),
        ("model: {api_key: 12}", "model.api_key: Input should be a valid string"),
        (f"model: {{api_key: [{CANARY}]}}", "model.api_key: Input should be a valid string"),
    ],
)
def test_a_wrong_key_is_refused_with_its_name_and_its_file(
    configured: Configured, home: Path, text: str, said: str
) -> None:
    message = refused(lambda: configured(text))
    assert message.startswith(f"{home}/overlord.yaml: ")
    assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a, b]", "must be a mapping of settings, not a list"),
        ("just words", "must be a mapping of settings, not a str"),
        ("home: /elsewhere", "home cannot be set in the file; set OVERLORD_HOME"),
        ("poll_s: [1", "cannot be read as YAML"),
        ("poll_s: 1\n\tx: 2", "cannot be read as YAML"),
        (f'model:\n  api_key: "{CANARY}\n', "cannot be read as YAML"),
        (f"model: {{api_key: {CANARY}: x}}", "cannot be read as YAML"),
        ("poll_s: !!python/object/apply:os.getcwd []", "cannot be read as YAML"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_without_quoting_it(
    configured: Configured, home: Path, text: str, said: str
) -> None:
    message = refused(lambda: configured(text))
    assert message.startswith(f"{home}/overlord.yaml")
    assert said in message
    assert "\n" not in message


def test_a_file_that_is_no_text_is_refused(home: Path) -> None:
    home.mkdir()
    (home / "overlord.yaml").write_bytes(b"poll_s: 3\xff\xfe")
    assert "overlord.yaml" in refused(lambda: load({"OVERLORD_HOME": str(home)}))
    (home / "overlord.yaml").unlink()
    (home / "overlord.yaml").mkdir()
    assert "Is a directory" in refused(lambda: load({"OVERLORD_HOME": str(home)}))


def test_a_spaces_settings_hold_however_its_name_is_spelt(configured: Configured) -> None:
    settings = configured("repositories: [Acme/Calc]\nspaces: {acme/calc: {scope: [src/**]}}")
    assert settings.space("Acme/Calc").scope == ("src/**",)


# The environment.

SINGLE = sorted(name for name in ENVIRONMENT if not name.startswith(("GITHUB_APP_", "SLACK_")))
"""Those that mean something alone; `test_settings_forge.py` has the pair."""
SAMPLES = {
    "OVERLORD_REPOS": ("acme/calc, acme/web,", ("acme/calc", "acme/web")),
    "OVERLORD_RUNNER": ("process", "process"),
    "OVERLORD_PAGE": ("localhost:8711", "localhost:8711"),
    "OVERLORD_PAGE_URL": ("HTTPS://Overlord.example.org:443/", "https://overlord.example.org"),
    "OVERLORD_CHAT_PAGE": ("localhost:8713", "localhost:8713"),
    "OVERLORD_SESSION_LISTENER": ("overlord.example.org:8714", "overlord.example.org:8714"),
    "OVERLORD_LISTEN": ("[::1]:8712", "[::1]:8712"),
    "OTEL_EXPORTER_OTLP_HEADERS": (
        "authorization=Bearer%20x,x-team=blue",
        {"authorization": SecretStr("Bearer x"), "x-team": SecretStr("blue")},
    ),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("http://127.0.0.1:4318/", "http://127.0.0.1:4318"),
}


@pytest.mark.parametrize("name", SINGLE)
def test_every_variable_sets_its_key_over_the_file(configured: Configured, name: str) -> None:
    given, expected = SAMPLES.get(name, (CANARY, CANARY))
    path = ENVIRONMENT[name]
    document: Any = (
        ["a/b"] if name == "OVERLORD_REPOS" else "docker" if name == "OVERLORD_RUNNER" else "of the file"
    )
    for key in reversed(path):
        document = {key: document}
    settings = configured(yaml.safe_dump(document), {name: str(given)})
    assert value_at(settings, *path) == expected


@pytest.mark.parametrize("name", SINGLE)
def test_every_variable_can_come_from_a_file(configured: Configured, tmp_path: Path, name: str) -> None:
    given, expected = SAMPLES.get(name, (CANARY, CANARY))
    secret = tmp_path / "secret"
    secret.write_text(f"{given}\n")
    assert value_at(configured("", {f"{name}_FILE": str(secret)}), *ENVIRONMENT[name]) == expected
    said = refused(lambda: configured("", {f"{name}_FILE": str(secret), name: str(given)}))
    assert said == f"both {name} and {name}_FILE are set; keep one"


@pytest.mark.parametrize("name", sorted(ENVIRONMENT))
def test_an_empty_variable_is_not_set(configured: Configured, name: str) -> None:
    assert configured("", {name: "", f"{name}_FILE": ""}) == configured("")


def test_a_file_of_a_variable_must_be_readable_text(configured: Configured, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    said = refused(lambda: configured("", {"GITHUB_TOKEN_FILE": str(missing)}))
    assert said == f"GITHUB_TOKEN_FILE names {missing}, which cannot be read: No such file or directory"
    missing.write_bytes(b"\xff\xfe")
    assert refused(lambda: configured("", {"GITHUB_TOKEN_FILE": str(missing)})).startswith(
        f"GITHUB_TOKEN_FILE names {missing}, which cannot be read: "
    )


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"OVERLORD_RUNNER": "podman"}, "OVERLORD_RUNNER: runner: Input should be"),
        ({"OVERLORD_REPOS": "acme/calc,calc"}, "OVERLORD_REPOS: repositories.1: "),
        ({"OVERLORD_REPOS": "acme/calc,ACME/calc"}, "OVERLORD_REPOS: repositories: "),
    ],
)
def test_a_wrong_variable_is_refused_with_its_own_name(
    configured: Configured, environment: dict[str, str], said: str
) -> None:
    assert refused(lambda: configured("", environment)).startswith(said)


def test_a_wrong_variable_from_a_file_is_refused_with_its_own_name(
    configured: Configured, tmp_path: Path
) -> None:
    (tmp_path / "runner").write_text("podman")
    said = refused(lambda: configured("", {"OVERLORD_RUNNER_FILE": str(tmp_path / "runner")}))
    assert said.startswith("OVERLORD_RUNNER")


@pytest.mark.parametrize("name", ["OVERLORD_REPO", "OVERLORD_MODELS", "OVERLORD_", "OVERLORD_HOME_FILE"])
def test_a_misspelt_variable_is_refused(configured: Configured, name: str) -> None:
    said = refused(lambda: configured("", {name: CANARY}))
    assert said.startswith(f"unknown environment variable {name}; ") and " known: OVERLORD_" in said
    assert "OVERLORD_REPOS" in said


def test_other_programs_variables_are_left_alone(configured: Configured) -> None:
    assert configured("", {"GITHUB_ACTIONS": "true", "OPENAI_ORG": "x", "PATH": "/bin"}) == configured("")


# What setups are given.


def test_an_address_with_a_sign_in_is_a_secret_and_one_without_is_none(configured: Configured) -> None:
    given = {
        "PIP_INDEX_URL": f"https://reader:{CANARY}@pypi.example.com/simple",
        "PIP_EXTRA_INDEX_URL": "https://more.example.com/simple",
        "HTTPS_PROXY": "http://proxy:3128",
    }
    settings = configured("", given)
    signed_in, plain = settings.environments.signed_in(), settings.environments.plain()
    assert set(signed_in) == {"PIP_INDEX_URL", "UV_DEFAULT_INDEX"}
    assert plain == {
        "HTTPS_PROXY": "http://proxy:3128",
        "PIP_EXTRA_INDEX_URL": "https://more.example.com/simple",
        "UV_INDEX": "https://more.example.com/simple",
    }
    assert set(signed_in.values()) <= set(settings.secrets())
    assert not set(plain.values()) & set(settings.secrets())
    assert CANARY not in repr(settings)


def test_uv_keeps_an_index_of_its_own(configured: Configured) -> None:
    given = {"PIP_INDEX_URL": "https://pip.example.com", "UV_DEFAULT_INDEX": "https://uv.example.com"}
    assert configured("", given).environments.plain() == given


def test_the_environments_variables_go_over_those_of_the_file(configured: Configured) -> None:
    text = "environments: {variables: {PIP_INDEX_URL: https://file.example.com, NPM_TOKEN_HOST: npm.example.com}}"
    settings = configured(text, {"PIP_INDEX_URL": "https://other.example.com"})
    plain = settings.environments.plain()
    assert plain["PIP_INDEX_URL"] == "https://other.example.com"
    assert plain["NPM_TOKEN_HOST"] == "npm.example.com"


def test_a_setups_secrets_belong_to_their_space_and_are_shown_nowhere(configured: Configured) -> None:
    settings = configured(f"spaces: {{Acme/Calc: {{setup_secrets: {{INDEX_TOKEN: {CANARY}}}}}}}")
    [(name, value)] = settings.space("acme/calc").setup_secrets.items()
    assert (name, value.get_secret_value()) == ("INDEX_TOKEN", CANARY)
    assert settings.space("acme/web").setup_secrets == {}
    assert CANARY in settings.secrets()
    assert CANARY not in repr(settings)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("environments: {network: ''}", "environments.network"),
        ("environments: {time_s: 0}", "environments.time_s"),
        ("environments: {memory_mb: 8}", "environments.memory_mb"),
        ("environments: {keep_days: 0}", "environments.keep_days"),
        ("environments: {keep_gb: -1}", "environments.keep_gb"),
        ("environments: {images: []}", "environments"),
        (f"environments: {{variables: {{'A B': {CANARY}}}}}", "environments.variables"),
        (f"spaces: {{acme/calc: {{setup_secrets: {{'A=B': {CANARY}}}}}}}", "spaces.acme/calc.setup_secrets"),
        (f"spaces: {{acme/calc: {{setup_secrets: {{A: [{CANARY}]}}}}}}", "spaces.acme/calc.setup_secrets.A"),
    ],
)
def test_what_cannot_be_meant_for_setups_is_refused_with_its_key(
    configured: Configured, text: str, key: str
) -> None:
    assert key in refused(lambda: configured(text))


# The home's length, and the contract.


def test_a_home_too_long_for_a_socket_is_refused_with_how_much(tmp_path: Path) -> None:
    fits = Path("/" + "h" * (107 - len("/run/12345678/s") - 1))
    check_socket_path(fits)
    said = refused(lambda: check_socket_path(Path(f"{fits}hhh")))
    assert said.startswith(f"OVERLORD_HOME={fits}hhh is too long")
    assert "at least 3 bytes shorter" in said
    assert "too long" in refused(lambda: load({"OVERLORD_HOME": str(tmp_path / ("é" * 60))}))


def test_a_contract_of_ones_own_is_read_and_held_against_the_constitution(
    configured: Configured, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(packaged("contracts/default.yaml").replace("name: default", "name: mine"))
    settings = configured(f"spaces: {{acme/calc: {{contract: {mine}}}}}")
    assert contract_for(settings, "acme/calc").name == "mine"
    assert contract_for(settings, "acme/web").name == "default"
    asking = configured("spaces: {acme/calc: {contract: approve-scope}}")
    assert contract_for(asking, "acme/calc").name == "approve-scope"
    mine.write_text(mine.read_text().replace("lifetime_h: 336", ""))
    with pytest.raises(ContractError, match=r"mine\.yaml: rule 4\.3: lifetime: "):
        contract_for(settings, "acme/calc")


def test_a_contract_that_cannot_be_read_is_refused(configured: Configured, tmp_path: Path) -> None:
    settings = configured(f"contract: {tmp_path}/missing.yaml")
    said = refused(lambda: contract_for(settings, "acme/calc"))
    why = "No such file or directory; built in are default, approve-scope, plan-first, red-green, crew"
    assert said == f"contract: {tmp_path}/missing.yaml cannot be read: {why}"
    (tmp_path / "missing.yaml").write_bytes(b"name: \xff")
    assert refused(lambda: contract_for(settings, "acme/calc")).startswith("contract: ")


def test_how_much_is_fetched_is_said_for_all_and_by_a_space(configured: Configured) -> None:
    assert configured().extent("acme/calc") == Extent(history_depth=1000)
    settings = configured(
        "fetch: {lfs: true, history_depth: 5}\nspaces: {Acme/Calc: {lfs: false, submodules: true, history_depth: 0}}"
    )
    assert settings.extent("acme/calc") == Extent(submodules=True)
    assert settings.extent("acme/other") == Extent(lfs=True, history_depth=5)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("fetch: {history_depth: -1}", "fetch.history_depth"),
        ("fetch: {submodule: true}", "fetch.submodule"),
        ("spaces: {acme/calc: {history_depth: -1}}", "spaces.acme/calc.history_depth"),
        ("spaces: {acme/calc: {lfs: perhaps}}", "spaces.acme/calc.lfs"),
    ],
)
def test_how_much_is_fetched_is_refused_by_its_key(configured: Configured, text: str, key: str) -> None:
    assert key in refused(lambda: configured(text))


# The page.


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("overlord.example.org", "must be an address, as https://overlord.example.org"),
        ("ftp://overlord.example.org", "must be an address, as"),
        ("https://", "must be an address, as"),
        ("https://a b", "must be an address, as"),
        ("https://me@overlord.example.org", "must be an address, as"),
        ("https://overlord.example.org/page", "without a path"),
        ("https://overlord.example.org/?a=1", "without a path"),
        ("http://overlord.example.org", "must be an https address; http only to this machine itself"),
        ("https://overlord.example.org:99999", "ort"),
    ],
)
def test_the_pages_own_address_is_one_that_browsers_send_back(
    configured: Configured, url: str, said: str
) -> None:
    assert said in refused(lambda: configured("", {"OVERLORD_PAGE_URL": url}))


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://localhost:8711/", "http://localhost:8711"),
        ("http://[::1]:8711", "http://[::1]:8711"),
        ("https://O.example:8443", "https://o.example:8443"),
        ("", ""),
    ],
)
def test_it_is_kept_as_browsers_write_an_origin(configured: Configured, url: str, origin: str) -> None:
    assert configured(f"page: {{url: '{url}'}}").page.url == origin


def test_people_sign_in_with_github_once_everything_for_it_is_said(
    configured: Configured, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{CANARY}\n")
    given = {
        "GITHUB_APP_CLIENT_ID": "Iv1.a629723bfa6a4ab1",
        "GITHUB_APP_CLIENT_SECRET_FILE": str(secret),
        "OVERLORD_PAGE_URL": "https://overlord.example.org",
    }
    settings = configured("", given)
    assert (settings.page.offers_github, configured("").page.offers_github) == (True, False)
    assert settings.page.github_client_secret.get_secret_value() == CANARY
    assert CANARY in settings.secrets() and CANARY not in repr(settings)
    assert not configured("", {"OVERLORD_PAGE_URL": given["OVERLORD_PAGE_URL"]}).page.offers_github
    for missing, name in (
        ("GITHUB_APP_CLIENT_ID", "GITHUB_APP_CLIENT_ID (page.github_client_id)"),
        ("GITHUB_APP_CLIENT_SECRET_FILE", "GITHUB_APP_CLIENT_SECRET (page.github_client_secret)"),
        ("OVERLORD_PAGE_URL", "OVERLORD_PAGE_URL (page.url)"),
    ):
        rest = {key: value for key, value in given.items() if key != missing}
        said = refused(partial(configured, "", rest))
        assert said == f"page: to sign in with GitHub, set {name} as well"


def test_an_approver_is_of_slack_or_of_github(configured: Configured) -> None:
    assert configured("slack: {approvers: [U123, 'github:Ada-L']}").approvers("acme/calc") == (
        "U123",
        "github:Ada-L",
    )
    for odd in ("github:", "github:a b", "gitlab:ada", "ada"):
        assert "slack.approvers.0" in refused(partial(configured, f"slack: {{approvers: ['{odd}']}}"))
