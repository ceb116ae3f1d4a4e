"""Hostile manifests: read within bounds, said in a sentence, and never raised for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.environments.recipe import detect, wanted
from overlord.domain.environments.source import MAX_BYTES, MAX_LINE, NOTE_CHARS, requirements

READ = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "tox.toml",
    "noxfile.py",
    "hatch.toml",
    "package.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    ".yarnrc.yml",
    "Cargo.toml",
    ".devcontainer/devcontainer.json",
    "Dockerfile",
)


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("pyproject.toml", b"[project", "pyproject.toml cannot be read as TOML"),
        ("pyproject.toml", b"a = " + b"[\n" * 5000, "so deep"),
        ("pyproject.toml", b"a" + b".a" * MAX_LINE + b" = 1", "a line has more than"),
        ("pyproject.toml", b"\n" * (MAX_BYTES + 1), "larger than"),
        ("pyproject.toml", b"a = 1\xff", "cannot be read as TOML"),
        ("package.json", b"{", "package.json cannot be read as JSON"),
        ("package.json", b"[" * 100_000, "so deep"),
        ("setup.cfg", b"no section\n", "setup.cfg cannot be read"),
        ("setup.py", b"#" * (MAX_BYTES + 1), "setup.py is larger than"),
    ],
)
def test_what_cannot_be_read_is_said_and_left_out(path: str, content: bytes, told: str) -> None:
    found = detect({path: content}, [path])
    [note] = [sentence for sentence in found.what if told in sentence]
    assert note.startswith(path)
    assert len(note) <= NOTE_CHARS
    assert "\x1b" not in note


def test_a_document_that_is_no_table_says_nothing() -> None:
    package = {"package.json": b"[]", "pyproject.toml": b'project = 7\ndependency-groups = "x"\ntool = []\n'}
    assert (
        detect(package, package)
        .plan.commands[0]
        .endswith("npm install --no-package-lock --no-audit --no-fund")
    )


@pytest.mark.parametrize(
    "source",
    [
        "a" + ".a" * 30_000,
        "-" * 60_000 + "1",
        "not " * 15_000 + "1",
        "(" * 50_000,
        "1+" * 30_000 + "1",
        "\0",
        "'\\d'",
    ],
)
def test_python_that_no_parser_bears_is_not_understood_and_does_no_harm(source: str) -> None:
    files = {"setup.py": f"extras_require = {source}".encode(), "noxfile.py": source.encode()}
    assert detect(files, files).plan.commands[1] == "uv pip install --editable ."


@given(st.sampled_from(READ), st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)))
def test_no_content_of_any_file_raises(path: str, content: bytes) -> None:
    detect({path: content, "setup.py": b""}, [path, "setup.py"])


@given(
    st.dictionaries(
        st.sampled_from(READ),
        st.lists(
            st.sampled_from(
                [
                    b"[testenv]",
                    b"deps =",
                    b"  x",
                    b"  -r",
                    b"extras=a,b",
                    b"[tool.poetry.group.dev.dependencies]",
                    b"x='^1'",
                    b"{",
                    b'"image"',
                    b":",
                    b"//",
                    b"/*",
                    b'"',
                    b"FROM a AS b",
                    b"[project]",
                    b"[",
                    b"]",
                    b"=",
                    b"key",
                    b"  : y",
                ]
            ),
            max_size=12,
        ).map(b"\n".join),
    )
)
def test_no_mixture_of_their_words_raises(files: dict[str, bytes]) -> None:
    detect(files, files)


def test_only_what_is_there_is_wanted() -> None:
    assert wanted(["setup.py", "src/setup.py", "README.md"]) == ("setup.py",)
    assert len(wanted(READ)) == len(READ)


def test_requirements_are_names_and_versions_only() -> None:
    lines = ["pytest", "pytest >=7, <9", "anyio[trio]~=4.0", "tomli>=1; python_version < '3.11'", "x # why"]
    assert requirements([*lines, *lines]) == (
        "pytest",
        "pytest >=7, <9",
        "anyio[trio]~=4.0",
        "tomli>=1; python_version < '3.11'",
        "x",
    )
    assert not requirements(
        ["-e .", "--pre", "x @ https://e.org/x.whl", "git+https://e.org/x", "./x", "", "x;$(id)"]
    )
