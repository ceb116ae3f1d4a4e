"""Python's tests as `TestCode`: bare `assert`, unittest's methods, `pytest.raises`, numpy's and mocks' own assertions."""

import re
from collections.abc import Collection, Iterator, Sequence

from tree_sitter import Node

from overlord.domain.checks.testcode.python_node import (
    BROAD,
    CATCHES,
    all_constant,
    arguments_of,
    branches,
    first_call,
    leaves_test,
    name_called,
    of_itself,
    options_of,
    strength_of,
    swallows_failure,
    tolerances_of,
    unwrapped,
)
from overlord.domain.checks.testcode.syntax import line_of, named, text_of, within, words
from overlord.domain.checks.testcode.tests import Assertion, Strength, Suspension, TestCode, Tolerances

_CALLED = re.compile(r"assert[A-Z_]\w*|assert_\w+|(?:check|verify|expect)_\w+")
"""Names of functions that assert, whoever wrote them."""
_EXACT = re.compile(
    r"assert(?:Equal|Equals|Is|IsNone|AlmostEqual|AlmostEquals|CountEqual|\w+Equal|DictContainsSubset)"
    r"|assert_(?:equal|array_equal|almost_equal|allclose|array_almost_equal|approx_equal|frame_equal|series_equal)"
    r"|assert_(?:called_once_with|called_with|has_calls|any_call|awaited_with|awaited_once_with)"
)
_SHAPE = re.compile(r"assert(?:NotEqual|NotEquals|IsNot|IsNotNone|IsInstance|NotIsInstance)")
_TRUTH = {"assertTrue": False, "assertFalse": True, "assert_": False}
_RAISES = frozenset(
    {"raises", "warns", "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex"}
)
_STAND_INS = re.compile(r"(?:\w+\.)*(?:patch|patch\.object|setattr|spy|stub|patch\.dict|patch\.multiple)")
_REPLACES = frozenset({"patch", "object", "setattr", "spy", "stub", "dict", "multiple"})
_STAND_IN = frozenset({"Mock", "MagicMock", "AsyncMock", "create_autospec", "lambda"})


def read_python(root: Node) -> dict[str, TestCode]:
    """Every function of a file by its name with its classes'; the last one of a name, as Python has it."""
    first = {item.name: item for item in _functions(root, ())}
    helpers = {item.bare_name for item in first.values() if item.asserts and not item.is_test and item.name}
    if not helpers:
        return first
    return {item.name: item for item in _functions(root, helpers)}


def _functions(root: Node, helpers: Collection[str]) -> Iterator[TestCode]:
    imported = _imported(root)
    rows = {text_of(one.child_by_field_name("left")): one for one in _assignments(root)}
    loose: list[Node] = []
    pending: list[tuple[str, Node]] = [("", one) for one in reversed(named(root))]
    while pending:
        above, node = pending.pop()
        bare, decorators = _undecorated(node)
        name = text_of(bare.child_by_field_name("name"))
        if bare.type == "function_definition":
            yield _Function(helpers, imported, rows).read(f"{above}{name}", bare, decorators)
        elif bare.type == "class_definition":
            body = named(bare.child_by_field_name("body"))
            pending += [(f"{above}{name}.", one) for one in reversed(body)]
        elif above == "":
            loose.append(node)
    outside = _Function(helpers, imported, rows)
    outside.block(loose, frozenset())
    yield TestCode(
        name="",
        line=1,
        is_test=False,
        text="",
        asserts=tuple(outside.asserts),
        stand_ins=outside.stand_ins,
    )


def _undecorated(node: Node) -> tuple[Node, list[Node]]:
    if node.type != "decorated_definition":
        return node, []
    found = node.child_by_field_name("definition")
    return found or node, [one for one in named(node) if one.type == "decorator"]


def _imported(root: Node) -> set[str]:
    """The names a file has from elsewhere."""
    found: set[str] = set()
    for node in within(root, "import_from_statement", "import_statement"):
        for one in node.children_by_field_name("name"):
            alias = one.child_by_field_name("alias") or one
            found.add(text_of(alias).partition(".")[0])
    return found


def _assignments(root: Node) -> Iterator[Node]:
    for node in named(root):
        yield from (
            one for one in named(node) if node.type == "expression_statement" and one.type == "assignment"
        )


class _Function:
    """One function, statement by statement."""

    def __init__(self, helpers: Collection[str], imported: set[str], rows: dict[str, Node]) -> None:
        self.asserts: list[Assertion] = []
        self.stand_ins: dict[str, int] = {}
        self._helpers = helpers
        self._imported = imported
        self._named_rows = rows
        self._rows: list[str] = []

    def read(self, name: str, node: Node, decorators: Sequence[Node]) -> TestCode:
        for one in decorators:
            self._decorated(one)
        self.block(named(node.child_by_field_name("body")), frozenset())
        bare = name.rpartition(".")[2]
        return TestCode(
            name=name,
            line=line_of(node),
            is_test=bare.startswith("test"),
            text=" ".join([*map(words, decorators), words(node)]),
            asserts=tuple(self.asserts),
            rows=tuple(self._rows),
            stand_ins=self.stand_ins,
        )

    def block(self, nodes: Sequence[Node], suspensions: frozenset[Suspension]) -> None:
        """Statements in a row: what stands after one that leaves is not reached, after one that may leave perhaps."""
        for node in nodes:
            self._statement(node, suspensions)
            if leaves_test(node):
                suspensions |= {Suspension.UNREACHED}
            elif node.type == "if_statement" and any(map(leaves_test, branches(node))):
                suspensions |= {Suspension.CONDITIONAL}

    def _statement(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        kind = node.type
        if kind == "assert_statement":
            self._assert(named(node)[0], node, suspensions)
        elif kind == "try_statement":
            self._try(node, suspensions)
        elif kind == "with_statement":
            self._with(node, suspensions)
        elif kind in {"if_statement", "match_statement"}:
            self._branches(node, suspensions | {Suspension.CONDITIONAL})
        elif kind in {"for_statement", "while_statement"}:
            self._loop(node, suspensions)
        elif kind in {"function_definition", "decorated_definition"}:
            bare, _ = _undecorated(node)
            self._bind(text_of(bare.child_by_field_name("name")), node)
            self.block(named(bare.child_by_field_name("body")), suspensions)
        elif kind == "class_definition":
            self.block(named(node.child_by_field_name("body")), suspensions)
        else:
            self._expression(node, suspensions)

    def _branches(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        for one in named(node):
            if one.type == "block":
                self.block(named(one), suspensions)
            elif one.type in {"elif_clause", "else_clause", "case_clause"}:
                self._branches(one, suspensions)

    def _loop(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        over = node.child_by_field_name("right")
        if over is not None and over.type in {"list", "tuple", "set"}:
            self._rows += [words(one) for one in named(over)]
            if not named(over):
                suspensions |= {Suspension.UNREACHED}
        condition = node.child_by_field_name("condition")
        if condition is not None and words(condition) not in {"True", "1"}:
            suspensions |= {Suspension.CONDITIONAL}
        self.block(named(node.child_by_field_name("body")), suspensions)

    def _try(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        handlers = [one for one in named(node) if one.type in {"except_clause", "except_group_clause"}]
        inside = suspensions | {Suspension.SWALLOWED} if any(map(swallows_failure, handlers)) else suspensions
        self.block(named(node.child_by_field_name("body")), inside)
        for one in named(node):
            if one.type in {"except_clause", "except_group_clause"}:
                self._branches(one, suspensions | {Suspension.CONDITIONAL})
            elif one.type in {"else_clause", "finally_clause"}:
                self._branches(one, suspensions)

    def _with(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        body = node.child_by_field_name("body")
        inside = suspensions
        for item in within(node, "with_item"):
            value = item.child_by_field_name("value")
            call = first_call(value)
            name = name_called(call)
            lines = [words(one) for one in arguments_of(call)]
            if name in _RAISES and call is not None:
                self._raises(call, words(body), suspensions)
                if CATCHES & set(lines):
                    inside |= {Suspension.SWALLOWED}
            elif name == "suppress" and CATCHES & set(lines):
                inside |= {Suspension.SWALLOWED}
            elif value is not None:
                self._expression(value, suspensions)
        self.block(named(body), inside)

    def _expression(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        """Calls that assert, anywhere in what is no statement of its own, and what is put in a thing's place."""
        found = [
            *([node] if node.type in {"call", "assignment"} else []),
            *within(node, "call", "assignment"),
        ]
        for call in [one for one in found if one.type == "call"]:
            name = name_called(call)
            if name in _TRUTH and (arguments := arguments_of(call)):
                self._assert(arguments[0], call, suspensions, negated=_TRUTH[name])
            elif name in _RAISES:
                self._raises(call, " ".join(words(one) for one in arguments_of(call)[1:]), suspensions)
            elif _CALLED.fullmatch(name) or name in self._helpers:
                self._call(call, name, suspensions)
            elif name == "fail":
                self._add(call, "fail", "", Strength.PART, suspensions)
            elif name in _REPLACES and _STAND_INS.fullmatch(text_of(call.child_by_field_name("function"))):
                self._replaced(call)
        for one in [one for one in found if one.type == "assignment"]:
            right = one.child_by_field_name("right")
            called = name_called(right) if right is not None and right.type == "call" else ""
            if right is not None and (right.type == "lambda" or called in _STAND_IN):
                self._bind(text_of(one.child_by_field_name("left")).rpartition(".")[2], one)

    def _decorated(self, node: Node) -> None:
        for call in within(node, "call"):
            name = name_called(call)
            if name == "parametrize" and len(arguments := arguments_of(call)) > 1:
                rows = arguments[1]
                if rows.type == "identifier" and text_of(rows) in self._named_rows:
                    rows = self._named_rows[text_of(rows)].child_by_field_name("right") or rows
                self._rows += [words(one) for one in named(rows) if rows.type in {"list", "tuple", "set"}]
            elif _STAND_INS.fullmatch(words(call.child_by_field_name("function")).replace(" ", "")):
                self._replaced(call)

    def _replaced(self, call: Node) -> None:
        """`patch("a.b.total")`, `setattr(calc, "total", …)`: the last name is what is not itself any more."""
        texts = [one for one in arguments_of(call)[:2] if one.type == "string"]
        if texts:
            self.stand_ins.setdefault(text_of(texts[-1]).strip("\"'").rpartition(".")[2], line_of(call))

    def _bind(self, name: str, node: Node) -> None:
        if name in self._imported:
            self.stand_ins.setdefault(name, line_of(node))

    def _raises(self, call: Node, subject: str, suspensions: frozenset[Suspension]) -> None:
        arguments, options = arguments_of(call), options_of(call)
        kinds = words(arguments[0]) if arguments else ""
        matched = options.get("match", "") or (
            words(arguments[1]) if name_called(call).endswith("Regex") and arguments[1:] else ""
        )
        is_broad = kinds in BROAD
        strength = (
            Strength.SHAPE
            if is_broad and not matched
            else Strength.EXACT
            if matched and not is_broad
            else Strength.PART
        )
        self._add(call, f"raises {subject}", f"{kinds} {matched}".strip(), strength, suspensions)

    def _call(self, call: Node, name: str, suspensions: frozenset[Suspension]) -> None:
        lines, options = [words(one) for one in arguments_of(call)], options_of(call)
        strength = (
            Strength.EXACT
            if _EXACT.fullmatch(name) or name in self._helpers
            else Strength.SHAPE
            if _SHAPE.fullmatch(name)
            else Strength.PART
        )
        owner = words(call.child_by_field_name("function")).rpartition(".")[0].strip()
        subject, expected = (lines[0], " , ".join(lines[1:2])) if lines else (f"{owner} {name}", "")
        if (
            name.startswith("assert_")
            and owner not in {"", "self"}
            and "testing" not in owner
            and "assert" not in owner
        ):
            subject, expected = f"{owner} {name}", " , ".join(lines)  # a mock's own
        elif len(lines) > 1 and all_constant(arguments_of(call)[:2]):
            strength = Strength.NOTHING
        elif len(lines) > 1 and lines[0] == lines[1]:
            strength = of_itself(arguments_of(call)[0])
        self._add(call, subject, expected, strength, suspensions, tolerances=tolerances_of(options))

    def _assert(
        self, tested: Node, whole: Node, suspensions: frozenset[Suspension], *, negated: bool = False
    ) -> None:
        tested = unwrapped(tested)
        if (
            tested.type == "boolean_operator"
            and not negated
            and text_of(tested.child_by_field_name("operator")) == "and"
        ):
            for side in ("left", "right"):
                part = tested.child_by_field_name(side)
                if part is not None:
                    self._assert(part, part, suspensions)
            return
        subject, expected, strength = strength_of(tested, negated=negated)
        tolerances: dict[str, float] = {}
        for call in [*([tested] if tested.type == "call" else []), *within(tested, "call")]:
            tolerances |= tolerances_of(options_of(call))
        text = f"not {words(tested)}" if negated else words(tested)
        self._add(whole, subject, expected, strength, suspensions, tolerances=tolerances, text=text)

    def _add(
        self,
        node: Node,
        subject: str,
        expected: str,
        strength: Strength,
        suspensions: frozenset[Suspension],
        *,
        tolerances: Tolerances | None = None,
        text: str = "",
    ) -> None:
        made = Assertion(
            text=text or words(node),
            subject=subject,
            expected=expected,
            strength=strength,
            line=line_of(node),
            tolerances=tolerances or {},
            suspensions=suspensions,
        )
        self.asserts.append(made)
