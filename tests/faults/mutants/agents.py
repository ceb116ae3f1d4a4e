"""Defences against coding agents, and against what is asked and called over their wires."""

from tests.faults.mutants.mutant import Mutant

_CHOICE = "tests/engine/test_agent_choice.py"
_REQUESTS = "tests/session_api/test_gateway_requests.py"
_WIRES = "tests/session_api/test_gateway_wires.py"
_MCP = "tests/session_api/test_mcp_calls.py"
AGENTS = (
    Mutant(
        name="a label names an agent that there is",
        file="overlord/settings/agents.py",
        before="if program not in PROGRAMS:",
        after="if not program:",
        tests=(f"{_CHOICE}::test_a_label_that_names_nobody_is_told_to_a_person",),
        says=r"AssertionError|ValueError|KeyError|assert ",
    ),
    Mutant(
        name="among plain processes a label starts no command of its own",
        file="overlord/engine/sessions/agent_choice.py",
        before="if not is_walled and not _is_the_operators(settings, job, agent):",
        after="if is_walled and not _is_the_operators(settings, job, agent):",
        tests=(
            f"{_CHOICE}::test_among_plain_processes_a_label_starts_no_command_of_its_own",
            f"{_CHOICE}::test_among_plain_processes_a_contract_starts_no_command_of_its_own",
        ),
        says="not enough values to unpack",
    ),
    Mutant(
        name="over ACP a path is judged before it is written",
        file="minion/agents/acp/files.py",
        before="    if not guard.allows_write(path):\n",
        after="    if not path:\n",
        tests=("tests/minion/test_agent_acp.py::test_requests_that_are_refused",),
        says="DID NOT RAISE|assert",
    ),
    Mutant(
        name="over ACP a call is judged by the files it changes",
        file="minion/agents/acp/requests.py",
        before="wrong = [path for path in call.files if not guard.allows_write(path)]",
        after="wrong = [path for path in call.files if not guard.allows_read(path)]",
        tests=("tests/minion/test_agent_acp.py::test_a_refused_write_never_runs_and_an_allowed_one_does",),
        says=r"assert 'changed' == 'r\\n'|AssertionError",
    ),
    Mutant(
        name="a tool that the provider carries out is offered to nobody over the Messages API",
        file="overlord/domain/wires/messages_request.py",
        before="is_custom or (isinstance(kind, str) and CLIENT_TOOL.fullmatch(kind) is not None)",
        after="is_custom or isinstance(kind, str)",
        tests=(f"{_WIRES}::test_tools_that_a_provider_carries_out_are_refused_by_name",),
        says="KeyError: 'error'",
    ),
    Mutant(
        name="a tool that the provider carries out is offered to nobody over the Responses API",
        file="overlord/domain/wires/responses_request.py",
        before='kind not in TOOL_KEYS or (is_nested and kind == "namespace"):',
        after='not kind or (is_nested and kind == "namespace"):',
        tests=(f"{_WIRES}::test_tools_that_a_provider_carries_out_are_refused_by_name",),
        says="JSONDecodeError",
    ),
    Mutant(
        name="a session calls no tool of a server that it is not offered",
        file="overlord/domain/mcp.py",
        before="if not isinstance(name, str) or name not in allowed:",
        after="if not isinstance(name, str):",
        tests=(f"{_MCP}::test_what_is_not_offered_never_reaches_the_server",),
        says="KeyError|assert",
    ),
    Mutant(
        name="a session is told of no tool of a server that it is not offered",
        file="overlord/domain/mcp.py",
        before='isinstance(name := tool.get("name"), str) and name in allowed',
        after='isinstance(tool.get("name"), str)',
        tests=(f"{_MCP}::test_a_session_lists_what_it_is_offered_and_calls_it",),
        says="assert",
    ),
    Mutant(
        name="what is written to a cache has its price",
        file="overlord/domain/budgets/price.py",
        before="+ written * write_nusd",
        after="+ written * self.input_nusd",
        tests=(f"{_WIRES}::test_what_is_written_to_a_cache_and_read_there_has_its_price",),
        says="assert",
    ),
    Mutant(
        name="no cache is asked for that costs more than the plain one",
        file="overlord/domain/wires/short_caches.py",
        before="if key == CACHE_CONTROL and item is not None",
        after="if key == CACHE_CONTROL and item is None",
        tests=(f"{_WIRES}::test_nothing_is_kept_in_a_cache_for_longer_than_what_has_a_price",),
        says="assert",
    ),
    Mutant(
        name="no beta is asked for that makes a token dearer",
        file="overlord/session_api/gateway/routes.py",
        before="if not word.startswith(_DEARER)",
        after="if word",
        tests=(f"{_WIRES}::test_what_says_how_a_message_is_to_be_read_is_passed_on_where_it_is_plain",),
        says="assert",
    ),
    Mutant(
        name="a usage that cannot be is not believed",
        file="overlord/session_api/gateway/meter.py",
        before="if told is not None and self._can_be(told, least):",
        after="if told is not None:",
        tests=(f"{_WIRES}::test_a_usage_that_cannot_be_is_estimated",),
        says="assert",
    ),
    Mutant(
        name="what pictures cost is believed",
        file="overlord/session_api/gateway/meter.py",
        before="return len(body) + OF_THE_PROVIDER + pictures",
        after="return len(body) + OF_THE_PROVIDER",
        tests=(f"{_WIRES}::test_pictures_cost_what_the_endpoint_says_however_few_bytes_they_have",),
        says="assert",
    ),
    Mutant(
        name="who leaves before the end pays for the time",
        file="overlord/session_api/gateway/meter.py",
        before="completion=max(least, self._unseen())",
        after="completion=least",
        tests=(
            "tests/session_api/test_gateway.py::"
            "test_a_client_that_goes_away_pays_for_the_time_in_which_a_model_may_have_thought",
        ),
        says="assert",
    ),
    Mutant(
        name="a flood of values is refused before it is read",
        file="overlord/session_api/gateway/client_request.py",
        before="    _check_count(raw)\n",
        after="    _check_count(b'')\n",
        tests=(f"{_REQUESTS}::test_more_values_than_any_conversation_has_are_refused_before_they_are_read",),
        says="assert",
    ),
)
