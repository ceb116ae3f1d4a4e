"""What is seen in a repository, from its paths and a few files: kind, layout, documents, and what the code decides."""

import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.bootstrap.documents import (
    MOST_DOCUMENT_BYTES,
    MOST_DOCUMENTS,
    MOST_FILE_BYTES,
    documents,
    most_bytes,
)
from overlord.domain.bootstrap.manifest import MOST_NESTED, manifest_paths
from overlord.domain.bootstrap.survey import MOST_LAYOUT, Survey, as_markdown, paths_to_read, survey_of
from overlord.domain.discovery.question import ProjectKind, RepositoryState
from overlord.domain.identifiers import Sha
from overlord.errors import Refused

COMMIT = Sha("a" * 40)


def surveyed(files: Mapping[str, str | bytes], submodules: tuple[str, ...] = ()) -> Survey:
    content = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
    read = {name: content[name][: most_bytes(name)] for name in paths_to_read(content)}
    return survey_of(COMMIT, {name: len(text) for name, text in content.items()}, read, submodules)


def facts(files: Mapping[str, str | bytes]) -> dict[str, tuple[str, str]]:
    return {item.topic: (item.value, item.source) for item in surveyed(files).facts}


PYPROJECT = """[project]
name = "calc"
requires-python = ">=3.11"
license = "MIT"
dependencies = ["click>=8", "psycopg[binary] ; extra == 'x'"]
scripts = {calc = "calc:main"}

[tool.ruff.lint]
select = ["E"]
"""


LIBRARY = PYPROJECT.replace(
    "license", 'classifiers = ["Topic :: Software Development :: Libraries"]\nlicense'
)


@pytest.mark.parametrize(
    ("files", "kind", "reason"),
    [
        ({"pyproject.toml": PYPROJECT, "calc.py": ""}, ProjectKind.CLI, "pyproject.toml installs a command."),
        ({"pyproject.toml": '[project]\nname = "x"\n', "x.py": ""}, ProjectKind.LIBRARY, "others can install"),
        ({"pyproject.toml": LIBRARY, "calc.py": ""}, ProjectKind.LIBRARY, "pyproject.toml says that it is a library."),
        ({"pyproject.toml": f"{LIBRARY}\n# Environment :: Console\n", "calc.py": ""}, ProjectKind.CLI, "is used in a console."),
        (
            {"pyproject.toml": PYPROJECT.replace("click>=8", "idna") + "[project.optional-dependencies]\ncli = ['click']\n", "calc.py": ""},
            ProjectKind.LIBRARY,
            "Its command needs the extra cli (pyproject.toml).",
        ),
        (
            {"pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.12"\nDjango = "5"\n', "a.py": ""},
            ProjectKind.WEB_APP,
            "It depends on django (pyproject.toml).",
        ),
        ({"manage.py": "", "app/models.py": ""}, ProjectKind.WEB_APP, "manage.py belongs to a Django project."),
        ({"requirements.txt": "Flask==3\n-r x\n", "app.py": ""}, ProjectKind.API, "flask (requirements.txt), without"),
        (
            {"requirements.txt": "flask\n", "app.py": "", **{f"templates/{n}.html": "" for n in "abc"}},
            ProjectKind.WEB_APP,
            "with templates. It has 3 templates of web pages.",
        ),
        ({"setup.py": "setup(name='x', install_requires=['fastapi>=1', \"pydantic\"])", "x.py": ""}, ProjectKind.API, "fastapi (setup.py)"),
        ({"setup.cfg": "[metadata]\nname = x\n[options]\ninstall_requires =\n  typer\n[options.entry_points]\nconsole_scripts =\n  x = x:y\n", "x.py": ""}, ProjectKind.CLI, "setup.cfg installs"),
        ({"setup.py": "setup(entry_points={'console_scripts': []})", "x.py": ""}, ProjectKind.CLI, "setup.py installs"),
        ({"package.json": '{"dependencies": {"react": "19", "next": "15"}}', "a.tsx": ""}, ProjectKind.WEB_APP, "react, next (package.json)"),
        ({"package.json": '{"dependencies": {"express": "5"}}', "a.js": ""}, ProjectKind.API, "express"),
        ({"package.json": '{"bin": {"x": "x.js"}, "private": true, "main": "x"}', "x.js": ""}, ProjectKind.CLI, "package.json installs a command."),
        ({"package.json": '{"name": "x", "exports": "./x.js"}', "x.js": ""}, ProjectKind.LIBRARY, "package.json describes"),
        ({"package.json": '{"dependencies": {"react": "19", "react-native": "1"}}', "a.tsx": ""}, ProjectKind.MOBILE, "react-native"),
        ({"pubspec.yaml": "name: app\ndependencies:\n  flutter:\n    sdk: flutter\n", "lib/main.dart": ""}, ProjectKind.MOBILE, "flutter (pubspec.yaml)"),
        ({"app/src/main/AndroidManifest.xml": "", "app/A.kt": ""}, ProjectKind.MOBILE, "an Android app"),
        ({"App.xcodeproj/project.pbxproj": "", "A.swift": ""}, ProjectKind.MOBILE, "Apple's devices"),
        ({"go.mod": "module example.com/x\n\nrequire (\n\tgithub.com/spf13/cobra v1.8.0\n)\n", "main.go": ""}, ProjectKind.CLI, "main.go is a program."),
        ({"go.mod": "module example.com/x\n", "x.go": ""}, ProjectKind.LIBRARY, "there is no main.go"),
        ({"go.mod": "module example.com/x\n", "cmd/x/main.go": ""}, ProjectKind.CLI, "cmd/x/main.go is a program."),
        ({"Cargo.toml": '[package]\nname = "x"\n[dependencies]\nclap = "4"\n[[bin]]\nname = "x"\n', "src/main.rs": ""}, ProjectKind.CLI, "clap"),
        ({"Cargo.toml": '[package]\nname = "x"\n[lib]\nname = "x"\n', "src/lib.rs": ""}, ProjectKind.LIBRARY, "src/lib.rs is a library."),
        ({"requirements.txt": "pandas\nscikit-learn\n", **{f"{n}.ipynb": "" for n in "abc"}}, ProjectKind.DATA, "It has 3 notebooks."),
        ({"dbt_project.yml": "", "models/a.sql": ""}, ProjectKind.DATA, "a dbt project"),
        ({"dags/a.py": ""}, ProjectKind.DATA, "Airflow"),
        ({"openapi.yaml": "", "a.js": ""}, ProjectKind.API, "the description of an API"),
        ({"a.proto": "", "a.go": ""}, ProjectKind.API, "gRPC"),
        ({"index.html": ""}, ProjectKind.WEB_APP, "index.html is a web page."),
        ({f"src/{n}.vue": "" for n in "abc"}, ProjectKind.WEB_APP, "3 components"),
        ({"tool.py": "import argparse\n"}, ProjectKind.CLI, "tool.py reads a command line."),
        ({"src/x/__main__.py": "import sys\nif __name__ == '__main__':\n  print(sys.argv)\n"}, ProjectKind.CLI, "reads a command line"),
        ({"Gemfile": "gem 'rails'\n", "a.rb": ""}, ProjectKind.WEB_APP, "rails (Gemfile)"),
        ({"composer.json": '{"name": "a/b", "require": {"laravel/framework": "1"}}', "a.php": ""}, ProjectKind.WEB_APP, "laravel"),
        ({"pom.xml": "<artifactId>spring-boot-starter-web</artifactId>", "A.java": ""}, ProjectKind.API, "spring-boot"),
        ({"a.py": "", "tests/test_main.py": "import argparse"}, ProjectKind.OTHER, "Neither its dependencies nor its files"),
        ({"a.py": "", "docs/index.html": "", "package.json": "{", "examples/manage.py": ""}, ProjectKind.OTHER, "Neither"),
        ({"README.md": "a web app"}, ProjectKind.OTHER, "It has documents and no code yet."),
        ({}, ProjectKind.OTHER, "There is nothing in it yet"),
    ],
)  # fmt: skip
def test_the_kind_is_told_with_reasons(files: dict[str, str], kind: ProjectKind, reason: str) -> None:
    found = surveyed(files)
    assert found.kind is kind, found.kind_reasons
    assert reason in " ".join(found.kind_reasons)


@pytest.mark.parametrize(
    ("names", "state"),
    [
        ([], RepositoryState.EMPTY),
        ([".gitignore", "LICENSE"], RepositoryState.EMPTY),
        (["README"], RepositoryState.DOCS_ONLY),
        (["docs/conf.py", "docs/a.rst", ".github/x.js"], RepositoryState.DOCS_ONLY),
        (["docs/a.rst", "Site/index.html"], RepositoryState.HAS_CODE),
        (["A.PY"], RepositoryState.HAS_CODE),
    ],
)
def test_a_repository_has_code_or_documents_or_neither(names: list[str], state: RepositoryState) -> None:
    assert surveyed(dict.fromkeys(names, "")).state is state


def test_what_the_code_decides_has_its_source() -> None:
    files = {
        "pyproject.toml": PYPROJECT,
        "src/calc.py": "",
        "src/b.py": "",
        "tests/test_calc.py": "",
        "web/a.ts": "",
        "Dockerfile": "",
        "deploy/x/fly.toml": "",
        "a/b/c/d/Procfile": "",
        ".github/workflows/Release-now.yml": "",
    }
    assert facts(files) == {
        "name": ("calc", "pyproject.toml"),
        "language": ("Python >=3.11, TypeScript", "3 files of Python"),
        "framework": ("Click", "pyproject.toml"),
        "storage": ("PostgreSQL", "pyproject.toml"),
        "structure": (
            "src/ (2 files), .github/ (1 file), a/ (1 file), deploy/ (1 file), tests/ (1 file), web/ (1 file)",
            "its directories",
        ),
        "deployment": ("a container image (Dockerfile), Fly.io (deploy/x/fly.toml)", "Dockerfile"),
        "releases": ("By .github/workflows/Release-now.yml", ".github/workflows/Release-now.yml"),
        "licence": ("MIT", "pyproject.toml"),
        "tests": ("python -m pytest", "its files"),
        "style": ("ruff, as it is configured; only what a change introduces counts", "its files"),
    }
    own = facts({"a.py": "", ".nebulus/checks.yaml": "tests: make test\nlint: make lint\n"})
    assert own["tests"] == ("make test (.nebulus/checks.yaml)", ".nebulus/checks.yaml")
    assert own["style"] == ("make lint (.nebulus/checks.yaml)", ".nebulus/checks.yaml")


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("Apache License\n   Version 2.0, January 2004", "Apache-2.0"),
        (
            "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June\n… the GNU Affero General Public License",
            "GPL-3.0",
        ),
        ("Permission is hereby granted, free of charge, to any\nperson obtaining a copy", "MIT"),
        ("Redistribution and use in source and binary\nforms", "BSD"),
        ("All rights reserved.", None),
    ],
)
def test_licences_are_known_by_their_words(text: str, licence: str | None) -> None:
    found = facts({"LICENSE": text})
    assert found == ({"licence": (licence, "LICENSE")} if licence else {})


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"package.json": '{"name": "@acme/x"}'}, "acme/x"),
        ({"Cargo.toml": '[package]\nname = "x"\nlicense = "MIT"\n'}, "x"),
        ({"go.mod": "module example.com/acme/x\n"}, "x"),
        ({"setup.py": "setup(name='x')"}, "x"),
        ({"pubspec.yaml": "name: x\n"}, "x"),
        ({"packages/a/package.json": '{"name": "a"}'}, None),
        ({"package.json": '{"name": 5, "license": ["MIT"]}'}, None),
        ({"package.json": f'{{"name": "{"x" * 200}"}}'}, None),
    ],
)
def test_the_name_is_the_manifests_at_the_root(files: dict[str, str], name: str | None) -> None:
    assert facts(files).get("name", (None,))[0] == name


def test_documents_are_ranked_and_no_more_than_are_read() -> None:
    names = [
        "src/readme.md",
        "docs/guide/a.md",
        "docs/adr/0001.md",
        "Architecture.MD",
        "sub/vision.md",
        "README.rst",
        "readme_first.py",
        "doc/b.txt",
        "docs/requirements.txt",
        "docs/x.png",
        "node_modules/a/README.md",
        "notes.md",
    ]
    assert documents(names) == (
        "Architecture.MD",
        "sub/vision.md",
        "README.rst",
        "docs/adr/0001.md",
        "doc/b.txt",
        "docs/guide/a.md",
        "src/readme.md",
    )
    assert len(documents([f"docs/{n}.md" for n in range(99)])) == MOST_DOCUMENTS
    assert (most_bytes("docs/a.md"), most_bytes("setup.py")) == (MOST_DOCUMENT_BYTES, MOST_FILE_BYTES)


def test_manifests_of_others_are_not_read() -> None:
    names = [
        "a/b/c/d/setup.py",
        "tests/setup.py",
        "examples/package.json",
        "b/setup.py",
        "go.mod",
        "x-requirements.txt",
    ]
    assert manifest_paths(names) == ("go.mod", "b/setup.py")
    assert len(manifest_paths([f"p{n}/package.json" for n in range(99)])) == MOST_NESTED


def test_what_was_not_read_says_nothing() -> None:
    found = survey_of(COMMIT, {"package.json": 20, "docs/a.md": 1, "LICENSE": 9, "a.js": 1}, {})
    assert [item.topic for item in found.facts] == ["language", "structure"]


def test_broken_files_of_its_own_are_refused() -> None:
    with pytest.raises(Refused, match="unknown key 'tset'"):
        surveyed({".nebulus/checks.yaml": "tset: x\n"})
    with pytest.raises(Refused, match=r"environment\.yaml"):
        surveyed({".nebulus/environment.yaml": "x: ["})


def test_notes_say_what_people_should_know() -> None:
    found = survey_of(COMMIT, {"big.bin": 60_000_000, "a.js": 1}, {}, ("vendor/x",))
    assert found.notes[0].startswith("1 submodule: sessions see them empty")
    assert found.notes[1] == "1 file over 50 MB, such as big.bin"
    assert found.notes[2].startswith("judged: scope, integrity and a model's review; not judged")


def test_an_architect_reads_all_of_it() -> None:
    text = as_markdown(
        surveyed(
            {
                "pyproject.toml": PYPROJECT,
                "src/c.py": "",
                "README.md": "# x",
                "docs/\u202e\n# a.md": "",
                "apt/x": "",
            }
        )
    )
    assert text.startswith(
        f"# Survey\n\n- Commit: {COMMIT}\n- State: has_code\n- Kind: cli\n- Kind, because: "
    )
    for part in (
        "## Layout\n\n- apt/: 1 file",
        "## Documents\n\n- README.md",
        "- licence: MIT (from pyproject.toml)",
    ):
        assert part in text
    assert "\u202e" not in text and "\n# a" not in text
    assert "## " not in as_markdown(surveyed({}))


def test_debian_packages_are_named() -> None:
    text = as_markdown(surveyed({".nebulus/environment.yaml": "packages: [libpq-dev]\n"}))
    assert "- Debian packages: libpq-dev" in text and "- Note: its own .nebulus files are used" in text


def test_a_monorepo_is_seen_whole() -> None:
    parts = random.Random(1)
    names = [
        f"packages/p{n % 300}/{parts.choice(['src', 'tests', 'docs'])}/{parts.choice(['a', 'test_b', 'README'])}{n}.{parts.choice(['py', 'ts', 'md'])}"
        for n in range(6_600)
    ]
    files = {
        **dict.fromkeys(names, "x"),
        **{f"packages/p{n}/package.json": '{"dependencies": {"react": "1"}}' for n in range(300)},
        **{f"d{n}/x.go": "" for n in range(100)},
    }
    found = surveyed(files)
    assert (found.files, found.kind, len(found.layout)) == (7_000, ProjectKind.WEB_APP, MOST_LAYOUT)
    assert found.layout[0] == ("packages", 6_900)
    assert len(paths_to_read(files)) < 250


_NAME = st.one_of(
    st.text(min_size=1, max_size=12),
    st.sampled_from(
        [
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "package.json",
            "Cargo.toml",
            "go.mod",
            "pubspec.yaml",
            "Gemfile",
        ]
    ),
    st.sampled_from(
        [
            "composer.json",
            "build.gradle",
            "pom.xml",
            "requirements.txt",
            "LICENSE",
            "README.md",
            "main.py",
            "a.py",
        ]
    ),
)
_TEXT = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([
        b'[project]\nname = ["x"]\ndependencies = "x"\nlicense = {text = 4}\nscripts = 4\n',
        b'{"dependencies": ["react"], "bin": [], "name": {}, "license": []}',
        b"[package]\nname = 4\n[dependencies]\n[workspace]\ndependencies = 4\n",
        b"[tool.poetry]\nname = 3\ndependencies = ['x']\n",
        b"install_requires" * 3 + b"['",
        b"[metadata]\nname=%(x)s\n[options]\ninstall_requires=\xff\n",
    ]),
)  # fmt: skip


@given(st.dictionaries(_NAME, _TEXT, max_size=6))
def test_any_repository_is_seen(files: dict[str, bytes]) -> None:
    found = surveyed(files)
    assert found.files == len(files)
    assert found.kind_reasons and as_markdown(found)


@pytest.mark.parametrize(
    "name", ["setup.py", "go.mod", "Gemfile", "pom.xml", "build.gradle", "LICENSE", "pubspec.yaml"]
)
def test_large_files_are_read_once(name: str) -> None:
    for piece in ("install_requires", "'a ", "gem ", "<artifactId>", '"a:', "require ", " \t", "name: ", ","):
        assert surveyed({name: piece * (MOST_FILE_BYTES // len(piece)), "a.js": ""}).files == 2
