"""A setup session: the commands that make a repository's environment, in one copy of base and with network, and one
report with a step for each. The environment is finished or it is none; the last step, `finish`, says which.

Secrets go into the commands' environment and nowhere else: what is said has their names in their place.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from minion import descendants, shell
from minion.errors import BadStart, GitFailed, SetupFailed
from minion.git import Git, persistently
from minion.heartbeat import Heartbeat
from minion.loopback import Loopback
from minion.protocol import (
    REPORT_PATH,
    REPOSITORY_PATH,
    SECRETS_PATH,
    SETUP_FINISHED,
    Brief,
    CheckReport,
    SetupPlan,
    StepOutcome,
    StepResult,
    encode,
)
from minion.setup import leak
from minion.setup.environment import expanded, places
from minion.setup.finish import SetupResult, finish
from minion.start import Start
from minion.workspace.trees import clear

KEPT_OUTPUT = 40_000
_CERTIFICATES = (
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
)
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")


def setup(start: Start, brief: Brief) -> None:
    """Make the environment and deliver the report. Raises SessionApiGone, SessionApiRefused, Interrupted, or BadStart."""
    place = start.environment.get("MINION_ENVIRONMENT")
    if not place:
        raise BadStart("MINION_ENVIRONMENT must name the directory a setup session fills")
    beat = Heartbeat(start.session_api)
    try:
        results = tuple(Setup(start, brief, Path(place), beat).run())
    finally:
        beat.stop()
    start.session_api.post(REPORT_PATH, encode(CheckReport(steps=results)))


class Setup:
    """One setup. `directory` is emptied first: what an earlier one left unfinished is of no use."""

    def __init__(self, start: Start, brief: Brief, directory: Path, beat: Heartbeat) -> None:
        self._start = start
        self._brief = brief
        self._plan = brief.setup or SetupPlan()
        self._directory = directory
        self._beat = beat
        self._tree = start.home / "tree"
        self._until = time.monotonic() + brief.limits.time_s
        self._known = descendants.children()
        descendants.adopt_orphans()

    def run(self) -> Iterator[StepResult]:
        """A result for each command up to the first that fails, and one for the end if none does."""
        with self._start.interrupts.waiting():
            secrets = json.loads(self._start.session_api.call("GET", SECRETS_PATH).body)
        try:
            with self._start.interrupts.waiting():
                tracked = self._fetch()
            _empty(self._directory)
        except (GitFailed, OSError) as error:
            yield _step("fetch", StepOutcome.BROKEN, output=f"The repository could not be fetched: {error}")
            return
        variables = self._variables()
        for number, command in enumerate(self._plan.commands, 1):
            self._beat.progress(number, leak.hidden(command, secrets))
            result = self._command(f"setup-{number}", command, {**variables, **secrets}, secrets)
            yield result
            if result.outcome is not StepOutcome.RAN or result.exit_code != 0:
                return
        self._beat.progress(len(self._plan.commands) + 1, SETUP_FINISHED)
        yield self._finish(tracked, variables, secrets)

    def _fetch(self) -> frozenset[str]:
        """The tree at base, with the repository that some projects take their version from; the names in it."""
        loopback = Loopback(self._start.session_api.path, patience_s=self._start.session_api.patience_s)
        git = Git(shell.search_path(self._start.search_path))
        try:
            words = ("clone", "--quiet", "--no-checkout", "--template=", loopback.url + REPOSITORY_PATH)
            persistently(
                lambda: git.run(self._start.home, *words, str(self._tree)),
                patience_s=self._start.session_api.patience_s,
            )
        finally:
            loopback.close()
        git.run(self._tree, "remote", "remove", "origin")
        git.run(self._tree, "checkout", "--quiet", "--force", "--detach", self._brief.base_sha)
        self._take(git)
        listed = git.run(self._tree, "ls-tree", "-r", "-z", "--name-only", self._brief.base_sha)
        return frozenset(name for name in listed.split("\0") if name)

    def _take(self, git: Git) -> None:
        """Put the dependency files a person approved in the place of base's."""
        head = self._brief.head_sha
        names = self._plan.taken
        listed = git.run(self._tree, "ls-tree", "-r", "-z", "--name-only", head) if names else ""
        there = set(listed.split("\0"))
        for name in names:
            clear(self._tree, name)
            if name in there:
                git.run(self._tree, "--literal-pathspecs", "checkout", "--quiet", head, "--", name)

    def _variables(self) -> dict[str, str]:
        """What commands are given, secrets apart."""
        variables = self._start.environment
        cache = Path(variables.get("MINION_CACHE") or self._start.home / "cache")
        plain = shell.plain_environment(variables, self._start.home)
        del plain["PYTHONDONTWRITEBYTECODE"]
        path = (
            *places(self._plan.path, self._directory),
            str(self._directory / "venv" / "bin"),
            plain["PATH"],
        )
        return {
            **plain,
            **_network(variables),
            **json.loads(variables.get("MINION_VARIABLES", "{}")),
            "XDG_CACHE_HOME": str(cache),
            "npm_config_cache": str(cache / "npm"),
            "YARN_CACHE_FOLDER": str(cache / "yarn"),
            "PIP_NO_INPUT": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            # A link would let whoever writes in one environment change another, and the cache.
            "UV_LINK_MODE": "copy",
            "UV_PYTHON_INSTALL_DIR": str(self._directory / "python"),
            **expanded(self._plan.variables, self._directory),
            **{name: plain[name] for name in ("HOME", "TMPDIR")},
            "MINION_ENVIRONMENT": str(self._directory),
            "PATH": os.pathsep.join(dict.fromkeys(path)),
        }

    def _command(
        self, name: str, command: str, environment: Mapping[str, str], secrets: Mapping[str, str]
    ) -> StepResult:
        shown = (leak.hidden(command, secrets),)
        try:
            done = shell.run(
                ("sh", "-euc", command),
                directory=self._tree,
                environment=environment,
                timeout_s=self._until - time.monotonic(),
                keep_bytes=KEPT_OUTPUT,
                waiting=self._start.interrupts.waiting,
            )
        except OSError as error:
            return _step(name, StepOutcome.BROKEN, command=shown, output=str(error))
        finally:
            ended = descendants.end_all_but(self._known)
        if not ended:
            left = "Processes the command started could not be ended."
            return _step(name, StepOutcome.BROKEN, command=shown, output=left)
        return StepResult(
            name=name,
            outcome=StepOutcome.TIMED_OUT if done.exit_code is None else StepOutcome.RAN,
            command=shown,
            exit_code=done.exit_code,
            output=leak.hidden(done.output, secrets),
            duration_s=round(done.duration_s, 3),
        )

    def _finish(
        self, tracked: frozenset[str], variables: Mapping[str, str], secrets: Mapping[str, str]
    ) -> StepResult:
        began = time.monotonic()
        made = SetupResult(
            directory=self._directory,
            tree=self._tree,
            tracked=tracked,
            plan=self._plan,
            secrets=secrets,
            variables=variables,
            waiting=self._start.interrupts.waiting,
        )
        try:
            outcome = finish(made, until=self._until)
        except (SetupFailed, OSError) as error:
            # TimeoutError is an OSError.
            return _step(SETUP_FINISHED, StepOutcome.BROKEN, output=leak.hidden(str(error), secrets))
        finally:
            descendants.end_all_but(self._known)
        duration_s = round(time.monotonic() - began, 3)
        return StepResult(
            name=SETUP_FINISHED, outcome=StepOutcome.RAN, exit_code=0, output=outcome, duration_s=duration_s
        )


def _network(values: Mapping[str, str]) -> dict[str, str]:
    """The certificates and proxies the runner passed, in every program's own spelling."""
    found = {name: values[name] for word in _PROXIES for name in (word, word.upper()) if name in values}
    if authority := values.get("SSL_CERT_FILE"):
        found |= {name: values.get(name, authority) for name in _CERTIFICATES}
        found["UV_SYSTEM_CERTS"] = "1"
    return found


def _empty(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for entry in directory.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _step(name: str, outcome: StepOutcome, *, command: tuple[str, ...] = (), output: str = "") -> StepResult:
    return StepResult(name=name, outcome=outcome, command=command, output=output)
