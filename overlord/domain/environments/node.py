"""What a project with a package.json needs: its packages in `node_modules`, installed by the tool whose lock file it has.

A tool other than npm is installed into the environment, so that sessions have it too.
"""

import re

from overlord.domain.checks.testruns.report import REPORT_PATH
from overlord.domain.environments.paths import NODE_MANIFESTS
from overlord.domain.environments.source import Part, Sources, shown, table, word

_MANAGER = re.compile(r"(pnpm|yarn)@(\d{1,3})\.(\d{1,4}\.\d{1,4})(?:\+[\w.]{1,200})?")
_PNPM_BY_LOCK = {"5": "7", "6": "8", "9": "10"}
"""The version of pnpm's lock format, and the last pnpm that writes it."""
_ONE_CALL = re.compile(r"[\w@%+=:,./ \"'*-]+")
"""A script without anything that a shell takes for more than words and patterns."""
_NODE_FLAGS = (
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    "--test-reporter=junit",
    f"--test-reporter-destination={REPORT_PATH}",
)
_NO_TEST = "no test specified"
_NPM = 'npm_config_cache="$XDG_CACHE_HOME/npm" npm'
_VARIABLES = (
    ("CI", "1"),  # test runners end instead of watching, and write no snapshots
    ("CYPRESS_INSTALL_BINARY", "0"),
    ("PUPPETEER_SKIP_DOWNLOAD", "1"),
    ("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"),
)
_PNPM_INSTALL = 'pnpm install{frozen} --store-dir "$XDG_CACHE_HOME/pnpm" --package-import-method copy'
_YARN_INSTALL = 'yarn install{frozen} --non-interactive --cache-folder "$XDG_CACHE_HOME/yarn"'
_BERRY_INSTALL = (
    'YARN_ENABLE_TELEMETRY=0 YARN_GLOBAL_FOLDER="$XDG_CACHE_HOME/yarn-berry" {linker}yarn install{frozen}'
)


def node_part(sources: Sources, *, beside_python: bool) -> Part | None:
    """What to do for Node, or None: beside a Python project only what a lock file fixes is installed."""
    if not sources.has("package.json"):
        return None
    locks = sources.present(("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock"))
    if beside_python and not locks:
        sources.notes.append("package.json has no lock file beside it and is left alone in a Python project")
        return None
    package = sources.json("package.json")
    tool, install = _tool(sources, package)
    scripts = table(package, "scripts")
    script = word(scripts.get("test"))
    is_tested = bool(script.strip()) and _NO_TEST not in script
    return Part(
        packages=("nodejs", "npm"),
        install=install,
        variables=_VARIABLES,
        path=("node/bin",) if tool != "npm" else (),
        inputs=_inputs(sources, package),
        tests=(tool, "test") if is_tested else (),
        reported=_reported(tool, script, scripts) if is_tested else (),
        lint=(tool, "run", "lint") if word(scripts.get("lint")).strip() else (),
        what=_explanation(package, tool, locks),
    )


def _reported(tool: str, script: str, scripts: dict[str, object]) -> tuple[str, ...]:
    """The command of the tests with a report, for a script that is one call of a runner known to write one."""
    plain = script.strip()
    if not _ONE_CALL.fullmatch(plain):
        return ()
    after = ("--",) if tool == "npm" else ()
    runner = plain.removeprefix("npx ").split()[0]
    if runner == "vitest":
        vitest = ("--run", "--reporter=default", "--reporter=junit", f"--outputFile.junit={REPORT_PATH}")
        return (tool, "test", *after, *vitest)
    if runner == "jest":
        return (tool, "test", *after, "--json", f"--outputFile={REPORT_PATH}")
    if plain.startswith("node --test") and not {"pretest", "posttest"} & scripts.keys():
        # Node reads its own options before the first path alone, so they cannot be put after the script.
        flags = " ".join(_NODE_FLAGS)
        return ("sh", "-c", plain.replace("node --test", f"node --test {flags}", 1))
    return ()


def _tool(sources: Sources, package: dict[str, object]) -> tuple[str, tuple[str, ...]]:
    """Which tool installs, and the commands that do."""
    asked = _MANAGER.fullmatch(word(package.get("packageManager")))
    tool = asked[1] if asked else ""
    version = f"{asked[2]}.{asked[3]}" if asked else ""
    if sources.has("pnpm-lock.yaml") or tool == "pnpm":
        return "pnpm", _pnpm(sources, version if tool == "pnpm" else "")
    if sources.has("yarn.lock") or tool == "yarn":
        return "yarn", _yarn(sources, version if tool == "yarn" else "")
    if sources.has("package-lock.json", "npm-shrinkwrap.json"):
        return "npm", (f"{_NPM} ci --no-audit --no-fund",)
    return "npm", (f"{_NPM} install --no-package-lock --no-audit --no-fund",)


def _pnpm(sources: Sources, version: str) -> tuple[str, ...]:
    written = re.search(r"^lockfileVersion: *'?(\d)", sources.head("pnpm-lock.yaml"), re.MULTILINE)
    version = version or _PNPM_BY_LOCK.get(written[1] if written else "", "10")
    frozen = " --frozen-lockfile" if sources.has("pnpm-lock.yaml") else " --no-lockfile"
    return (_global(f"pnpm@{version}"), _PNPM_INSTALL.format(frozen=frozen))


def _yarn(sources: Sources, version: str) -> tuple[str, ...]:
    has_lock, asks_classic = sources.has("yarn.lock"), version.startswith("1.")
    is_classic = "yarn lockfile v1" in sources.head("yarn.lock") if has_lock else asks_classic
    if is_classic and not sources.has(".yarnrc.yml"):
        frozen = " --frozen-lockfile" if has_lock else " --no-lockfile"
        return (_global(f"yarn@{version if asks_classic else '1'}"), _YARN_INSTALL.format(frozen=frozen))
    settings = sources.text(".yarnrc.yml")
    # A release kept in the repository is run by any yarn; else the one that is asked for, or the last of the fourth.
    kept = "yarnPath" in settings
    program = "yarn@1" if kept else f"@yarnpkg/cli-dist@{'4' if asks_classic else version or '4'}"
    # Packages that stay in a cache of the user's would not be there in a session.
    linker = "YARN_ENABLE_GLOBAL_CACHE=0 " if "nodeLinker" in settings else "YARN_NODE_LINKER=node-modules "
    frozen = " --immutable" if has_lock else " --no-immutable"
    return (_global(program), _BERRY_INSTALL.format(frozen=frozen, linker=linker))


def _global(program: str) -> str:
    return f'{_NPM} install --global --prefix "$MINION_ENVIRONMENT/node" --no-audit --no-fund {program}'


def _inputs(sources: Sources, package: dict[str, object]) -> tuple[str, ...]:
    """The manifests at the root, and the members' of a workspace."""
    has_members = "workspaces" in package or sources.has("pnpm-workspace.yaml")
    members = [
        name
        for name in sources.names
        if has_members and name.endswith("/package.json") and "node_modules/" not in name
    ]
    return (*sources.present(NODE_MANIFESTS), *members)


def _explanation(package: dict[str, object], tool: str, locks: tuple[str, ...]) -> tuple[str, ...]:
    source = f"package.json and {locks[0]}" if locks else "package.json"
    lines = (f"Node project, installed by {tool} ({source})",)
    engine = word(table(package, "engines").get("node"))
    return (*lines, shown(f"it asks for Node {engine}; Debian's is installed")) if engine else lines
