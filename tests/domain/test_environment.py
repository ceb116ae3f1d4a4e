"""What is detected for a repository of each kind, and what makes two environments the same."""

import shlex
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import SetupPlan
from overlord.domain.checks.file import CheckCommand
from overlord.domain.checks.testruns.report import REPORT_PATH
from overlord.domain.environments.file import ENVIRONMENT_PATH, EnvironmentFileError
from overlord.domain.environments.poetry import INSTALL_ITSELF, poetry_requirement
from overlord.domain.environments.python import PREPARE
from overlord.domain.environments.recipe import Recipe, detect, environment_key, recipe, wanted

BUILD = '[build-system]\nrequires = ["hatchling>=1"]\nbuild-backend = "hatchling.build"\n'
PROJECT = '[project]\nname = "shop"\nversion = "1"\ndependencies = ["idna"]\n'


def detected(files: Mapping[str, str], *others: str) -> Recipe:
    """As the engine does it: only what is wanted is read."""
    names = (*files, *others)
    read = {path: files[path].encode() for path in wanted(names) if path in files}
    return detect(read, names)


def installs(files: Mapping[str, str], *others: str) -> list[str]:
    """The commands after the virtual environment is made."""
    prepared, *rest = detected(files, *others).plan.commands
    assert prepared == PREPARE
    return rest


def test_a_repository_without_a_manifest_runs_in_the_bare_image() -> None:
    found = detected({}, "README.md", "src/shop.py")
    assert found.is_empty
    assert found.what == ("no manifest of a known kind at the root: sessions run in the bare image",)


def test_projects_below_the_root_are_named_and_not_set_up() -> None:
    found = detected({}, "backend/pyproject.toml", "web/app/package.json", "a/b/c/go.mod")
    assert found.is_empty
    assert "backend/pyproject.toml, web/app/package.json" in found.what[1]


def test_settings_of_tools_alone_are_no_project() -> None:
    assert detected({"pyproject.toml": "[tool.ruff]\nline-length = 99\n"}).is_empty


def test_a_package_is_installed_editable_with_its_test_extras_and_groups() -> None:
    manifest = (
        f"{PROJECT}[project.optional-dependencies]\ntest = []\nDev = []\ndocs = []\n"
        f'[dependency-groups]\ntesting = ["pytest"]\nlint = ["ruff"]\n{BUILD}'
    )
    found = detected({"pyproject.toml": manifest})
    assert found.plan.commands == (PREPARE, "uv pip install --editable '.[test,Dev]' --group testing")
    assert found.plan.path == ("venv/bin",)
    assert ("VIRTUAL_ENV", "{environment}/venv") in found.plan.variables
    assert found.inputs == ("pyproject.toml",)
    assert found.packages == ()
    assert found.tests is None
    assert found.what == (
        "Python project built with hatchling (pyproject.toml)",
        "extras test, Dev",
        "dependency groups testing",
    )


@pytest.mark.parametrize(
    ("backend", "told"),
    [
        ("flit_core.buildapi", "flit_core"),
        ("setuptools.build_meta:__legacy__", "setuptools"),
        ("", "setuptools"),
    ],
)
def test_any_builder_is_named_and_used(backend: str, told: str) -> None:
    system = f'[build-system]\nrequires = []\nbuild-backend = "{backend}"\n'
    found = detected({"pyproject.toml": PROJECT + system})
    assert found.plan.commands[1] == "uv pip install --editable ."
    assert found.what == (f"Python project built with {told} (pyproject.toml)",)


def test_a_setup_py_is_read_and_never_run() -> None:
    setup = (
        "from setuptools import setup\nsetup(extras_require={'test': ['pytest'], 'docs': [], name(): 1})\n"
    )
    found = detected({"setup.py": setup}, "requirements.txt")
    assert found.plan.commands[1:] == ("uv pip install --editable '.[test]' --requirements requirements.txt",)
    assert found.what == ("Python project built with setuptools (setup.py)", "extras test")


def test_a_setup_cfg_is_a_package_when_it_has_options() -> None:
    options = "[options]\npackages = find:\n[options.extras_require]\ntesting =\n    pytest\n"
    assert installs({"setup.cfg": options}) == ["uv pip install --editable '.[testing]'"]
    assert detected({"setup.cfg": "[flake8]\nmax-line-length = 99\n"}).is_empty


def test_a_project_that_is_no_package_gets_its_dependencies_only() -> None:
    manifest = f'{PROJECT}[project.optional-dependencies]\ntest = []\n[dependency-groups]\ndev = ["pytest"]\n'
    assert installs({"pyproject.toml": manifest}) == [
        "uv pip install --requirements pyproject.toml --extra test --group dev"
    ]


def test_requirement_files_alone_make_an_environment() -> None:
    found = detected(
        {}, "requirements.txt", "requirements-dev.txt", "requirements-test.txt", "constraints.txt"
    )
    assert found.plan.commands[1:] == (
        "uv pip install --requirements requirements.txt --requirements requirements-test.txt",
    )
    assert found.inputs == (
        "constraints.txt",
        "requirements-dev.txt",
        "requirements-test.txt",
        "requirements.txt",
    )
    assert installs({}, "requirements/base.txt", "requirements/dev.txt") == [
        "uv pip install --requirements requirements/base.txt --requirements requirements/dev.txt"
    ]


def test_a_package_that_says_its_dependencies_has_its_requirements_only_for_want_of_others() -> None:
    assert installs({"pyproject.toml": PROJECT + BUILD}, "requirements.txt") == [
        "uv pip install --editable . --requirements requirements.txt"
    ]
    assert installs({"pyproject.toml": PROJECT + BUILD}, "requirements.txt", "test-requirements.txt") == [
        "uv pip install --editable . --requirements test-requirements.txt"
    ]
    dynamic = '[project]\nname = "shop"\ndynamic = ["dependencies"]\n'
    assert (
        "--requirements requirements.txt"
        in installs({"pyproject.toml": dynamic + BUILD}, "requirements.txt", "test-requirements.txt")[0]
    )


def test_uv_syncs_what_is_locked() -> None:
    manifest = (
        f'{PROJECT}[project.optional-dependencies]\ntest = []\n[dependency-groups]\ndev = ["pytest"]\n{BUILD}'
    )
    found = detected(
        {"pyproject.toml": manifest}, "uv.lock", "members/a/pyproject.toml", "requirements-dev.txt"
    )
    assert found.plan.commands[1:] == (
        'uv sync --frozen --python "$MINION_ENVIRONMENT/venv"/bin/python --extra test --group dev',
    )
    assert found.inputs == ("members/a/pyproject.toml", "pyproject.toml", "requirements-dev.txt", "uv.lock")
    assert found.what[0] == "Python project with dependencies from uv.lock"


def test_a_workspace_is_synced_with_all_its_members() -> None:
    manifest = '[tool.uv.workspace]\nmembers = ["a"]\n'
    assert installs({"pyproject.toml": manifest}, "uv.lock") == [
        'uv sync --frozen --python "$MINION_ENVIRONMENT/venv"/bin/python --all-packages'
    ]


POETRY = """
[tool.poetry]
name = "shop"
[tool.poetry.dependencies]
python = "^3.9"
[tool.poetry.extras]
test = ["idna"]
[tool.poetry.dev-dependencies]
coverage = "*"
python = "^3.9"
[tool.poetry.group.test.dependencies]
pytest = "^8.1"
anyio = {version = "~4.2", extras = ["trio"]}
ours = {path = "../ours"}
[tool.poetry.group.docs.dependencies]
sphinx = "*"
[build-system]
requires = ["poetry-core"]
build-backend = "poetry.core.masonry.api"
"""


def test_poetrys_lock_is_exported_and_installed_by_uv() -> None:
    found = detected({"pyproject.toml": POETRY}, "poetry.lock")
    export, install, itself = found.plan.commands[1:]
    assert export.endswith(
        'export --no-interaction --with dev --with test --extras test --output "$MINION_ENVIRONMENT/requirements.txt"'
    )
    assert install == 'uv pip install --requirements "$MINION_ENVIRONMENT/requirements.txt"'
    assert itself == INSTALL_ITSELF
    assert found.inputs == ("poetry.lock", "pyproject.toml")
    assert "development groups dev, test" in found.what


def test_poetry_without_package_mode_does_not_install_the_project() -> None:
    manifest = POETRY.replace('name = "shop"', "package-mode = false")
    assert INSTALL_ITSELF not in installs({"pyproject.toml": manifest}, "poetry.lock")


def test_poetrys_groups_are_translated_where_nothing_is_locked() -> None:
    found = detected({"pyproject.toml": POETRY})
    assert found.plan.commands[1] == (
        "uv pip install --editable '.[test]' coverage 'pytest>=8.1,<9' 'anyio[trio]>=4.2,<4.3'"
    )
    assert any("left out" in sentence for sentence in found.what)


@pytest.mark.parametrize(
    ("constraint", "standard"),
    [
        ("*", "x"),
        ("^1.2.3", "x>=1.2.3,<2"),
        ("^0.2.3", "x>=0.2.3,<0.3"),
        ("^0.0", "x>=0.0,<0.1"),
        ("~1", "x>=1,<2"),
        ("~1.2.3", "x>=1.2.3,<1.3"),
        ("1.2", "x==1.2"),
        (">=1,<2", "x>=1,<2"),
        ("^1 || ^2", "x^1 || ^2"),
    ],
)
def test_poetrys_constraints_as_the_standard_writes_them(constraint: str, standard: str) -> None:
    assert poetry_requirement("x", constraint) == standard


def test_pdms_lock_is_exported_and_installed_by_uv() -> None:
    manifest = (
        f'{PROJECT}[dependency-groups]\ndev = []\n[tool.pdm.dev-dependencies]\ntest = ["pytest"]\n{BUILD}'
    )
    export, _, itself = installs({"pyproject.toml": manifest}, "pdm.lock")
    assert "export --format requirements --group dev --group test --output" in export
    assert itself == INSTALL_ITSELF
    assert installs({"pyproject.toml": manifest}) == ["uv pip install --editable . --group dev pytest"]
    library = manifest + "[tool.pdm]\ndistribution = false\n"
    assert INSTALL_ITSELF not in installs({"pyproject.toml": library}, "pdm.lock")


def test_pipenv() -> None:
    assert installs({}, "Pipfile", "Pipfile.lock") == ["uvx pipenv sync --dev"]
    assert installs({}, "Pipfile") == ["uvx pipenv install --dev --skip-lock"]


TOX = """
[tox]
envlist = py311
[testenv]
deps =
    pytest>=7  # the runner
    py27: mock
    -r{toxinidir}/ci/tests.txt
    -rmissing.txt
    https://example.org/x.whl
    .[testing]
[testenv:docs]
deps = sphinx
"""
NOX = """
import nox
@nox.session
def tests(session):
    session.install("-r", "ci/tests.txt", "pytest", VERSION)
    session.install(".[dev]", "coverage[toml]")
    print("x")
@nox.session
def docs(session):
    session.install("sphinx")
"""


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"tox.ini": TOX}, "uv pip install --editable '.[testing]' --requirements ci/tests.txt 'pytest>=7'"),
        (
            {"setup.cfg": "[testenv]\ndeps = pytest\nextras = test, docs\n"},
            "uv pip install --editable '.[test]' pytest",
        ),
        (
            {
                "tox.toml": '[env_run_base]\ndeps = ["pytest"]\n[env.py312]\ndeps = ["mock"]\n[env.docs]\ndeps = ["x"]\n'
            },
            "uv pip install --editable . pytest mock",
        ),
        (
            {"noxfile.py": NOX},
            "uv pip install --editable '.[dev]' --requirements ci/tests.txt pytest 'coverage[toml]'",
        ),
        (
            {"hatch.toml": '[envs.default]\ndependencies = ["pytest"]\nfeatures = ["test"]\n'},
            "uv pip install --editable '.[test]' pytest",
        ),
    ],
)
def test_tox_nox_and_hatch_are_asked_when_nothing_else_says_what_tests_need(
    files: dict[str, str], command: str
) -> None:
    others = {"pyproject.toml": PROJECT + BUILD}
    found = detected({**others, **files}, "ci/tests.txt")
    assert found.plan.commands[1] == command
    assert any(sentence.startswith(f"test dependencies from {next(iter(files))}") for sentence in found.what)
    grouped = {"pyproject.toml": f'{PROJECT}[dependency-groups]\ntest = ["pytest"]\n{BUILD}'}
    assert installs({**grouped, **files}) == ["uv pip install --editable . --group test"]


def test_tox_and_hatch_in_pyproject() -> None:
    tox = f'{PROJECT}{BUILD}[tool.tox.env_run_base]\ndeps = ["pytest"]\n'
    assert installs({"pyproject.toml": tox}) == ["uv pip install --editable . pytest"]
    old = f'{PROJECT}{BUILD}[tool.tox]\nlegacy_tox_ini = "x"\nenv_run_base = {{deps = ["pytest"]}}\n'
    assert installs({"pyproject.toml": old}) == ["uv pip install --editable ."]
    hatch = f'{PROJECT}{BUILD}[tool.hatch.envs.hatch-test]\nextra-dependencies = ["attrs"]\n'
    assert installs({"pyproject.toml": hatch}) == ["uv pip install --editable . attrs"]


def test_what_tox_says_is_added_to_a_lock() -> None:
    files = {"pyproject.toml": PROJECT, "tox.ini": "[testenv]\ndeps = pytest\n"}
    assert installs(files, "uv.lock")[1] == "uv pip install pytest"


def test_extensions_bring_a_compiler_and_make_their_sources_inputs() -> None:
    files = {"pyproject.toml": PROJECT, "setup.py": "setup(ext_modules=[Extension('x', ['x.c'])])"}
    found = detected(files, "src/x.c", "src/x.h", "docs/x.md", "src/x.rs")
    assert found.packages == ("build-essential", "python3-dev")
    assert found.inputs == ("pyproject.toml", "setup.py", "src/x.c", "src/x.h")
    assert "it compiles extensions, with build-essential, python3-dev" in found.what
    cython = BUILD.replace('"hatchling>=1"', '"setuptools", "Cython>=3"')
    assert detected({"pyproject.toml": PROJECT + cython}).packages == ("build-essential", "python3-dev")


def test_rust_extensions_bring_cargo() -> None:
    maturin = BUILD.replace("hatchling>=1", "maturin>=1,<2").replace("hatchling.build", "maturin")
    found = detected({"pyproject.toml": PROJECT + maturin}, "src/lib.rs", "rust/Cargo.toml")
    assert found.packages == ("cargo", "build-essential", "python3-dev")
    assert found.inputs == ("pyproject.toml", "rust/Cargo.toml", "src/lib.rs")


PACKAGE = '{"scripts": {"test": "vitest run", "lint": "eslint ."}, "engines": {"node": ">=22"}}'


def test_npm() -> None:
    found = detected({"package.json": PACKAGE}, "package-lock.json")
    assert found.packages == ("nodejs", "npm")
    assert found.plan.commands == ('npm_config_cache="$XDG_CACHE_HOME/npm" npm ci --no-audit --no-fund',)
    assert found.plan.path == ()
    assert found.tests is not None
    assert (found.tests.words, found.tests.junit) == ("npm test", REPORT_PATH)
    assert found.lint == CheckCommand(command=("npm", "run", "lint"))
    assert found.inputs == ("package-lock.json", "package.json")
    assert found.what == (
        "Node project, installed by npm (package.json and package-lock.json)",
        "it asks for Node >=22; Debian's is installed",
    )


def test_npm_without_a_lock_writes_none() -> None:
    example = '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'
    found = detected({"package.json": example})
    assert "npm install --no-package-lock" in found.plan.commands[0]
    assert found.tests is None
    assert found.lint is None


@pytest.mark.parametrize(
    ("package", "files", "program", "install"),
    [
        (
            '{"packageManager": "pnpm@9.1.0+sha512.abc"}',
            {"pnpm-lock.yaml": ""},
            "pnpm@9.1.0",
            "--frozen-lockfile",
        ),
        ('{"packageManager": "pnpm@9.1.0"}', {}, "pnpm@9.1.0", "--no-lockfile"),
        ("{}", {"pnpm-lock.yaml": "lockfileVersion: '6.0'\n"}, "pnpm@8", "--frozen-lockfile"),
        ("{}", {"pnpm-lock.yaml": "lockfileVersion: 5.4\n"}, "pnpm@7", "--frozen-lockfile"),
        ('{"packageManager": "pnpm@9; true"}', {"pnpm-lock.yaml": ""}, "pnpm@10", "--frozen-lockfile"),
        ("{}", {"yarn.lock": "# yarn lockfile v1\n"}, "yarn@1", "--frozen-lockfile"),
        ('{"packageManager": "yarn@1.22.19"}', {}, "yarn@1.22.19", "--no-lockfile"),
        (
            '{"packageManager": "yarn@4.6.0"}',
            {"yarn.lock": "# yarn lockfile v1\n"},
            "yarn@1",
            "--frozen-lockfile",
        ),
        (
            '{"packageManager": "yarn@4.6.0"}',
            {"yarn.lock": "__metadata:\n"},
            "@yarnpkg/cli-dist@4.6.0",
            "--immutable",
        ),
        ('{"packageManager": "yarn@4.6.0"}', {}, "@yarnpkg/cli-dist@4.6.0", "--no-immutable"),
        (
            '{"packageManager": "yarn@1.22.0"}',
            {"yarn.lock": "__metadata:\n"},
            "@yarnpkg/cli-dist@4",
            "--immutable",
        ),
        (
            "{}",
            {"yarn.lock": "", ".yarnrc.yml": "yarnPath: x\nnodeLinker: pnp\n"},
            "yarn@1",
            "GLOBAL_CACHE=0",
        ),
        ("{}", {"yarn.lock": "", ".yarnrc.yml": ""}, "@yarnpkg/cli-dist@4", "NODE_LINKER=node-modules"),
    ],
)
def test_pnpm_and_yarn_are_put_into_the_environment(
    package: str, files: dict[str, str], program: str, install: str
) -> None:
    found = detected({"package.json": package, **files})
    first, second = found.plan.commands
    assert first.endswith(f" {program}")
    assert install in second
    assert found.plan.path == ("node/bin",)


def test_the_members_of_a_node_workspace_are_inputs() -> None:
    members = ("a/package.json", "a/node_modules/x/package.json", "a/src.js")
    found = detected({"package.json": '{"workspaces": ["a"]}'}, "package-lock.json", *members)
    assert found.inputs == ("a/package.json", "package-lock.json", "package.json")


def test_beside_python_only_a_locked_node_project_is_installed() -> None:
    python = {"pyproject.toml": PROJECT + BUILD, "package.json": PACKAGE}
    assert detected(python).packages == ()
    assert any("left alone" in sentence for sentence in detected(python).what)
    both = detected(python, "package-lock.json")
    assert both.packages == ("nodejs", "npm")
    assert both.tests is None
    assert len(both.plan.commands) == 3


def test_go() -> None:
    found = detected({}, "go.mod", "go.sum")
    assert found.packages == ("golang-go",)
    assert found.plan.commands[0].endswith("go mod download")
    assert dict(found.plan.variables)["GOPROXY"] == "off"
    assert found.tests is not None
    assert (found.tests.words, found.tests.junit) == ("go test ./...", REPORT_PATH)
    assert len(detected({}, "go.mod", "vendor/modules.txt").plan.commands) == 1


def test_cargo() -> None:
    found = detected({"Cargo.toml": "[workspace]\n"}, "Cargo.lock", "a/Cargo.toml", "rust-toolchain.toml")
    assert found.packages == ("cargo",)
    assert found.plan.commands == ("CARGO_NET_OFFLINE=false cargo fetch --locked",)
    assert found.inputs == ("Cargo.lock", "Cargo.toml", "a/Cargo.toml", "rust-toolchain.toml")
    assert found.tests == CheckCommand(command=("cargo", "test", "--offline"))
    assert found.lint is None
    assert "it pins a Rust toolchain; Debian's is installed" in found.what
    assert detected({"Cargo.toml": "[package]\n"}).plan.commands[0].endswith("cargo fetch")


def test_two_languages_are_tested_one_after_the_other() -> None:
    found = detected({"package.json": PACKAGE, "Cargo.toml": ""}, "go.mod")
    assert found.tests is not None
    assert found.tests.command == ("sh", "-c", "npm test && go test ./... && cargo test --offline")


DEVCONTAINER = """{
  // what the team uses
  "image": "mcr.microsoft.com/devcontainers/python:3.12", /* "image": "evil" */
  "postCreateCommand": "make // not a comment",
}"""
DOCKERFILE = """FROM --platform=linux/amd64 golang:1.24 AS build
RUN make
FROM debian:trixie-slim
"""


def test_images_of_the_repositorys_choosing_are_named_and_not_used() -> None:
    found = detected({".devcontainer/devcontainer.json": DEVCONTAINER, "Dockerfile": DOCKERFILE})
    assert found.image == ""
    assert found.is_empty
    told = "\n".join(found.what)
    assert "mcr.microsoft.com/devcontainers/python:3.12, which is used when" in told
    assert "postCreateCommand" in told
    assert "debian:trixie-slim, which is used when" in told


@pytest.mark.parametrize("last", ["FROM build", "FROM scratch", "FROM $BASE", "RUN x", "FROM a;b"])
def test_a_last_stage_that_is_no_plain_image_is_no_hint(last: str) -> None:
    found = detected(
        {"Dockerfile": f"FROM debian AS build\n{last}\n", ".devcontainer.json": '{"image": "a b"}'}
    )
    assert ("debian" in "".join(found.what)) is (last == "RUN x")


def read(file: str, files: Mapping[str, str], *others: str) -> Recipe:
    everything = {ENVIRONMENT_PATH: file, **files}
    names = (*everything, *others)
    return recipe({path: everything[path].encode() for path in wanted(names)}, names)


def test_without_the_file_detection_is_all() -> None:
    files = {"pyproject.toml": (PROJECT + BUILD).encode()}
    assert recipe(files, files) == detect(files, files)


def test_setup_commands_replace_detected_ones_and_keep_the_virtual_environment() -> None:
    found = read("setup: make deps\npackages: libpq-dev\n", {"pyproject.toml": PROJECT + BUILD})
    assert found.plan.commands == (PREPARE, "make deps")
    assert found.plan.path == ("venv/bin",)
    assert found.packages == ("libpq-dev",)
    assert found.inputs == (ENVIRONMENT_PATH, "pyproject.toml")
    assert found.what[:2] == (
        ".nebulus/environment.yaml: packages libpq-dev",
        ".nebulus/environment.yaml: setup in 1 command, instead of what is detected",
    )


def test_with_detect_true_they_come_after_the_detected_ones() -> None:
    found = read("setup: [make deps]\ndetect: true\n", {"pyproject.toml": PROJECT + BUILD})
    assert found.plan.commands == (PREPARE, "uv pip install --editable .", "make deps")


def test_with_detect_false_the_file_is_all() -> None:
    found = read("image: debian:13\ndetect: false\n", {"pyproject.toml": PROJECT + BUILD})
    assert found.image == "debian:13"
    assert found.plan == SetupPlan()
    assert found.inputs == (ENVIRONMENT_PATH,)
    assert not found.is_empty
    assert found.what[1] == ".nebulus/environment.yaml: nothing is detected"


def test_the_files_own_variables_and_paths_win() -> None:
    found = read("variables: {UV_NO_SYNC: '0'}\npath: [bin]\ninputs: [setup.sh]\n", {"setup.py": ""})
    assert dict(found.plan.variables)["UV_NO_SYNC"] == "0"
    assert found.plan.path == ("bin", "venv/bin")
    assert "setup.sh" in found.inputs


def test_a_file_that_is_there_and_was_not_read_is_not_taken_for_absent() -> None:
    with pytest.raises(EnvironmentFileError, match="not a file"):
        recipe({}, [ENVIRONMENT_PATH])


SHUFFLED = Recipe(
    packages=("b", "a"),
    plan=SetupPlan(commands=("x", "y"), variables=(("B", "2"), ("A", "1"))),
    inputs=("q", "p", "missing"),
)
SORTED = Recipe(
    packages=("a", "b"),
    plan=SetupPlan(commands=("x", "y"), variables=(("A", "1"), ("B", "2"))),
    inputs=("missing", "p", "q"),
    what=("other words",),
)


def test_a_key_does_not_depend_on_order() -> None:
    key = environment_key(SHUFFLED, {"p": "1", "q": "2", "other": "3"}, "ground")
    assert key == environment_key(SORTED, {"q": "2", "p": "1"}, "ground")
    assert len(key) == 20
    assert set(key) <= set("0123456789abcdef")


def test_a_key_changes_with_everything_that_matters() -> None:
    blobs = {"p": "1", "q": "2"}
    keys = {
        environment_key(SORTED, blobs, "ground"),
        environment_key(SORTED, blobs, "other ground"),
        environment_key(SORTED, {**blobs, "p": "3"}, "ground"),
        environment_key(SORTED, {**blobs, "missing": "3"}, "ground"),
        environment_key(Recipe(plan=SORTED.plan, inputs=SORTED.inputs), blobs, "ground"),
        environment_key(Recipe(image="x", plan=SORTED.plan, inputs=SORTED.inputs), blobs, "ground"),
        environment_key(Recipe(plan=SetupPlan(commands=("y", "x"))), blobs, "ground"),
        environment_key(Recipe(plan=SetupPlan(commands=("x", "y"))), blobs, "ground"),
        environment_key(Recipe(plan=SetupPlan(path=("x", "y"))), blobs, "ground"),
    }
    assert len(keys) == 9


HOSTILE = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "test'; touch x; '",
            "--index-url=http://x",
            "-e",
            "$(id)",
            "`id`",
            "test\nid",
            "../../x",
            "test&&id",
        ]
    ),
)


@given(HOSTILE, HOSTILE)
def test_what_a_repository_writes_never_becomes_shell(first: str, second: str) -> None:
    def text(value: str) -> str:
        return (
            '"'
            + "".join(f"\\U{ord(char):08x}" if not 0xD800 <= ord(char) < 0xE000 else "?" for char in value)
            + '"'
        )

    manifest = (
        f"[project]\nname = {text(first)}\n[project.optional-dependencies]\n{text(first)} = []\n{text('test')} = []\n"
        f"[dependency-groups]\n{text(second)} = []\n[tool.poetry.group.dev.dependencies]\n{text(first)} = {text(second)}\n"
        f"[tool.pdm.dev-dependencies]\ntest = [{text(first)}, {text(second)}]\n{BUILD}"
    )
    tox = f"[testenv]\ndeps =\n    {first}\n    -r{second}\nextras = {first}\n"
    nox = f"def test(session):\n    session.install({first!r}, {second!r})\n"
    for files in (
        {"pyproject.toml": manifest},
        {"setup.py": "", "tox.ini": tox},
        {"setup.py": "", "noxfile.py": nox},
    ):
        content = {name: value.encode("utf-8", "replace") for name, value in files.items()}
        [command] = detect(content, {*content, first, second, f"requirements-{first}.txt"}).plan.commands[1:]
        words = shlex.split(command)
        assert shlex.join(words) == command
        assert words[:4] == ["uv", "pip", "install", "--editable"]
        assert {word for word in words if word.startswith("-")} <= {"--editable", "--group", "--requirements"}
        assert not any(character in command for character in "\n`$\\")


def test_the_image_a_repository_names_is_used_when_its_file_says_so() -> None:
    files = {
        ".nebulus/environment.yaml": "image: detected\n",
        ".devcontainer/devcontainer.json": DEVCONTAINER,
        "Dockerfile": DOCKERFILE,
    }
    contents = {path: text.encode() for path, text in files.items()}
    found = recipe(contents, files)
    assert found.image == "mcr.microsoft.com/devcontainers/python:3.12"
    assert ".devcontainer/devcontainer.json" in found.inputs
    del contents[".devcontainer/devcontainer.json"]
    assert recipe(contents, contents).inputs.count("Dockerfile") == 1
    with pytest.raises(EnvironmentFileError, match="neither a devcontainer nor a Dockerfile"):
        recipe({".nebulus/environment.yaml": b"image: detected\n"}, [".nebulus/environment.yaml"])
