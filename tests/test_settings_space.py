"""What one repository has of its own stands over what is said for all, key by key; what is wrong is named by its own key."""

from collections.abc import Callable
from pathlib import Path

import pytest

from overlord.domain.hooks import Hook
from overlord.errors import SettingsError
from overlord.queries.overview import space_values
from overlord.settings.current import CurrentSettings
from overlord.settings.load import Settings, load, with_added

Configured = Callable[[str], Settings]
CANARY = "canary-1d2e3f"


@pytest.fixture
def configured(tmp_path: Path) -> Configured:
    """Settings loaded with a file that holds this text."""

    def loading(text: str) -> Settings:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        (home / "overlord.yaml").write_text(text)
        return load({"OVERLORD_HOME": str(home)})

    return loading


def test_a_space_has_every_value_its_own_or_what_is_said_for_all(configured: Configured) -> None:
    settings = configured(
        """
labels: {work: please}
budget: {job_tokens: 900}
slack: {approvers: [U0ALL], four_eyes: true}
spaces:
  Acme/Calc:
    labels: {priority: now}
    sessions: {concurrent: 1, turns: 7}
    checks: {review: false}
    questions: {per_session: 1}
    budget: {job_tokens: null, space_day_tokens: 10}
    intake: {bots: ["renovate[bot]"]}
    delivery: {open_pulls: 1, delete_branch: true}
    approvers: [U0CALC]
    four_eyes: false
    model: default
    merge: manual
"""
    )
    own, other = settings.space("acme/calc"), settings.space("acme/web")
    assert (own.labels.work, own.labels.priority) == ("please", "now")
    assert (other.labels.work, other.labels.priority) == ("please", "high-priority")
    assert (own.sessions.concurrent, own.sessions.turns, own.sessions.time_s) == (1, 7, 1800)
    assert (own.checks.review, own.checks.tests_s, other.checks.review) == (False, 900, True)
    assert (own.budget.job_tokens, own.budget.space_day_tokens, other.budget.job_tokens) == (None, 10, 900)
    assert (own.intake.bots, other.intake.bots) == (("renovate[bot]",), ())
    assert (own.delivery.open_pulls, own.delivery.rounds, other.delivery.open_pulls) == (1, 2, 5)
    assert (own.approvers, own.four_eyes, other.approvers, other.four_eyes) == (
        ("U0CALC",),
        False,
        ("U0ALL",),
        True,
    )
    assert settings.keys_of("ACME/calc") >= {"labels.priority", "budget.job_tokens", "merge"}
    assert settings.keys_of("acme/web") == frozenset()


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("labels: {wrok: x}", "unknown key 'spaces.acme/calc.labels.wrok'"),
        ("sessions: {concurrent: 0}", "spaces.acme/calc.sessions.concurrent: Input should be greater than 0"),
        ("sessions: 5", "spaces.acme/calc.sessions: Input should be a valid dictionary"),
        ("budget: {job_usd: lots}", "spaces.acme/calc.budget.job_usd: Input should be a valid number"),
        ("budget: {day_usd: 5}", "spaces.acme/calc.budget.day_usd: this caps all repositories together"),
        ("model: fast", "spaces.acme/calc.model: models.yaml has no 'fast'; it has default"),
        ("checks: {review_model: fast}", "spaces.acme/calc.checks.review_model: models.yaml has no 'fast'"),
        ("merge: auto", "spaces.acme/calc.merge: manual is the only way there is: a person merges at GitHub"),
        ("scope_map: {docs: ['../x']}", "spaces.acme/calc.scope_map: MINION_SCOPE has a pattern"),
        ("approvers: [alice]", "spaces.acme/calc.approvers.0: String should match pattern"),
        ("runer: docker", "unknown key 'spaces.acme/calc.runer'"),
        (
            "budget: {job_usd: 2}",
            "spaces.acme/calc.budget.job_usd caps dollars, and nobody said what m costs",
        ),
    ],
)
def test_what_is_wrong_in_a_space_is_named_by_its_key(configured: Configured, own: str, said: str) -> None:
    with pytest.raises(SettingsError) as refused:
        configured(f"model: {{name: m}}\nspaces: {{acme/calc: {{{own}}}}}")
    assert said in str(refused.value)


def test_another_way_to_merge_is_refused_for_all_too(configured: Configured) -> None:
    with pytest.raises(SettingsError, match="merge: manual is the only way there is"):
        configured("merge: auto")


def test_what_labels_stand_for_counts_together_where_the_scope_says_nothing(configured: Configured) -> None:
    text = "scope_map: {docs: [docs/**], Tests: [tests/**, docs/**]}, issue_scopes: {7: [setup.py]}"
    own = configured(f"spaces: {{acme/calc: {{{text}}}}}").space("acme/calc")
    assert own.scope_of(1, ("docs", "tests", "bug")) == ("docs/**", "tests/**")
    assert own.scope_of(1, ("bug",)) is None
    assert own.scope_of(7, ("docs",)) == ("setup.py",)
    own = configured(f"spaces: {{acme/calc: {{scope: [src/**], {text}}}}}").space("acme/calc")
    assert own.scope_of(1, ("docs",)) == ("src/**",)


def test_what_the_page_shows_is_understood(configured: Configured) -> None:
    page = (Path(__file__).parents[1] / "docs" / "repositories.md").read_text(encoding="utf-8")
    [shown] = [
        block for block in page.split("```yaml\n")[1:] if block.startswith("sessions: {concurrent: 4}")
    ]
    settings = configured("models: {default: [{}], careful: [{model: x}]}\n" + shown.split("```")[0])
    own = settings.space("acme/payments")
    assert (own.labels.work, own.model, own.scope_of(1, ("api",))) == (
        "robot-please",
        "careful",
        ("src/api/**",),
    )


def test_what_was_added_by_command_goes_over_the_file(configured: Configured) -> None:
    settings = configured(
        "repositories: [acme/web]\nspaces: {Acme/Calc: {scope: [src/**], labels: {work: a}}}"
    )
    added = with_added(settings, {"acme/calc": {"labels": {"work": "b"}, "base_branch": "next"}})
    assert added.repositories == ("acme/web", "acme/calc")
    own = added.space("acme/calc")
    assert (own.scope, own.labels.work, own.base_branch) == (("src/**",), "b", "next")
    assert with_added(settings, {}) == with_added(settings, {"Acme/Web": {"base_branch": "x"}}) == settings


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ({"acme/new": {"merge": "auto"}}, "`overlord space`: spaces.acme/new.merge: manual is the only way"),
        (
            {"acme/new": {"labels": {"wrok": "x"}}},
            "`overlord space`: unknown key 'spaces.acme/new.labels.wrok'",
        ),
    ],
)
def test_what_cannot_be_added_is_refused(
    configured: Configured, added: dict[str, dict[str, object]], said: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        with_added(configured("repositories: [acme/web]"), added)
    assert str(refused.value).startswith(said)


def test_secrets_of_what_settings_were_made_of_are_not_shown(configured: Configured) -> None:
    settings = configured(f"forge: {{token: {CANARY}}}\nspaces: {{a/b: {{setup_secrets: {{T: {CANARY}}}}}}}")
    shown = f"{settings!r} {settings.model_dump_json()} {settings._raw!r} {settings.space('a/b')!r}"
    assert CANARY not in shown


def test_a_repository_that_was_added_under_no_name_is_refused_with_how_to_take_it_out(
    configured: Configured,
) -> None:
    with pytest.raises(SettingsError, match=r"`overlord space remove acme/\.\.`"):
        with_added(configured("repositories: [acme/calc]"), {"acme/..": {}})


def test_hooks_of_a_repository_come_beside_those_for_all(configured: Configured) -> None:
    settings = configured(
        """
hooks: {idle: [{command: [./all.sh, --strict], seconds: 5}]}
spaces: {acme/calc: {hooks: {idle: [{command: [./calc.sh]}]}}}
"""
    )
    current = CurrentSettings(settings)
    mine = [
        (item.name, item.command, item.timeout_s) for item in current.hook_programs(Hook.IDLE, "Acme/Calc")
    ]
    assert mine == [("all.sh", ("./all.sh", "--strict"), 5), ("calc.sh", ("./calc.sh",), 10)]
    assert [item.name for item in current.hook_programs(Hook.IDLE, "acme/web")] == ["all.sh"]
    assert [item.name for item in current.hook_programs(Hook.IDLE, "")] == ["all.sh"]
    assert current.hook_programs(Hook.PHASE, "acme/calc") == ()
    [shown] = [item.value for item in space_values(settings, "acme/calc") if item.key == "hooks"]
    assert shown == '{"idle": ["calc.sh"]}', "names alone: an argument may be anything"


@pytest.mark.parametrize(
    "wrong",
    ["[{command: []}]", '[{command: [""]}]', '[{command: ["a\\0b"]}]', "[{command: [a], seconds: 61}]"],
)
def test_a_hook_that_cannot_be_is_refused_by_its_key(configured: Configured, wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"hooks\.gate"):
        configured(f"hooks: {{gate: {wrong}}}")
