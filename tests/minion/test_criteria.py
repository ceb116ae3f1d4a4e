"""Criteria against a real check session: what their steps really show, and that no server, script or command can fake or hang it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from minion.checks import http_probe
from minion.protocol import PROBE_SAYS, PlanFile, ProbeExit, SessionKind, Terms, Tree
from minion.workspace.trees import lay_plan_file
from overlord.domain.contracts.criteria.criterion import CriterionResult, Seen
from overlord.domain.contracts.criteria.registry import Criteria, judge_all, steps_of
from tests.minion.session_api import SessionApi, check_step

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]
Files = Mapping[str, str | bytes | None]
Decide = Callable[..., tuple[CriterionResult, ...]]

TESTS = {"test_add.py": "from calc import add\ndef test_add():\n    assert add(1, 2) == 3\n"}
SERVER = """\
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = int(sys.argv[1]) if len(sys.argv) > 1 else 200
        self.send_response(status)
        self.end_headers()
        self.wfile.write(f"path={self.path} plan={os.path.exists('plan/a.md')}".encode())
    def log_message(self, *words): pass
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""


@pytest.fixture
def decide(make_door: MakeDoor, run: Run) -> Decide:
    """Run the steps of criteria over base and change, and judge what they showed."""

    def decided(
        files: Files, *written: Any, change: Files | None = None, plan: tuple[PlanFile, ...] = ()
    ) -> tuple[CriterionResult, ...]:
        criteria = TypeAdapter(Criteria).validate_python(list(written))
        terms = Terms(contract="crew", phase="build", plan=plan)
        steps = steps_of(criteria)
        session_api = make_door(files, change=change, kind=SessionKind.CHECK, steps=steps, terms=terms)
        assert run(session_api) == 0
        results = {step.name: step for step in session_api.check_report.steps}
        return judge_all(criteria, Seen(paths=frozenset()), results)

    return decided


def test_commands_in_fresh_copies_of_the_head(decide: Decide) -> None:
    results = decide(
        {"web/a.txt": "old\n"},
        {"command_succeeds": "grep new web/a.txt && touch here"},
        {"command_succeeds": {"run": "test ! -e ../here && cat a.txt", "directory": "web"}},
        {"command_succeeds": {"run": "true", "directory": "nowhere"}},
        {"command_succeeds": "no-such-program"},
        {"command_succeeds": {"run": "echo begun; sleep 600", "timeout_s": 1}},
        change={"web/a.txt": "new\n"},
    )
    assert [(result.is_met, result.exit_code) for result in results] == [
        (True, 0),
        (True, 0),
        (False, 127),
        (False, 127),
        (None, None),
    ]
    assert results[1].evidence == "new\n"
    assert results[1].duration_s is not None
    assert results[4].evidence == "begun\n"


def test_only_a_failure_that_is_meant_is_one(decide: Decide) -> None:
    results = decide(
        {**TESTS, "calc.py": "def add(a, b):\n    return a - b\n", "early/test_it.py": "import nothing_such\n"},
        {"command_fails": {"run": "python -m pytest -q test_add.py", "because": "assertion"}},
        {"command_fails": "python -m pytest -q early"},
        {"command_fails": {"run": "python -m pytest -q --continue-on-collection-errors .", "because": "assertion"}},
        {"command_fails": "kill -SEGV $$"},
        {"command_fails": "no-such-program"},
        {"command_fails": "exit 1"},
        {"command_fails": "exit 0"},
    )  # fmt: skip
    assert [(result.is_met, result.exit_code) for result in results] == [
        (True, 1),
        (False, 2),
        (False, 1),
        (False, 139),
        (False, 127),
        (True, 1),
        (False, 0),
    ]
    assert "error before any assertion: ERROR collecting early/test_it.py." in results[2].message


def test_a_missing_import_is_no_failed_assertion(decide: Decide) -> None:
    lazy = {"test_add.py": "def test_add():\n    from calc import add\n    assert add(1, 2) == 3\n"}
    [result] = decide(lazy, {"command_fails": {"run": "python -m pytest -q", "because": "assertion"}})
    assert result.is_met is False
    assert "ModuleNotFoundError: No module named 'calc'" in result.message


@pytest.mark.parametrize("is_fixed", [True, False])
def test_a_script_is_run_as_it_is_at_base_though_the_head_changed_it(decide: Decide, is_fixed: bool) -> None:
    base = {
        "ci/check.sh": "grep -q fixed calc.py",
        "ci/with-line": "#!/usr/bin/env python3\nimport sys; sys.exit('fixed' not in open('calc.py').read())\n",
        "gone.sh": "exit 4",
        "link.sh": "exit 5",
        "calc.py": "",
    }
    change = {
        "ci/check.sh": "exit 0",
        "ci/with-line": "exit 0",
        "gone.sh": None,
        "new.sh": "exit 0",
        "calc.py": "fixed" if is_fixed else "broken",
    }
    written = [{"script": name} for name in ("ci/check.sh", "ci/with-line", "gone.sh", "link.sh", "new.sh")]
    results = decide(base, *written, change=change)
    first = (True, 0) if is_fixed else (False, 1)
    assert [(result.is_met, result.exit_code) for result in results] == [
        first,
        first,
        (False, 4),
        (False, 5),
        (None, 127),
    ]


def test_a_server_that_answers_and_one_that_answers_otherwise(decide: Decide) -> None:
    ask = {"start": "python app.py", "path": "/health", "within_s": 60}
    slow = "sleep 0.7; exec python app.py"
    fork = "python app.py >/dev/null 2>&1 & exit 0"
    noisy = "yes & exec python app.py"
    results = decide(
        {"app.py": SERVER, "web/x": ""},
        {"http_answers": {**ask, "contains": "path=/health plan=True"}},
        {"http_answers": {**ask, "start": slow}},
        {"http_answers": {**ask, "start": fork}},
        {"http_answers": {**ask, "start": noisy}},
        {"http_answers": {**ask, "start": "python app.py 204", "status": 204}},
        {"http_answers": {**ask, "start": "python ../app.py", "directory": "web"}},
        {"http_answers": {**ask, "start": "python app.py 500", "within_s": 2}},
        {"http_answers": {**ask, "contains": "something else", "within_s": 2}},
        {"http_answers": {**ask, "start": "exit 3"}},
        {"http_answers": {**ask, "start": "sleep 600", "within_s": 1}},
        {"http_answers": {**ask, "directory": "nowhere"}},
        plan=(PlanFile(path="plan/a.md", text="x"),),
    )
    assert [result.is_met for result in results] == [True] * 6 + [False] * 5, [
        result.message for result in results
    ]
    assert "answered 200 with 'path=/health plan=True' in" in results[0].message
    assert results[6].message.endswith("did not answer 200 within 2 s: at last 500.")
    assert "200 without 'something else'" in results[7].message
    assert results[8].message.endswith("the server's command ended with exit code 3.")
    assert results[9].message.endswith("at last nothing listened.")
    assert results[10].message.startswith("The server could not be started")


RUDE = """\
import os, socket
listener = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
while True:
    connection, _ = listener.accept()
    {act}
"""


@pytest.mark.parametrize(
    "act",
    [
        "kept = globals().setdefault('kept', []); kept.append(connection)",
        "connection.sendall(b'no http at all\\r\\n\\r\\n'); connection.close()",
        "connection.sendall(b'HTTP/1.1 200 OK\\r\\nX: ' + b'x' * 100000); connection.close()",
        "connection.close()",
        "connection.sendall(b'HTTP/1.1 302 Found\\r\\nLocation: http://192.0.2.1/\\r\\n\\r\\n'); connection.close()",
        "[connection.sendall(b'H') or __import__('time').sleep(0.2) for _ in range(1000)]",
    ],
    ids=["silent", "nonsense", "endless-header", "closes", "redirect", "drips"],
)
def test_a_server_that_answers_no_request_is_not_waited_for(decide: Decide, act: str) -> None:
    ask = {"start": "exec python app.py", "path": "/", "within_s": 2}
    [result] = decide({"app.py": RUDE.format(act=act)}, {"http_answers": ask})
    assert result.is_met is False
    assert "did not answer 200 within 2 s" in result.message


def test_a_body_without_end_is_read_to_what_it_has_to_contain(decide: Decide) -> None:
    act = "connection.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\nready' + b'x' * 5000)"
    ask = {"start": "exec python app.py", "path": "/", "contains": "ready", "within_s": 60}
    [result] = decide({"app.py": RUDE.format(act=f"{act}; kept = connection")}, {"http_answers": ask})
    assert result.is_met is True, result.message


def test_somebody_elses_server_is_not_taken_for_ours(decide: Decide, session_listener: int) -> None:
    ask = {"start": "sleep 600", "url": f"http://127.0.0.1:{session_listener}/"}
    [result] = decide({"x": ""}, {"http_answers": ask})
    assert (result.is_met, result.exit_code) == (None, 3)
    assert "listens at" in result.message


@pytest.fixture
def session_listener() -> Any:
    """The port of somebody who listens on this machine."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_no_server_outlives_its_step(decide: Decide) -> None:
    fork = "(setsid python lonely.py >/dev/null 2>&1 &) ; exit 0"
    alive = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f 2>/dev/null; echo; done | grep -c '^python lonely.py'; true"
    first, second = decide(
        {"lonely.py": SERVER},
        {"http_answers": {"start": fork, "path": "/", "within_s": 60}},
        {"command_succeeds": f'test "$({alive})" = 0'},
    )
    assert (first.is_met, second.is_met) == (True, True), second.evidence


def test_the_plan_is_laid_over_what_a_commit_has_there(decide: Decide) -> None:
    plan = (PlanFile(path="plan/a.md", text="new\n"), PlanFile(path="plan/deep/b.md", text="b\n"))
    results = decide(
        {"plan/a.md": "old\n", "plan/kept.md": "kept\n"},
        {"command_succeeds": "cat plan/a.md plan/deep/b.md plan/kept.md"},
        plan=plan,
    )
    assert (results[0].is_met, results[0].evidence) == (True, "new\nb\nkept\n")


def test_the_plan_is_laid_into_steps_that_ask_for_it(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(
        {"x": ""},
        kind=SessionKind.CHECK,
        steps=(
            check_step("head", command=("cat", "plan/a.md"), plan=True),
            check_step("base", command=("cat", "plan/a.md"), plan=True, tree=Tree.BASE),
            check_step("without", command=("ls",)),
        ),
        terms=Terms(contract="c", phase="p", plan=(PlanFile(path="plan/a.md", text="x"),)),
    )
    assert run(session_api) == 0
    assert [result.output for result in session_api.check_report.steps] == ["x", "x", "x\n"]


@pytest.mark.parametrize(
    "path",
    ["plan", "plan/", "src/a.py", "../plan/a", "plan/../src/a.py", "/plan/a", "plan/.git/x", "plan/a\0", "", "Plan/a"],
)  # fmt: skip
def test_a_file_of_the_plan_is_below_plan(tmp_path: Any, path: str) -> None:
    with pytest.raises(ValueError, match="not below plan/"):
        lay_plan_file(tmp_path, PlanFile(path=path, text="x"))
    assert not list(tmp_path.iterdir())


def test_a_link_in_the_plans_way_is_taken_away(tmp_path: Any) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.md").write_text("kept")
    (tmp_path / "tree/plan").symlink_to(tmp_path / "outside")
    lay_plan_file(tmp_path / "tree", PlanFile(path="plan/a.md", text="x"))
    assert (tmp_path / "outside/a.md").read_text() == "kept"
    assert (tmp_path / "tree/plan/a.md").read_text() == "x"
    (tmp_path / "tree/plan/b.md").symlink_to(tmp_path / "outside/a.md")
    lay_plan_file(tmp_path / "tree", PlanFile(path="plan/b.md", text="y"))
    assert (tmp_path / "outside/a.md").read_text() == "kept"
    lay_plan_file(tmp_path / "tree", PlanFile(path="plan/b.md/c", text="z"))
    assert (tmp_path / "tree/plan/b.md/c").read_text() == "z"


def test_a_plan_that_cannot_be_laid_out_breaks_its_steps(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(
        {"x": ""},
        kind=SessionKind.CHECK,
        steps=(check_step(command=("true",), plan=True),),
        terms=Terms(contract="c", phase="p", plan=(PlanFile(path="x", text="x"),)),
    )
    assert run(session_api) == 0
    [result] = session_api.check_report.steps
    assert (result.outcome, result.output) == ("broken", "The plan has a file that is not below plan/: 'x'")


def test_the_probe_and_the_protocol_use_the_same_numbers() -> None:
    numbers = (http_probe.ANSWERED, http_probe.NOT_ANSWERED, http_probe.NOT_JUDGED)
    assert numbers == tuple(ProbeExit)
    assert http_probe.SAYS == PROBE_SAYS
