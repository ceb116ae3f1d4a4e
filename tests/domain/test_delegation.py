"""A plan's delegation: who works on what, in which order, and what is refused in a sentence."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import Assignment
from overlord.domain.contracts.delegation import MOST_ASSIGNMENTS, Delegation

PATH = "plan/delegation.yaml"


def test_assignments_keep_their_order_and_say_the_order_of_roles() -> None:
    text = b"assignments:\n  web: {role: frontend, text: The form.}\n  api: {role: backend, text: A}\n  db: {role: frontend, text: B}\n"
    delegation = Delegation.parse(text, PATH)
    assert [item.name for item in delegation.assignments] == ["web", "api", "db"]
    assert delegation.order == ("frontend", "backend")
    assert delegation.of("frontend") == (
        Assignment(name="web", text="The form."),
        Assignment(name="db", text="B"),
    )
    assert delegation.of("tester") == ()
    assert delegation.problems(("backend", "frontend")) == ()


def test_a_list_is_read_as_well_and_an_order_comes_first() -> None:
    text = (
        b"order: [backend]\nwithout: [tester]\n"
        b"assignments:\n- {name: Web form, role: frontend, text: A}\n- {name: api, role: backend, text: B}\n"
    )
    delegation = Delegation.parse(text, PATH)
    assert delegation.order == ("backend", "frontend")
    assert delegation.without == ("tester",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "says no assignments; write"),
        (b"- a", "says no assignments; write"),
        (b"{}", "assignments: Field required"),
        (b"assignments: {}", "assignments: "),
        (b"assignments: 7", "assignments: "),
        (b"assignments: {api: 7}", "assignments.0: "),
        (b"assignments: {api: {text: a}}", "assignments.0.role: Field required"),
        (b"assignments: {api: {role: backend}}", "assignments.0.text: Field required"),
        (b"assignments: {api: {role: Back End, text: a}}", "assignments.0.role: "),
        (b"assignments: {api: {role: b, text: ''}}", "assignments.0.text: "),
        (b"assignments: {api: {role: b, text: a, cost: 3}}", "unknown key 'assignments.0.cost'"),
        (b"assignments: {../x: {role: b, text: a}}", "assignments.0.name: "),
        (b'assignments: {"a\\nb": {role: b, text: a}}', "assignments.0.name: "),
        (b"assignments: {1: {role: b, text: a}}", "assignments.0.name: "),
        (b"plan: x\nassignments: {a: {role: b, text: a}}", "unknown key 'plan'"),
        (b"assignments: [{name: A, role: b, text: a}, {name: a, role: b, text: a}]", "is there twice"),
        (b"assignments: {a: {role: b, text: a}, a: {role: b, text: c}}", "is there twice"),
        (b"assignments: {a: {role: b, text: a}}\nwithout: [b]", "is among those without"),
        (b"assignments: {a: {role: b, text: a}}\norder: [b, c]", "order names c, which has no assignment"),
        (b"assignments: {a: {role: b, text: a}}\norder: [b, b]", "order names a role twice"),
        (b"assignments: {a: {role: b, text: a}}\norder: [c]\nwithout: [c]", "is among those without"),
        (b"a: &a [x, x]\nb: &b [*a, *a]\nassignments: [*b, *b]", "aliases"),
        (b"assignments: !!python/object:os.system {}", "cannot be read as YAML"),
        (b"[" * 10_000, "nothing in it is so deep"),
        (b"assignments: {a: {role: b, text: " + b"x" * 70_000 + b"}}", "larger than"),
        (b"assignments: {a: {role: b, text: " + b"x" * 10_001 + b"}}", "assignments.0.text: "),
        (b"\xff", "cannot be read as YAML"),
        (b"a\0b", "cannot be read as YAML"),
        (
            b"assignments:\n"
            + b"".join(
                b"- {name: a%d, role: b, text: a}\n" % number for number in range(MOST_ASSIGNMENTS + 1)
            ),
            "assignments: ",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_files_name(text: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=PATH) as error:
        Delegation.parse(text, PATH)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@given(st.text(st.sampled_from("assignments: {}[],&*!\n-abr\x00'\"|>#%@")))
def test_any_text_is_read_or_refused(text: str) -> None:
    for content in (text, f"assignments:\n  a: {text}", f"assignments: {{a: {{role: b, text: {text}}}}}"):
        with suppress(ValueError):
            assert Delegation.parse(content.encode(), PATH).order
