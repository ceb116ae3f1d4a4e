"""`.nebulus/environment.yaml` says what it means, or is refused in a sentence that names the key."""

import json
import subprocess
from pathlib import Path

import pytest

from overlord.config_files import packaged
from overlord.domain.environments.file import (
    EnvironmentFile,
    EnvironmentFileError,
    environment_schema,
    parse_environment,
)
from overlord.domain.text.untrusted_yaml import MAX_BYTES

EVERYTHING = """
image: registry.example.org:5000/team/python:3.12@sha256:%s
packages: [libpq-dev, g++]
setup:
  - make deps
  - |
    cd web
    npm ci
variables: {DJANGO_SETTINGS_MODULE: shop.test, DATA: '{environment}/data'}
path: node/bin
inputs: [Makefile, web/package.json]
caches: {GRADLE_USER_HOME: gradle}
detect: true
""" % ("0" * 64)


def parsed(text: str) -> EnvironmentFile:
    file = parse_environment(text.encode())
    assert file is not None
    return file


def test_no_file_is_none_and_an_empty_one_says_nothing() -> None:
    assert parse_environment(None) is None
    assert parsed("# nothing yet\n") == EnvironmentFile()


def test_everything_at_once() -> None:
    file = parsed(EVERYTHING)
    assert file.packages == ("libpq-dev", "g++")
    assert file.setup == ("make deps", "cd web\nnpm ci\n")
    assert file.variables == {"DJANGO_SETTINGS_MODULE": "shop.test", "DATA": "{environment}/data"}
    assert file.path == ("node/bin",)
    assert file.inputs == ("Makefile", "web/package.json")
    assert file.detect is True


def test_a_command_is_told_where_its_caches_are(tmp_path: Path) -> None:
    [command] = parsed('setup: printf %s "$M2"\ncaches: {M2: m2}\n').commands
    environment = {"XDG_CACHE_HOME": f"{tmp_path}/a cache", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", "-euc", command], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{tmp_path}/a cache/m2"
    assert (tmp_path / "a cache" / "m2").is_dir()


@pytest.mark.parametrize(
    "image", ["debian", "debian:13", "ghcr.io/a/b-c_d/e:V1.2", "localhost:5000/x", "a@sha256:" + "a" * 64]
)
def test_names_of_images(image: str) -> None:
    assert parsed(f"image: {image}").image == image


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("images: debian", "unknown key 'images'"),
        ("image: ''", "image: "),
        ("image: Debian", "image: 'Debian' is no image name"),
        ("image: 'debian --privileged'", "image: "),
        ("image: -debian", "image: "),
        ("image: 13", "image: "),
        (f"image: {'a' * 300}", "image: "),
        ("packages: ['libpq-dev; reboot']", "packages.0: "),
        ("packages: [-oDebug]", "packages.0: "),
        ("packages: ['libpq-dev=1']", "packages.0: "),
        ("packages: {a: b}", "packages: "),
        ("packages: [7]", "packages.0: "),
        ("setup: ['']", "setup.0: "),
        ('setup: ["make\\0"]', "setup.0: control characters"),
        ("setup: 7", "setup: "),
        ("variables: {'A B': x}", "variables"),
        ("variables: {PATH: x}", "PATH is set by Overlord (see `path`)"),
        ("variables: {HOME: x}", "HOME is set by Overlord"),
        ("variables: {MINION_ID: x}", "MINION_ID is set by Overlord"),
        ("variables: {A: 1}", "variables.A: "),
        ('variables: {A: "\\e"}', "variables.A: control characters"),
        ("path: [/usr/bin]", "path.0: '/usr/bin' must be a relative path"),
        ("path: [../bin]", "path.0: "),
        ("path: ['a:b']", "path.0: "),
        ("path: ['.']", "path.0: "),
        ("inputs: [a/../../b]", "inputs.0: "),
        ("caches: {M2: m2}", "caches: they are for the commands of `setup`"),
        ("setup: x\ncaches: {M2: ../m2}", "caches.M2: "),
        ("detect: 1", "detect: "),
        ("- setup", "the document"),
        ("setup: [", "cannot be read as YAML"),
        ("setup: &a [x]\npath: *a", "aliases"),
        ("#" * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(EnvironmentFileError, match=r"environment\.yaml") as refused:
        parse_environment(text.encode())
    assert sentence in str(refused.value)


def test_the_published_schema_is_this_model() -> None:
    published = packaged("environment.schema.json")
    assert json.loads(published) == environment_schema()
    assert published == json.dumps(environment_schema(), indent=2) + "\n"
