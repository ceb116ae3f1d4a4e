"""Defences of models, their keys and what they cost."""

from tests.faults.mutants.mutant import Mutant

_MODELS = "tests/session_api/test_gateway_models.py"
GATEWAY = (
    Mutant(
        name="a session asks for no model but its own",
        file="overlord/domain/wires/chat_request.py",
        before="or name not in names:",
        after="or not name:",
        tests=(f"{_MODELS}::test_any_other_is_refused_the_same_whether_it_exists_or_not",),
        says="is not offered to this session",
    ),
    Mutant(
        name="a session has its repository's model alone",
        file="overlord/session_api/gateway/client_request.py",
        before="account.model if account.model in settings.models else own.model_for(account.kind)",
        after="account.model if account.model in settings.models else next(reversed(settings.models))",
        tests=(f"{_MODELS}::test_two_repositories_do_not_reach_each_others_model",),
        says=r"assert \[",
    ),
    Mutant(
        name="a review has the model that is named for it",
        file="overlord/settings/space.py",
        before="own = self.checks.review_model if is_judge else self.model",
        after="own = self.model",
        tests=(f"{_MODELS}::test_the_judge_has_a_model_of_its_own_where_one_is_named",),
        says="ModelRefused",
    ),
)
