"""Parts of JavaScript's syntax that `testcode_script` asks about: calls and chains of them, comparisons, what leaves a test."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from overlord.domain.checks.testcode.syntax import named, text_of, within, words
from overlord.domain.checks.testcode.tests import Strength

CONSTANTS = frozenset(
    {
        "number",
        "string",
        "true",
        "false",
        "null",
        "undefined",
        "regex",
        "arrow_function",
        "function_expression",
    }
)
FUNCTIONS = (
    "arrow_function",
    "function_expression",
    "function",
    "function_declaration",
    "method_definition",
)


def of_itself(node: Node) -> Strength:
    """What comparing this with itself shows: nothing of a value; of what is made twice, that both are equal."""
    made = ("call_expression", "new_expression")
    return (
        Strength.PART
        if node.type in made or next(within(node, *made), None) is not None
        else Strength.NOTHING
    )


def truth_of(tested: Node | None) -> tuple[str, str, Strength]:
    """What `assert(x)` looks at: a comparison is as strong as its operator."""
    while tested is not None and tested.type == "parenthesized_expression" and named(tested):
        tested = named(tested)[0]
    if tested is None or is_constant(tested) or tested.type in {"array", "object"}:
        return words(tested), "", Strength.NOTHING
    if tested.type != "binary_expression":
        return words(tested), "", Strength.SHAPE
    left, right = tested.child_by_field_name("left"), tested.child_by_field_name("right")
    operator, subject, expected = text_of(tested.child_by_field_name("operator")), words(left), words(right)
    if operator == "||" and any(one is not None and is_constant(one) for one in (left, right)):
        return words(tested), "", Strength.NOTHING
    if operator in {"&&", "||"}:
        return words(tested), "", min(truth_of(left)[2], truth_of(right)[2])
    if subject == expected and left is not None:
        return subject, expected, of_itself(left)
    exact, unequal = operator in {"==", "==="}, operator in {"!=", "!=="}
    return subject, expected, Strength.EXACT if exact else Strength.SHAPE if unequal else Strength.PART


def expected_of(node: Node) -> tuple[list[str], Node | None]:
    """The words after `expect(…)`, and what stands in it."""
    chain: list[str] = []
    place = node.child_by_field_name("function") if node.type == "call_expression" else node
    while place is not None and place.type == "member_expression":
        chain.insert(0, text_of(place.child_by_field_name("property")))
        place = place.child_by_field_name("object")
        if place is not None and place.type == "call_expression":
            callee = place.child_by_field_name("function")
            if text_of(callee) == "expect":
                arguments = arguments_of(place)
                return chain, arguments[0] if arguments else None
            place = callee
    return [], None


def is_chai_word(node: Node) -> bool:
    """`expect(x).to.be.true`: an assertion that is no call."""
    parent = node.parent
    is_last = parent is None or parent.type not in {"member_expression", "call_expression"}
    return is_last and text_of(node.child_by_field_name("property")) in {
        "true",
        "false",
        "null",
        "undefined",
        "ok",
        "exist",
        "empty",
    }


def name_called(call: Node) -> tuple[str, str]:
    """The last name of what is called, and the names before it."""
    callee = call.child_by_field_name("function")
    if callee is None:
        return "", ""
    if callee.type == "member_expression":
        owner = callee.child_by_field_name("object")
        return text_of(callee.child_by_field_name("property")), words(owner).replace(" ", "")
    return text_of(callee), ""


def owner_of(call: Node) -> Node | None:
    callee = call.child_by_field_name("function")
    return callee.child_by_field_name("object") if callee is not None else None


def catches_failure(call: Node, name: str) -> bool:
    """`promise.catch(() => {})`."""
    arguments = arguments_of(call)
    return (
        name == "catch"
        and bool(arguments)
        and arguments[0].type in FUNCTIONS
        and not fails_again(arguments[0])
    )


def fails_again(node: Node) -> bool:
    """Whether something in a handler makes the test fail again, or asserts."""
    if next(within(node, "throw_statement"), None) is not None:
        return True
    return (
        re.search(r"\b(?:fail|assert|expect|reject|done)\b", text_of(node.child_by_field_name("body")))
        is not None
    )


def arguments_of(call: Node) -> list[Node]:
    return named(call.child_by_field_name("arguments"))


def is_constant(node: Node) -> bool:
    if node.type == "unary_expression":
        return all(map(is_constant, named(node)))
    return node.type in CONSTANTS - {"arrow_function", "function_expression"}


def statement_call(node: Node) -> Node | None:
    inner = named(node)[0] if node.type == "expression_statement" and named(node) else node
    if inner.type == "await_expression" and named(inner):
        inner = named(inner)[0]
    return inner if inner.type == "call_expression" else None


def statements_of(node: Node) -> list[Node]:
    """A function's or a block's statements; an expression is its own."""
    if node.type == "statement_block":
        return named(node)
    body = node.child_by_field_name("body")
    if body is None:
        return [node]
    return named(body) if body.type in {"statement_block", "class_body"} else [body]


def leaves_test(node: Node) -> bool:
    if node.type in {"return_statement", "throw_statement"}:
        return node.type == "return_statement"
    call = statement_call(node)
    return call is not None and name_called(call)[0] in {"skip", "todo"}


def branches(node: Node) -> Iterator[Node]:
    """The statements of a condition's branches."""
    for name in ("consequence", "alternative", "body"):
        part = node.child_by_field_name(name)
        if part is None:
            continue
        if part.type in {"else_clause", "switch_body", "switch_case", "switch_default"}:
            for one in named(part):
                yield from (
                    statements_of(one)
                    if one.type == "statement_block"
                    else branches(one)
                    if one.type.startswith("switch_")
                    else [one]
                )
        else:
            yield from statements_of(part)
