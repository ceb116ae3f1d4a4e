"""Defences of models, their keys and what they cost."""

from tests.faults.mutants.mutant import Mutant

GATEWAY = (
    Mutant(
        name="a session has its repository's model alone",
        file="overlord/door/gateway.py",
        before="if kind is SessionKind.WORK else",
        after="if kind is SessionKind.CHECK else",
        tests=(
            "tests/door/test_gateway_routes.py::test_another_repositorys_model_is_refused_as_one_that_does_not_exist",
        ),
        says="400",
    ),
)
