"""Who does not serve MCP does not load its library."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "overlord.entrypoints.cli.command_list",
        "overlord.entrypoints.daemon",
        "overlord.entrypoints.mcp.http",
        "overlord.entrypoints.mcp.tools",
    ],
)
def test_the_protocols_library_is_loaded_by_who_serves_it_alone(module: str) -> None:
    code = f"import sys, {module}; print(sorted({{'mcp', 'mcp_types'}} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
