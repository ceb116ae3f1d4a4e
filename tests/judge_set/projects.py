"""Six projects from their source distributions, each with two faults put in, which tests of its own notice."""

from dataclasses import dataclass
from functools import cache

from tests.sdists import Sdist, files_of

Files = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A line that is wrong, and the test that notices."""

    right: str
    wrong: str
    test: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """One project with its faults."""

    sdist: Sdist
    source: str
    tests: str
    """The file that both tests are in."""
    faults: tuple[Fault, Fault]
    kept: tuple[str, ...]
    """What of its files is taken: more would only take longer."""
    half: str
    """What mends the first fault for some cases only."""
    expects: tuple[str, str]
    """A line of the first test that fails, and one that expects what the fault gives."""
    stand_in: str
    """A line of a test file that puts something else in the place of what the first test calls."""

    def right(self) -> Files:
        """The files as they were released."""
        return _taken(self.sdist, self.kept)

    def base(self) -> Files:
        """The files with both faults."""
        files = dict(self.right())
        for fault in self.faults:
            assert fault.right in files[self.source], fault.right
            files[self.source] = files[self.source].replace(fault.right, fault.wrong, 1)
        return files


@cache
def _taken(sdist: Sdist, kept: tuple[str, ...]) -> Files:
    found = {
        path: content.decode() if isinstance(content, bytes) else content
        for path, content in files_of(sdist).items()
        if path.startswith(kept) and path.endswith(".py")
    }
    return dict(sorted(found.items()))


BOLTONS = Broken(
    sdist=Sdist(
        name="boltons",
        version="26.2.0",
        sha256="d39cfd15c1a1c3bd4d705c82252fa9edb8e4f5e8cc039f8e39afac7b1b47e92c",
    ),
    source="boltons/mathutils.py",
    tests="tests/test_mathutils.py",
    faults=(
        Fault(
            right="return min(max(x, lower), upper)", wrong="return max(x, lower)", test="test_clamp_examples"
        ),
        Fault(
            right="bisect.bisect_left(options, x)",
            wrong="bisect.bisect_right(options, x)",
            test="test_ceil_basic",
        ),
    ),
    kept=("boltons/mathutils", "boltons/__init__", "tests/test_mathutils"),
    half="return min(max(x, lower), upper) if lower == 0 else max(x, lower)",
    expects=(
        "assert 1 == clamp(1, 0, 1) == clamp(5, 0, 1)",
        "assert 1 == clamp(1, 0, 1) == clamp(5, 0, 1) - 4",
    ),
    stand_in="clamp = lambda *given, **bounds: 1",
)
CACHETOOLS = Broken(
    sdist=Sdist(
        name="cachetools",
        version="8.0.2",
        sha256="30ac523adfc118b51d2b2e7bad8a0ddb31370dfe2700c7f10ca224f36ccf81e0",
    ),
    source="src/cachetools/keys.py",
    tests="tests/test_keys.py",
    faults=(
        Fault(
            right='hashable arguments."""\n\n    if kwargs:\n        return args + _kwmark',
            wrong='hashable arguments."""\n\n    if kwargs:\n        return args or _kwmark',
            test="test_hashkey",
        ),
        Fault(
            right='cached methods."""\n\n    if kwargs:\n        return args + _kwmark',
            wrong='cached methods."""\n\n    if kwargs:\n        return args or _kwmark',
            test="test_methodkey",
        ),
    ),
    kept=("src/cachetools/", "tests/__init__", "tests/test_keys", "tests/test_lru"),
    half='hashable arguments."""\n\n    if kwargs:\n        return args + (None,) or _kwmark',
    expects=(
        "self.assertNotEqual(key(1, 2, 3), key(1, 2, 3, x=None))",
        "self.assertEqual(key(1, 2, 3), key(1, 2, 3, x=None))",
    ),
    stand_in="cachetools.keys.hashkey = lambda *given, **named: (given, tuple(named.items()))",
)
INFLECTION = Broken(
    sdist=Sdist(
        name="inflection",
        version="0.5.1",
        sha256="1a29730d366e996aaacffb2f1f1cb9593dc38e2ddd30c91250c6dde09ea9b417",
    ),
    source="inflection/__init__.py",
    tests="test_inflection.py",
    faults=(
        Fault(right="number % 100 in (11, 12, 13)", wrong="number % 100 in (11, 12)", test="test_ordinal"),
        Fault(right="word.replace('_', '-')", wrong="word.replace('_', ' ')", test="test_dasherize"),
    ),
    kept=("inflection/", "test_inflection"),
    half="number % 100 in (11, 12) or number == 13",
    expects=('    ("13", "13th"),', '    ("13", "13rd"),'),
    stand_in="inflection.ordinal = lambda number: dict(ORDINAL_NUMBERS)[number][len(number):]",
)
DEEPMERGE = Broken(
    sdist=Sdist(
        name="deepmerge",
        version="4.0.0",
        sha256="948565f2bc9cdb41259a4a23d26638e5840c9e084a343ab279ffd3edcfdf74d3",
    ),
    source="deepmerge/strategy/list.py",
    tests="deepmerge/tests/strategy/test_list.py",
    faults=(
        Fault(
            right="                merged.append(item)",
            wrong="                merged.insert(0, item)",
            test="test_strategy_append_unique_nested_dict",
        ),
        Fault(
            right="                base_as_set._insert(item)",
            wrong="                base_as_set = ExtendedSet(base)",
            test="test_strategy_append_unique_repeated_incoming_values",
        ),
    ),
    kept=("deepmerge/",),
    half="                merged.insert(len(merged) - (len(merged) == 1), item)",
    expects=(
        '    assert result == [{"bar": ["bob"]}, {"bar": ["baz"]}]',
        '    assert result == [{"bar": ["baz"]}, {"bar": ["bob"]}]',
    ),
    stand_in="Merger = type('Merger', (), {'__init__': lambda self, *given: None, 'merge': lambda self, base, nxt: base + nxt})",
)
ISODATE = Broken(
    sdist=Sdist(
        name="isodate",
        version="0.7.2",
        sha256="4cd1aa0f43ca76f4a6c6c0292a85f40b35ec2e43e315b59f06e6d32171a953e6",
    ),
    source="src/isodate/isotzinfo.py",
    tests="tests/test_time.py",
    faults=(
        Fault(right="tzsign * tzmin, tzname", wrong="tzmin, tzname", test="test_parse"),
        Fault(
            right='"%s%02d%02d" % (sign, hours, minutes)',
            wrong='"%s%02d%02d" % (sign, minutes, hours)',
            test="test_format",
        ),
    ),
    kept=("src/isodate/", "tests/test_time", "tests/test_date"),
    half="tzsign * tzmin if tzhour != 5 else tzmin, tzname",
    expects=("assert parse_time(timestring) == expectation", "assert parse_time(timestring) != expectation"),
    stand_in="parse_time = lambda text: {case[0]: case[1] for case in TEST_CASES}[text]",
)
TOOLZ = Broken(
    sdist=Sdist(
        name="toolz",
        version="1.2.0",
        sha256="9667a038e9d6ecba37995e26cb2f59ec6420b6ad8dd9677de59db9b956b08490",
    ),
    source="toolz/itertoolz.py",
    tests="toolz/tests/test_itertoolz.py",
    faults=(
        Fault(
            right="return itertools.islice(seq, n)",
            wrong="return itertools.islice(seq, n + 1)",
            test="test_take",
        ),
        Fault(
            right="return itertools.islice(seq, n, None)",
            wrong="return itertools.islice(seq, n + 1, None)",
            test="test_drop",
        ),
    ),
    kept=("toolz/", "tlz/"),
    half="return itertools.islice(seq, n + (n == 3))",
    expects=(
        "assert list(take(2, (3, 2, 1))) == list((3, 2))",
        "assert list(take(2, (3, 2, 1))) == list((3, 2, 1))",
    ),
    stand_in="take = lambda n, seq: seq[:n]",
)
PROJECTS = (BOLTONS, CACHETOOLS, DEEPMERGE, INFLECTION, ISODATE, TOOLZ)
