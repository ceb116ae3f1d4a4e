"""Code under test that shares the process of the guarded pytest and wants its failing tests to be reported as passed."""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import pytest

from minion import shell
from minion.checks.guarded_run import RunOutcome
from minion.checks.results import Results
from minion.checks.toolchain import Plan, guarded_environment, plan
from minion.protocol import CheckStep
from overlord.domain.checks.testruns.junit import CaseOutcome, parse_junit


@dataclass(frozen=True, kw_only=True)
class Ran:
    """One run of the guarded pytest, as the judge would read it."""

    exit_code: int | None
    output: str
    told: RunOutcome

    @property
    def cases(self) -> dict[str, CaseOutcome] | None:
        """Outcomes by name, or None when the run is not believed."""
        if self.told.junit is None:
            return None
        return {case.id.split("::")[-1]: case.outcome for case in parse_junit(self.told.junit) or ()}

    @property
    def controlled(self) -> set[str]:
        """Names of tests that were seen to fail when they had to."""
        cases = parse_junit(self.told.junit) or ()
        return {case.id.split("::")[-1] for case in cases if case.controlled}

    @property
    def passes(self) -> bool:
        """Whether anybody would take this for a run in which `test_add` passed."""
        return (
            self.cases is not None
            and self.cases.get("test_add") is CaseOutcome.PASSED
            and self.exit_code == 0
        )


Guarded = Callable[..., Ran]


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    root = tmp_path

    def run(files: Mapping[str, str], *words: str) -> Ran:
        tmp_path = Path(mkdtemp(dir=root))
        tree = tmp_path / "tree"
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
        with closing(Results(tmp_path / "results")) as results:
            todo = plan(
                CheckStep(name="tests", command=("pytest", *words)),
                tree,
                results.directory,
            )
            assert isinstance(todo, Plan)
            done = shell.run(
                todo.arguments,
                directory=tree,
                environment=guarded_environment(
                    {
                        **shell.plain_environment({}, tmp_path),
                        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                    }
                ),
                timeout_s=60,
                keep_bytes=40_000,
                stdin=results.far.fileno(),
            )
            assert done.exit_code is not None
            told = results.outcome(done.exit_code, 2_000_000)
        print(done.output, told.doubt)
        return Ran(exit_code=done.exit_code, output=done.output, told=told)

    return run


RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return 4\n"
TEST = "import calc\ndef test_first():\n    calc.add(0, 0)\ndef test_add():\n    assert calc.add(1, 2) == 3\n"
UNITTEST = """\
import unittest
class Case(unittest.TestCase):
    def test_add(self):
        import calc
        self.assertEqual(calc.add(1, 2), 3)
"""
LATER = """
def add(a, b):
    patch()
    return 4
"""
FORGED_LINE = json.dumps({
    "id": "test_calc.py::test_add", "when": "call", "outcome": "passed", "file": ""
})  # fmt: skip
ATTACKS = {
    "a seal from the runner's frame": """
import hmac, os, pathlib, sys
from hashlib import sha256
frame = sys._getframe()
while frame:
    key, place = frame.f_locals.get("key"), pathlib.Path(sys.argv[1])
    if isinstance(key, bytes):
        junit = b'<testsuite><testcase classname="test_calc" name="test_add" file="test_calc.py"/></testsuite>'
        place.joinpath("junit.xml").write_bytes(junit)
        place.joinpath("failed").write_bytes(b"[]")
        told = f"0 {sha256(junit).hexdigest()} {sha256(b'[]').hexdigest()}"
        place.joinpath("seal").write_text(hmac.new(key, told.encode(), "sha256").hexdigest())
        os._exit(0)
    frame = frame.f_back
""",
    "lines and no end": f"""
import os
for number in range(3, 20):
    try:
        os.write(number, {FORGED_LINE!r}.encode() + b"\\n")
    except OSError:
        pass
os._exit(0)
""",
    "an end of its own making": """
import atexit, os
def end():
    os.write(3, b'{"exit_code": 0}\\n')
    os._exit(0)
for name in os.listdir("/proc/self/fd"):
    if "socket" in os.readlink(f"/proc/self/fd/{name}") and int(name) > 2:
        os.dup2(int(name), 3)
atexit.register(end)
""",
    "closed descriptors": "import os\nos.closerange(3, 1000)\n",
    "another exit code": "import atexit, os\natexit.register(os._exit, 0)\n",
    "an exit in the middle": "import pytest\ndef add(a, b):\n    pytest.exit('done', returncode=0)\n",
    "an exit at once": "import os\ndef add(a, b):\n    os._exit(0)\n",
    "the runner's calls": """
import _pytest.runner
old = _pytest.runner.CallInfo.from_call.__func__
def from_call(cls, func, when, reraise=None):
    call = old(cls, func, when, reraise)
    call.excinfo = None
    return call
_pytest.runner.CallInfo.from_call = classmethod(from_call)
""",
    "the report's making": """
import pytest
def made(item, call):
    return pytest.TestReport(item.nodeid, item.location, {}, "passed", None, call.when)
pytest.TestReport.from_item_and_call = made
""",
    "the report's making, for one test": """
import pytest
old = pytest.TestReport.from_item_and_call
def made(item, call):
    report = old(item, call)
    if item.name == "test_add":
        report.outcome, report.longrepr = "passed", None
    return report
pytest.TestReport.from_item_and_call = made
""",
    "the report's making, once tests run": """
import pytest
def patch():
    def made(item, call):
        return pytest.TestReport(item.nodeid, item.location, {}, "passed", None, call.when)
    pytest.TestReport.from_item_and_call = made
""",
    "how functions are run": """
import pytest
old = pytest.Function.runtest
def runtest(self):
    try:
        old(self)
    except Exception:
        pass
pytest.Function.runtest = runtest
""",
    "functions that are not run": "import pytest\npytest.Function.runtest = lambda self: None\n",
    "functions, replaced as they are collected": """
import pytest
old = pytest.Function.from_parent.__func__
def from_parent(cls, parent, **more):
    item = old(cls, parent, **more)
    item._obj = lambda: None
    return item
pytest.Function.from_parent = classmethod(from_parent)
""",
    "functions, with other code": """
import gc, pytest
def patch():
    for item in gc.get_objects():
        if isinstance(item, pytest.Function):
            item.obj.__code__ = (lambda: None).__code__
""",
    "a plug-in that makes reports": """
import gc, pytest
class Good:
    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        report.outcome, report.longrepr = "passed", None
next(o for o in gc.get_objects() if isinstance(o, pytest.PytestPluginManager)).register(Good())
""",
    "a plug-in that is told of reports": """
import gc, pytest
class Good:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        report.outcome, report.longrepr = "passed", None
next(o for o in gc.get_objects() if isinstance(o, pytest.PytestPluginManager)).register(Good())
""",
    "a plug-in that runs tests": """
import gc, pytest
class Good:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        for when in ("setup", "call", "teardown"):
            report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, when)
            item.ihook.pytest_runtest_logreport(report=report)
        return True
next(o for o in gc.get_objects() if isinstance(o, pytest.PytestPluginManager)).register(Good())
""",
    "a plug-in that calls functions": """
import gc, pytest
class Good:
    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        return True
next(o for o in gc.get_objects() if isinstance(o, pytest.PytestPluginManager)).register(Good())
""",
    "the assertion error": """
import builtins
class Quiet(AssertionError):
    def __new__(cls, *words):
        import _pytest.skipping
        return __import__("pytest").skip.Exception("fine")
builtins.AssertionError = Quiet
""",
    "what is sent": """
import atexit, json, os
old = json.dumps
def dumps(*words, **more):
    return old(*words, **more).replace("failed", "passed").replace('code": 1', 'code": 0')
json.dumps = dumps
atexit.register(os._exit, 0)
""",
    "a list without the test": """
import gc, pytest
class Good:
    def pytest_collection_modifyitems(self, items):
        items.clear()
next(o for o in gc.get_objects() if isinstance(o, pytest.PytestPluginManager)).register(Good())
""",
    "a process that was forked": f"""
import os
if os.fork() == 0:
    for number in range(3, 20):
        try:
            os.write(number, {FORGED_LINE!r}.encode() + b"\\n")
        except OSError:
            pass
    os._exit(0)
os.wait()
""",
}


def attack(name: str) -> dict[str, str]:
    code = ATTACKS[name]
    body = "" if "def add" in code else LATER if "def patch" in code else WRONG
    return {"calc.py": code + body, "test_calc.py": TEST}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_code_under_test_makes_a_failing_test_pass(guarded: Guarded, name: str) -> None:
    assert not guarded(attack(name)).passes


def test_a_unittest_case_is_controlled_without_its_setup(guarded: Guarded) -> None:
    swallow = ATTACKS["how functions are run"] + WRONG
    assert not guarded({"calc.py": swallow, "test_calc.py": UNITTEST}).passes
    setup = UNITTEST.replace("    def test", "    def setUp(self):\n        print('set up')\n    def test")
    ran = guarded({"calc.py": RIGHT, "test_calc.py": setup}, "-s")
    assert (ran.passes, ran.output.count("set up"), ran.controlled) == (True, 1, {"test_add"})


def test_an_assertion_rewriter_that_drops_assertions_is_noticed(guarded: Guarded) -> None:
    drop = """
import ast
from _pytest.assertion import rewrite
class Drop(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)
old = rewrite.AssertionRewriter.run
rewrite.AssertionRewriter.run = lambda self, module: (Drop().visit(module), old(self, module))
"""
    ran = guarded({"calc.py": drop + WRONG, "test_a.py": "import calc\n", "test_b.py": TEST})
    assert ran.told.doubt.endswith("passes even with a body that must fail")


def test_a_coroutine_is_controlled_as_one(guarded: Guarded) -> None:
    test = "import calc\nasync def test_add():\n    assert calc.add(1, 2) == 3\n"
    words = ("-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto", "-W", "error",
             "-o", "asyncio_default_fixture_loop_scope=function")  # fmt: skip
    ran = guarded({"calc.py": RIGHT, "test_calc.py": test}, *words)
    assert (ran.passes, ran.controlled) == (True, {"test_add"})


HONEST = r"""
import asyncio, functools, unittest
from unittest import mock
import pytest
ORDER = []
def test_plain(): ORDER.append("plain")
@pytest.mark.parametrize("x", ["a/b", "c::d", "ü", "\U0001f600", "\x1b", "[", "<&\"'>"])
def test_parameters(x): assert x != "["
class TestClass:
    def test_method(self, tmp_path): assert super().__init__() is None
    def test_plain_method(self): pass
@mock.patch("os.getcwd")
def test_patched(_): pass
@pytest.mark.xfail
def test_xfails(): assert 0
@pytest.mark.xfail
def test_xpasses(): pass
@pytest.mark.xfail(strict=True)
def test_strict(): pass
@pytest.mark.skip(reason="not < now")
def test_skipped(): pass
@pytest.fixture
def broken(): raise ValueError("no & set up")
def test_error(broken): pass
@pytest.fixture
def late():
    yield
    raise ValueError("no tear down")
def test_late(late): pass
def test_fails(): assert "a\nb" == "<c>"
class Case(unittest.TestCase):
    def test_case(self): pass
    def test_subtests(self):
        for number in range(3):
            with self.subTest(number=number): self.assertLess(number, 2)
    @unittest.skip("later")
    def test_later(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def test_async(self): await asyncio.sleep(0)
def test_order(): assert ORDER == ["plain"]
"""
CONFTEST = """\
import pytest
FAILED = []
@pytest.fixture(scope="session", autouse=True)
def once(): print("session fixture made"); yield; print("session fixture gone")
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed: FAILED.append(item.name)
def pytest_unconfigure(): print("seen to fail:", len(FAILED))
"""


def test_an_honest_suite_is_told_as_pytest_tells_it_and_notices_nothing(
    guarded: Guarded, tmp_path: Path
) -> None:
    files = {
        "test_honest.py": HONEST,
        "conftest.py": CONFTEST,
        "test_doc.txt": ">>> 1 + 1\n2\n",
        "sub/test_skip.py": "import pytest\npytest.importorskip('no')\n",
        "sub/test_broken.py": "import nothing_of_that_name\n",
        "pytest.ini": "[pytest]\naddopts = -p xdist.plugin -n 2\n",
    }
    own = tmp_path / "own.xml"
    ran = guarded(files, f"--junitxml={own}", "-o", "junit_family=xunit1", "-s")
    theirs = {(case.id, case.file): case.outcome for case in parse_junit(own.read_text()) or ()}
    assert ran.told.junit is not None
    ours = {(case.id, case.file): case.outcome for case in parse_junit(ran.told.junit) or ()}
    assert ours == theirs
    assert len(ours) == 27
    assert [ran.output.count(f"session fixture {word}") for word in ("made", "gone")] == [1, 1]
    failed = [outcome for outcome in ours.values() if outcome is CaseOutcome.FAILED]
    assert f"seen to fail: {len(failed) - 1}\n" in ran.output  # all but the file that cannot be imported
    assert {"test_plain", "test_plain_method", "test_case", "test_order"} < ran.controlled
