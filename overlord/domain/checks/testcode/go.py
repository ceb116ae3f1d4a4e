"""Go's tests as `TestCode`: `if got != want { t.Errorf(…) }`, tables of cases, and testify's assertions."""

import re
from collections.abc import Collection, Iterator, Sequence

from tree_sitter import Node

from overlord.domain.checks.testcode.syntax import line_of, named, text_of, within, words
from overlord.domain.checks.testcode.tests import Assertion, Strength, Suspension, TestCode

_FAILS = re.compile(r"(?:\w+\s*\.\s*)?(?:Errorf?|Fatalf?|Fail|FailNow)|panic")
_LEAVES = re.compile(r"\w+\s*\.\s*(?:Skip|Skipf|SkipNow)")
_OWNERS = frozenset({"assert", "require", "is", "qt", "check"})
_EXACT = re.compile(
    r"Equal\w*|Exactly|JSONEq|YAMLEq|ElementsMatch|InDelta\w*|InEpsilon\w*|Nil|True|False|Len|Same|EqualError|ErrorIs|Empty|Zero"
)
_SHAPE = re.compile(r"NotNil|NotEmpty|NotEqual\w*|IsType|Error|NotZero|Implements|NotPanics|NotSame")
_CONSTANTS = frozenset(
    {
        "int_literal",
        "float_literal",
        "interpreted_string_literal",
        "raw_string_literal",
        "rune_literal",
        "true",
        "false",
        "nil",
    }
)


def read_go(root: Node) -> dict[str, TestCode]:
    """Every function of a file by its name."""
    functions = [one for one in named(root) if one.type in {"function_declaration", "method_declaration"}]
    first = [_Function(()).read(one) for one in functions]
    helpers = {item.name for item in first if item.asserts and not item.is_test}
    found = [_Function(helpers).read(one) for one in functions] if helpers else first
    return {item.name: item for item in found}


class _Function:
    """One function, statement by statement."""

    def __init__(self, helpers: Collection[str]) -> None:
        self._helpers = helpers
        self._asserts: list[Assertion] = []
        self._rows: list[str] = []
        self._stand_ins: dict[str, int] = {}
        self._values: dict[str, str] = {}
        """What a name was last given: `got` stands for what it was called with."""

    def read(self, node: Node) -> TestCode:
        name = text_of(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        recovers = (
            frozenset({Suspension.SWALLOWED})
            if re.search(r"\brecover\(\)", text_of(body))
            else frozenset[Suspension]()
        )
        self._block(_statements(body), recovers)
        return TestCode(
            name=name,
            line=line_of(node),
            is_test=name.startswith(("Test", "Fuzz", "Example")),
            text=words(node),
            asserts=tuple(self._asserts),
            rows=tuple(self._rows),
            stand_ins=self._stand_ins,
        )

    def _block(self, nodes: Sequence[Node], suspensions: frozenset[Suspension]) -> None:
        for node in nodes:
            self._statement(node, suspensions)
            if _leaves(node):
                suspensions |= {Suspension.UNREACHED}
            elif (
                node.type == "if_statement"
                and not _fails(node)
                and any(map(_leaves, _statements(node.child_by_field_name("consequence"))))
            ):
                suspensions |= {Suspension.CONDITIONAL}

    def _statement(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        kind = node.type
        if kind == "if_statement":
            self._if(node, suspensions)
        elif kind == "for_statement":
            self._block(_statements(node.child_by_field_name("body")), suspensions)
        elif kind in {"expression_switch_statement", "type_switch_statement", "select_statement"}:
            for one in within(node, "expression_case", "default_case", "type_case"):
                self._block(
                    [part for inner in named(one) for part in _statements(inner)],
                    suspensions | {Suspension.CONDITIONAL},
                )
        elif kind == "block":
            self._block(_statements(node), suspensions)
        else:
            self._note(node)
            self._expression(node, suspensions)

    def _note(self, node: Node) -> None:
        """Tables of cases, and functions that get another body."""
        for literal in within(node, "composite_literal"):
            kind = literal.child_by_field_name("type")
            if kind is not None and kind.type in {"slice_type", "map_type", "array_type"}:
                body = literal.child_by_field_name("body")
                self._rows += [words(one) for one in named(body)]
        if node.type not in {"assignment_statement", "short_var_declaration"}:
            return
        left, right = named(node.child_by_field_name("left")), named(node.child_by_field_name("right"))
        for name, value in zip(left, right, strict=False):
            self._values[words(name)] = words(value)
            if value.type == "func_literal":
                self._stand_ins.setdefault(text_of(name).rpartition(".")[2], line_of(node))

    def _if(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        first, condition = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
        if first is not None:
            self._note(first)
        if condition is not None and _fails(node):
            for part in _alternatives(condition):
                self._failing(part, node, suspensions)
            self._branch(node.child_by_field_name("alternative"), suspensions)
            return
        inside = suspensions | {Suspension.CONDITIONAL}
        self._block(_statements(node.child_by_field_name("consequence")), inside)
        self._branch(node.child_by_field_name("alternative"), inside)

    def _branch(self, node: Node | None, suspensions: frozenset[Suspension]) -> None:
        if node is not None:
            self._block([node] if node.type == "if_statement" else _statements(node), suspensions)

    def _failing(self, condition: Node, node: Node, suspensions: frozenset[Suspension]) -> None:
        """The test fails where this is true."""
        condition = _without_parentheses(condition)
        subject, expected, strength = words(condition), "", Strength.SHAPE
        if condition.type == "binary_expression":
            subject, expected, strength = self._compared(condition)
        elif _is_constant(condition):
            strength = Strength.NOTHING if text_of(condition) == "false" else Strength.EXACT
        elif condition.type == "unary_expression" and re.search(
            r"\b(?:DeepEqual|Equal|EqualFold)\b", subject
        ):
            strength = Strength.EXACT
        self._add(node, subject, expected, strength, suspensions, text=f"fails if {words(condition)}")

    def _compared(self, condition: Node) -> tuple[str, str, Strength]:
        left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
        operator = text_of(condition.child_by_field_name("operator"))
        if operator == "&&":
            sides = [_without_parentheses(one) for one in (left, right) if one is not None]
            never = any(text_of(one) == "false" for one in sides)
            return words(condition), "", Strength.NOTHING if never else Strength.PART
        subject, expected = self._meaning(left), self._meaning(right)
        if left is not None and _is_constant(left):
            subject, expected = expected, subject
        both = [one is not None and _is_constant(one) for one in (left, right)]
        if words(left) == words(right) or all(both):
            is_made = not all(both) and "(" in words(left)  # twice, and compared
            return subject, expected, Strength.PART if is_made else Strength.NOTHING
        if operator == "!=":
            return subject, expected, Strength.EXACT
        return subject, expected, Strength.SHAPE if operator == "==" else Strength.PART

    def _meaning(self, node: Node | None) -> str:
        name = words(node)
        return self._values.get(name, name) if node is not None and node.type == "identifier" else name

    def _expression(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        done: list[Node] = []
        for call in [*([node] if node.type == "call_expression" else []), *within(node, "call_expression")]:
            if any(call.start_byte >= one.start_byte and call.end_byte <= one.end_byte for one in done):
                continue
            callee = call.child_by_field_name("function")
            owner, _, name = words(callee).replace(" ", "").rpartition(".")
            arguments = named(call.child_by_field_name("arguments"))
            if owner in _OWNERS or (not owner and name in self._helpers):
                self._called(
                    call,
                    name,
                    [one for one in arguments if text_of(one) not in {"t", "b", "tb"}],
                    suspensions,
                )
                done.append(call)
            elif _FAILS.fullmatch(words(callee)) and name != "panic":
                self._add(call, words(call), "", Strength.PART, suspensions, text="fails")
            for one in arguments:
                if one.type == "func_literal":
                    self._block(_statements(one.child_by_field_name("body")), suspensions)
                    done.append(one)

    def _called(
        self, call: Node, name: str, nodes: Sequence[Node], suspensions: frozenset[Suspension]
    ) -> None:
        """testify has what is expected first."""
        exact, shape = _EXACT.fullmatch(name) or name in self._helpers, _SHAPE.fullmatch(name)
        strength = Strength.SHAPE if shape else Strength.EXACT if exact else Strength.PART
        expected, subject = (
            (words(nodes[0]), self._meaning(nodes[1]))
            if len(nodes) > 1
            else (name, self._meaning(nodes[0] if nodes else None))
        )
        is_same = len(nodes) > 1 and words(nodes[0]) == words(nodes[1])
        if is_same or (nodes and all(map(_is_constant, nodes[:2])) and name not in self._helpers):
            strength = Strength.NOTHING
        if name == "True" and nodes and nodes[0].type == "binary_expression":
            operator = text_of(nodes[0].child_by_field_name("operator"))
            strength = (
                Strength.EXACT if operator == "==" else Strength.SHAPE if operator == "!=" else Strength.PART
            )
        self._add(call, subject, expected, strength, suspensions)

    def _add(
        self,
        node: Node,
        subject: str,
        expected: str,
        strength: Strength,
        suspensions: frozenset[Suspension],
        *,
        text: str = "",
    ) -> None:
        made = Assertion(
            text=text or words(node),
            subject=subject,
            expected=expected,
            strength=strength,
            line=line_of(node),
            suspensions=suspensions,
        )
        self._asserts.append(made)


def _fails(node: Node) -> bool:
    """Whether an `if` makes the test fail when its condition holds."""
    for one in _statements(node.child_by_field_name("consequence")):
        call = named(one)[0] if one.type == "expression_statement" and named(one) else one
        if call.type == "call_expression" and _FAILS.fullmatch(words(call.child_by_field_name("function"))):
            return True
    return False


def _alternatives(condition: Node) -> Iterator[Node]:
    """`a != 1 || b != 2` are two assertions."""
    condition = _without_parentheses(condition)
    if condition.type == "binary_expression" and text_of(condition.child_by_field_name("operator")) == "||":
        for name in ("left", "right"):
            part = condition.child_by_field_name(name)
            if part is not None:
                yield from _alternatives(part)
    else:
        yield condition


def _without_parentheses(node: Node) -> Node:
    while node.type == "parenthesized_expression" and named(node):
        node = named(node)[0]
    return node


def _is_constant(node: Node) -> bool:
    node = _without_parentheses(node)
    if node.type == "unary_expression":
        return all(map(_is_constant, named(node)))
    return node.type in _CONSTANTS


def _statements(node: Node | None) -> list[Node]:
    return (
        [one for part in named(node) for one in (named(part) if part.type == "statement_list" else [part])]
        if node is not None and node.type == "block"
        else ([] if node is None else [node])
    )


def _leaves(node: Node) -> bool:
    if node.type == "return_statement":
        return True
    call = named(node)[0] if node.type == "expression_statement" and named(node) else None
    return (
        call is not None
        and call.type == "call_expression"
        and bool(_LEAVES.fullmatch(words(call.child_by_field_name("function"))))
    )
