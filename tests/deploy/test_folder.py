"""The folder an operator copies: what it names exists, what it asks for is explained, and it holds no secret."""

import re
import subprocess

import pytest

from overlord.settings.env import ENVIRONMENT, REACHING_PACKAGES
from tests.architecture.test_imports import ROOT
from tests.deploy.server import filled_in

DEPLOY = ROOT / "deploy"
EXAMPLE = (DEPLOY / ".env.example").read_text(encoding="utf-8")
COMPOSE = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
SET_BY_COMPOSE = {"OVERLORD_RUNNER", "OVERLORD_LISTEN", "OVERLORD_PAGE", "OVERLORD_CHAT_PAGE", "DOCKER_HOST"}
FOR_STAND_INS = {"SLACK_API_URL"}
SECRET = ("_TOKEN", "_SECRET", "_KEY")


def named_in_example() -> set[str]:
    return set(re.findall(r"^#?([A-Za-z_]+)=", EXAMPLE, flags=re.MULTILINE))


def test_every_variable_compose_reads_is_in_the_example() -> None:
    asked = set(re.findall(r"\$\{([A-Z_]+)", COMPOSE))
    assert asked and asked <= named_in_example()


def test_every_variable_overlord_reads_is_in_the_example_or_set_by_compose() -> None:
    told = {name.removesuffix("_FILE") for name in named_in_example()} | SET_BY_COMPOSE
    wanted = {name.removesuffix("_FILE") for name in ENVIRONMENT} - set(REACHING_PACKAGES)
    assert wanted - told == FOR_STAND_INS
    assert set(re.findall(r"^ {6}([A-Z_]+):", COMPOSE, flags=re.MULTILINE)) >= SET_BY_COMPOSE


def test_secrets_are_asked_for_as_files_alone() -> None:
    names = [name for name in named_in_example() if name.removesuffix("_FILE").endswith(SECRET)]
    assert len(names) >= 6 and all(name.endswith("_FILE") for name in names)


def test_a_variable_the_example_does_not_have_is_not_filled_in() -> None:
    with pytest.raises(AssertionError, match="OVERLORD_HOMES 0 times"):
        filled_in(EXAMPLE, {"OVERLORD_HOMES": "/srv"})


def test_what_the_pages_link_to_is_there() -> None:
    pages = [*DEPLOY.glob("*.md")]
    linked = [
        (page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))
    ]
    assert len(linked) >= 4
    assert [link for page, link in linked if not (page.parent / link).exists()] == []


def test_what_an_operator_fills_in_is_never_committed() -> None:
    private = ["deploy/.env", "deploy/secrets/github-token"]
    asked = subprocess.run(
        ["git", "check-ignore", *private], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert asked.stdout.split() == private
