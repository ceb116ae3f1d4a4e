"""Parts of Python's syntax that `testcode_python` asks about: calls and their arguments, comparisons, what leaves a test."""

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from overlord.domain.checks.testcode.syntax import named, text_of, within, words
from overlord.domain.checks.testcode.tests import Strength

BROAD = frozenset({"Exception", "BaseException"})
CATCHES = frozenset({"AssertionError", *BROAD})
TOLERANCES = frozenset({
    "rel", "abs", "delta", "rtol", "atol", "rel_tol", "abs_tol", "tolerance", "tol", "eps", "epsilon", "places", "decimal", "significant",
})  # fmt: skip
LEAVES = re.compile(r"(?:pytest\s*\.\s*)?(?:skip|xfail|exit|importorskip)|(?:self\s*\.\s*)?skipTest")
CONSTANTS = frozenset(
    {"integer", "float", "string", "concatenated_string", "true", "false", "none", "ellipsis", "lambda"}
)
FALSY = frozenset({"0", "0.0", "False", "None", '""', "''", "()", "[]", "{}", "b''", 'b""'})


def strength_of(tested: Node, *, negated: bool) -> tuple[str, str, Strength]:
    """What an asserted expression looks at, what that must be, and how strong it is."""
    if tested.type == "not_operator":
        inner = unwrapped(named(tested)[0])
        return strength_of(inner, negated=not negated)
    if tested.type == "comparison_operator":
        return compared(tested, negated=negated)
    if tested.type == "boolean_operator":
        sides = [unwrapped(side) for name in ("left", "right") if (side := tested.child_by_field_name(name))]
        if any(is_constant(side) for side in sides):
            return words(tested), "", Strength.NOTHING
        weakest = min(strength_of(side, negated=negated)[2] for side in sides)
        return words(tested), "", min(weakest, Strength.PART)
    if tested.type == "conditional_expression":
        found = [unwrapped(one) for one in named(tested)]
        weakest = min(strength_of(one, negated=negated)[2] for one in found[::2])
        return words(tested), "", weakest
    if is_constant(tested) or tested.type in {"tuple", "list", "dictionary", "set"}:
        is_empty = tested.type in {"tuple", "list", "dictionary"} and not named(tested)
        holds = (is_empty or text_of(tested) in FALSY) is negated
        return words(tested), "", Strength.NOTHING if holds else Strength.EXACT
    return words(tested), "", Strength.SHAPE


def compared(tested: Node, *, negated: bool) -> tuple[str, str, Strength]:
    sides = named(tested)
    operators = [text_of(one) for one in tested.children if one not in sides and one.type != "comment"]
    if len(sides) != 2:
        return words(tested), "", Strength.PART
    left, right = unwrapped(sides[0]), unwrapped(sides[1])
    if is_constant(left) and not is_constant(right):
        left, right = right, left
    subject, expected, operator = words(left), words(right), " ".join(operators)
    if is_constant(left) and is_constant(right):
        return subject, expected, Strength.NOTHING
    if subject == expected:
        return subject, expected, of_itself(left)
    exact = ("!=", "is not") if negated else ("==", "is")
    unequal = ("==", "is") if negated else ("!=", "is not")
    strength = (
        Strength.EXACT if operator in exact else Strength.SHAPE if operator in unequal else Strength.PART
    )
    return subject, expected, strength


def of_itself(node: Node) -> Strength:
    """What comparing this with itself shows: nothing of a value; of what is made twice, that both are equal."""
    return (
        Strength.PART
        if node.type == "call" or next(within(node, "call"), None) is not None
        else Strength.NOTHING
    )


def unwrapped(node: Node) -> Node:
    while node.type == "parenthesized_expression" and named(node):
        node = named(node)[0]
    return node


def is_constant(node: Node) -> bool:
    if node.type in {"unary_operator", "not_operator", "binary_operator"}:
        return all(is_constant(unwrapped(one)) for one in named(node))
    if node.type == "string":
        return next(within(node, "interpolation"), None) is None
    return node.type in CONSTANTS


def all_constant(nodes: Sequence[Node]) -> bool:
    return bool(nodes) and all(is_constant(unwrapped(one)) for one in nodes)


def name_called(call: Node | None) -> str:
    """The last name of what is called."""
    callee = call.child_by_field_name("function") if call is not None else None
    return text_of(callee.child_by_field_name("attribute") or callee) if callee is not None else ""


def first_call(node: Node | None) -> Node | None:
    if node is None or node.type == "call":
        return node
    return next(within(node, "call"), None)


def arguments_of(call: Node | None) -> list[Node]:
    arguments = call.child_by_field_name("arguments") if call is not None else None
    return [one for one in named(arguments) if one.type != "keyword_argument"]


def options_of(call: Node | None) -> dict[str, str]:
    arguments = call.child_by_field_name("arguments") if call is not None else None
    pairs = [one for one in named(arguments) if one.type == "keyword_argument"]
    return {
        text_of(one.child_by_field_name("name")): words(one.child_by_field_name("value")) for one in pairs
    }


def tolerances_of(options: dict[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in TOLERANCES & set(options):
        try:
            found[name] = float(options[name].replace(" ", "").replace("_", ""))
        except ValueError:
            continue
    return found


def leaves_test(node: Node) -> bool:
    """Whether a statement ends the test: `return`, a skip, an exit."""
    if node.type == "return_statement":
        return True
    if node.type == "raise_statement":
        return "Skip" in text_of(node)
    inner = named(node)[0] if node.type == "expression_statement" and node.named_child_count else None
    return (
        inner is not None
        and inner.type == "call"
        and LEAVES.fullmatch(words(inner.child_by_field_name("function"))) is not None
    )


def branches(node: Node) -> Iterator[Node]:
    """The statements of a condition's branches."""
    for one in named(node):
        if one.type == "block":
            yield from named(one)
        elif one.type in {"elif_clause", "else_clause"}:
            yield from branches(one)


def swallows_failure(handler: Node) -> bool:
    """Whether a handler takes a failed assertion and lets the test go on."""
    caught = [one for one in named(handler) if one.type != "block"]
    names = {text_of(one) for item in caught for one in [item, *within(item, "identifier", "attribute")]}
    if caught and not CATCHES & names:
        return False
    body = [one for one in named(handler) if one.type == "block"]
    return not any(
        one.type == "raise_statement"
        or re.search(r"\bfail\b", text_of(one))
        or one.type == "assert_statement"
        for block in body
        for one in [*named(block)]
    )
