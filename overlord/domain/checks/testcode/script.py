"""JavaScript's and TypeScript's tests as `TestCode`: node's runner and assert, jest, vitest, mocha with chai."""

import re
from collections.abc import Collection, Iterator, Sequence

from tree_sitter import Node

from overlord.domain.checks.testcode.script_node import (
    FUNCTIONS,
    arguments_of,
    branches,
    catches_failure,
    expected_of,
    fails_again,
    is_chai_word,
    is_constant,
    leaves_test,
    name_called,
    of_itself,
    owner_of,
    statement_call,
    statements_of,
    truth_of,
)
from overlord.domain.checks.testcode.syntax import line_of, named, text_of, within, words
from overlord.domain.checks.testcode.tests import Assertion, Strength, Suspension, TestCode

_GROUPS = frozenset({"describe", "context", "suite"})
_TESTS = frozenset({"it", "test", "specify"})
_EXACT = re.compile(
    r"toBe|toEqual|toStrictEqual|toHaveLength|toBeCloseTo|toBeNull|toBeUndefined|toBeNaN|toHaveBeenCalledWith|toHaveBeenLastCalledWith"
    r"|toHaveBeenNthCalledWith|toHaveReturnedWith|toMatchSnapshot|toMatchInlineSnapshot|toHaveBeenCalledTimes|toHaveProperty|toThrowError"
    r"|equals?|eql|deepEqual|strictEqual|deepStrictEqual|partialDeepStrictEqual|closeTo|lengthOf|true|false|null|undefined|calledWith|throws|rejects"
    r"|is|same|deepEquals?|strictSame"
)
_SHAPE = re.compile(
    r"toBeDefined|toBeTruthy|toBeFalsy|toBeInstanceOf|toBeTypeOf|ok|notOk|notEqual|notStrictEqual|notDeepEqual|notDeepStrictEqual|exist|a|an"
    r"|instanceOf|instanceof|isOk|exists|isDefined|doesNotThrow|doesNotReject|truthy|falsy|assert|isNotNull"
)
_OBJECTS = frozenset({"assert", "t", "expect", "should", "chai", "tap", "strict"})
_ASSERT_METHODS = re.compile(
    r"(?:deep|strict|not|loose|partial)\w*|equals?|ok|throws|rejects|match|is\w*|same|fail|truthy|falsy|doesNot\w+|closeTo|include\w*"
    r"|exists?|lengthOf|instanceOf|typeOf|property|snapshot|fileSnapshot|sameMembers"
)
_BROAD = frozenset({"", "Error", "() => true"})


def read_script(root: Node) -> dict[str, TestCode]:
    """Every test of a file by its title with its groups', and every function that tests may call."""
    first = {item.name: item for item in _codes(root, ())}
    helpers = {item.name for item in first.values() if item.asserts and not item.is_test and item.name}
    return {item.name: item for item in _codes(root, helpers)} if helpers else first


def _codes(root: Node, helpers: Collection[str]) -> Iterator[TestCode]:
    imported = _imported(root)
    loose: list[Node] = []
    pending: list[tuple[str, Node]] = [("", one) for one in reversed(named(root))]
    while pending:
        above, node = pending.pop()
        call = statement_call(node)
        kind, title, body, each = _declaration(call)
        if kind == "group" and body is not None:
            pending += [(f"{above}{title} > ", one) for one in reversed(statements_of(body))]
        elif kind == "test":
            yield _Function(helpers, imported).read(f"{above}{title}", node, body, is_test=True, each=each)
        elif (found := _function(node)) is not None:
            name, body = found
            yield _Function(helpers, imported).read(name, node, body, is_test=False)
        else:
            loose.append(node)
    outside = _Function(helpers, imported)
    outside.block(loose, frozenset())
    yield TestCode(
        name="", line=1, is_test=False, text="", asserts=tuple(outside.asserts), stand_ins=outside.stand_ins
    )


def _declaration(call: Node | None) -> tuple[str, str, Node | None, list[str]]:
    """What a call declares: a group or a test, its title, its function, and the rows it is run with."""
    if call is None:
        return "", "", None, []
    callee, arguments = call.child_by_field_name("function"), arguments_of(call)
    rows: list[str] = []
    if callee is not None and callee.type == "call_expression":  # it.each(rows)(title, body)
        table = arguments_of(callee)
        if table and table[0].type == "array":
            rows = [words(one) for one in named(table[0])]
        callee = callee.child_by_field_name("function")
    chain = words(callee).replace(" ", "").split(".")
    kind = (
        "group"
        if chain[0] in _GROUPS
        else "test"
        if chain[0] in _TESTS or chain[-1] in {"test", "it"}
        else ""
    )
    bodies = [one for one in arguments if one.type in FUNCTIONS]
    if not kind or not arguments:
        return "", "", None, []
    if chain[0] not in _GROUPS | _TESTS and not bodies:
        return "", "", None, []
    return kind, text_of(arguments[0]).strip("\"'`"), bodies[-1] if bodies else None, rows


def _function(node: Node) -> tuple[str, Node] | None:
    """A function outside of tests, by its name."""
    inner = node.child_by_field_name("declaration") if node.type == "export_statement" else node
    if inner is None:
        return None
    if inner.type == "function_declaration":
        return text_of(inner.child_by_field_name("name")), inner
    for one in named(inner) if inner.type in {"lexical_declaration", "variable_declaration"} else []:
        value = one.child_by_field_name("value")
        if value is not None and value.type in FUNCTIONS:
            return text_of(one.child_by_field_name("name")), value
    return None


def _imported(root: Node) -> dict[str, str]:
    """The names a file has from elsewhere, each with the module it is from."""
    found: dict[str, str] = {}
    for node in within(root, "import_statement"):
        module = text_of(node.child_by_field_name("source")).strip("\"'`")
        for clause in within(node, "import_clause"):
            found |= {text_of(one): module for one in within(clause, "identifier")}
    for node in within(root, "variable_declarator"):
        value = node.child_by_field_name("value")
        if value is not None and text_of(value).startswith(("require(", "await import(")):
            module = text_of(next(within(value, "string"), None)).strip("\"'`")
            names = [node.child_by_field_name("name"), *within(node, "shorthand_property_identifier_pattern")]
            found |= {text_of(one): module for one in names if one is not None}
    return found


class _Function:
    """One test or function, statement by statement."""

    def __init__(self, helpers: Collection[str], imported: dict[str, str]) -> None:
        self.asserts: list[Assertion] = []
        self.stand_ins: dict[str, int] = {}
        self._helpers = helpers
        self._imported = imported
        self._rows: list[str] = []

    def read(
        self, name: str, node: Node, body: Node | None, *, is_test: bool, each: Sequence[str] = ()
    ) -> TestCode:
        self._rows += each
        if body is not None:
            self.block(statements_of(body), frozenset())
        return TestCode(
            name=name,
            line=line_of(node),
            is_test=is_test,
            text=words(node),
            asserts=tuple(self.asserts),
            rows=tuple(self._rows),
            stand_ins=self.stand_ins,
        )

    def block(self, nodes: Sequence[Node], suspensions: frozenset[Suspension]) -> None:
        for node in nodes:
            self._statement(node, suspensions)
            if leaves_test(node):
                suspensions |= {Suspension.UNREACHED}
            elif node.type == "if_statement" and any(map(leaves_test, branches(node))):
                suspensions |= {Suspension.CONDITIONAL}

    def _statement(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        kind = node.type
        if kind == "statement_block":
            self.block(named(node), suspensions)
        elif kind in {"if_statement", "switch_statement"}:
            for part in branches(node):
                self._statement(part, suspensions | {Suspension.CONDITIONAL})
        elif kind in {"for_statement", "for_in_statement", "while_statement", "do_statement"}:
            over = node.child_by_field_name("right")
            if over is not None and over.type == "array":
                self._rows += [words(one) for one in named(over)]
                suspensions = suspensions if named(over) else suspensions | {Suspension.UNREACHED}
            body = node.child_by_field_name("body")
            self.block(statements_of(body) if body is not None else [], suspensions)
        elif kind == "try_statement":
            self._try(node, suspensions)
        elif kind in {"function_declaration", "class_declaration"}:
            self._bind(text_of(node.child_by_field_name("name")), node)
            self.block(statements_of(node), suspensions)
        else:
            self._expression(node, suspensions)

    def _try(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        handler, body = node.child_by_field_name("handler"), node.child_by_field_name("body")
        swallows = handler is not None and not fails_again(handler)
        self.block(named(body), suspensions | {Suspension.SWALLOWED} if swallows else suspensions)
        if handler is not None:
            self.block(named(handler.child_by_field_name("body")), suspensions | {Suspension.CONDITIONAL})
        finalizer = node.child_by_field_name("finalizer")
        self.block(named(finalizer.child_by_field_name("body")) if finalizer is not None else [], suspensions)

    def _expression(self, node: Node, suspensions: frozenset[Suspension]) -> None:
        done: list[Node] = []
        for part in [
            *([node] if node.type == "call_expression" else []),
            *within(node, "call_expression", "member_expression"),
        ]:
            if any(part.start_byte >= one.start_byte and part.end_byte <= one.end_byte for one in done):
                continue
            if part.type == "member_expression":
                if is_chai_word(part) and self._expect(part, [], suspensions):
                    done.append(part)
                continue
            name, owner = name_called(part)
            if catches_failure(part, name):
                suspensions |= {Suspension.SWALLOWED}
            arguments = arguments_of(part)
            if self._expect(part, arguments, suspensions) or self._asserts(
                part, name, owner, arguments, suspensions
            ):
                done.append(part)
            else:
                self._replaces(part, name, owner, arguments)
            for one in arguments:
                if one.type in FUNCTIONS and name not in {"throws", "rejects", "expect"}:
                    self.block(statements_of(one), suspensions)
                    done.append(one)
        for one in within(node, "variable_declarator", "assignment_expression"):
            name_node = one.child_by_field_name("name") or one.child_by_field_name("left")
            value = one.child_by_field_name("value") or one.child_by_field_name("right")
            if value is not None and (value.type in FUNCTIONS or ".fn(" in text_of(value)):
                self._bind(text_of(name_node).rpartition(".")[2], one)

    def _replaces(self, call: Node, name: str, owner: str, nodes: Sequence[Node]) -> None:
        """Cases written out as an array, and what is put in the place of a module or a method."""
        if name == "forEach" and (table := owner_of(call)) is not None and table.type == "array":
            self._rows += [words(one) for one in named(table)]
        elif name in {"mock", "doMock"} and owner in {"jest", "vi", "mock"}:
            module = text_of(nodes[0] if nodes else None).strip("\"'`")
            names = [one for one, source in self._imported.items() if source == module]
            self.stand_ins |= dict.fromkeys(names, line_of(call))
        elif name in {"spyOn", "stub", "method", "replace"} and len(nodes) > 1 and nodes[1].type == "string":
            self.stand_ins.setdefault(text_of(nodes[1]).strip("\"'`"), line_of(call))

    def _bind(self, name: str, node: Node) -> None:
        if name in self._imported:
            self.stand_ins.setdefault(name, line_of(node))

    def _expect(self, call: Node, nodes: Sequence[Node], suspensions: frozenset[Suspension]) -> bool:
        """`expect(x).not.toBe(y)`, and chai's chains of words."""
        chain, subject = expected_of(call)
        if subject is None or not chain:
            return False
        matcher, negated = chain[-1], "not" in chain or "never" in chain
        strength = (
            Strength.EXACT
            if _EXACT.fullmatch(matcher)
            else Strength.SHAPE
            if _SHAPE.fullmatch(matcher)
            else Strength.PART
        )
        if matcher in {"toThrow", "throw"}:
            strength = Strength.SHAPE if words(nodes[0] if nodes else None) in _BROAD else Strength.PART
        if negated and strength is not Strength.NOTHING:
            strength = Strength.SHAPE
        if is_constant(subject) and (not nodes or all(map(is_constant, nodes))):
            strength = Strength.NOTHING
        if nodes and words(subject) == words(nodes[0]):
            strength = of_itself(subject)
        digits = text_of(nodes[1]) if matcher == "toBeCloseTo" and nodes[1:] else ""
        tolerances = {"digits": float(digits)} if digits.isdigit() else {}
        expected = " , ".join(words(one) for one in nodes[:1]) or matcher
        self._add(call, words(subject), expected, strength, suspensions, tolerances=tolerances)
        return True

    def _asserts(
        self, call: Node, name: str, owner: str, nodes: Sequence[Node], suspensions: frozenset[Suspension]
    ) -> bool:
        """`assert.equal(x, y)`, `assert(x)`, `t.is(x, y)`, and functions of the file that assert."""
        is_helper = not owner and name in self._helpers
        is_plain = name in {"assert", "ok"} and not owner
        is_method = (
            bool(set(owner.split(".")) & _OBJECTS)
            and bool(_ASSERT_METHODS.fullmatch(name))
            and "expect" not in owner
        )
        if not (is_helper or is_plain or is_method):
            return False
        if is_helper:
            self._add(call, " , ".join(words(one) for one in nodes), "", Strength.EXACT, suspensions)
            return True
        first = nodes[0] if nodes else None
        if is_plain or name in {"ok", "isTrue", "isOk", "truthy", "true"}:
            subject, expected, strength = truth_of(first)
        else:
            is_exact = _EXACT.fullmatch(name) or name.startswith(("deep", "strict", "same"))
            strength = (
                Strength.SHAPE
                if _SHAPE.fullmatch(name) or name.startswith("not")
                else Strength.EXACT
                if is_exact
                else Strength.PART
            )
            subject, expected = words(first), words(nodes[1]) if nodes[1:] else name
            if name in {"throws", "rejects"}:
                strength = Strength.SHAPE if len(nodes) < 2 or expected in _BROAD else Strength.PART
            elif nodes[1:] and is_constant(nodes[0]) and is_constant(nodes[1]):
                strength = Strength.NOTHING
            elif nodes[1:] and subject == expected:
                strength = of_itself(nodes[0])
        self._add(call, subject, expected, strength, suspensions)
        return True

    def _add(
        self,
        node: Node,
        subject: str,
        expected: str,
        strength: Strength,
        suspensions: frozenset[Suspension],
        *,
        tolerances: dict[str, float] | None = None,
    ) -> None:
        made = Assertion(
            text=words(node),
            subject=subject,
            expected=expected,
            strength=strength,
            line=line_of(node),
            tolerances=tolerances or {},
            suspensions=suspensions,
        )
        self.asserts.append(made)
