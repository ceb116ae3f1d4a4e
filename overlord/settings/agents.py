"""The settings of coding agents beside the native one, and of the MCP servers that sessions are offered."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr, model_validator

from minion.protocol import ACP, NATIVE, PROGRAMS, AgentChoice, McpServer, acp_command, read_agent_name
from overlord.domain.launch import AgentProgram
from overlord.domain.text.near import did_you_mean
from overlord.settings.model import Section, VariableName

Words = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=1000)], ...], Field(max_length=50)]


class AgentSettings(Section):
    """What is said of one agent. Without a section of its own an agent of a known name is started as its makers say."""

    program: Annotated[str, Field(pattern=rf"^({'|'.join(PROGRAMS)}|{ACP}:.+)?$")] = ""
    """The integration that drives it, for a name that is not one's own: `codex`, or `acp:COMMAND`."""
    command: Words = ()
    """What is started in place of the integration's own program."""
    arguments: Words = ()
    """Further arguments, after ours."""
    image: str = ""
    """What containers take its program from; empty: `overlord-minion-<program>`, beside `docker.image`."""
    model: str = ""
    """A name of models.yaml for its sessions; empty: the repository's."""


class McpSettings(Section):
    """A server of tools: a command in the session's container, or an address that Overlord asks for the session."""

    command: Words = ()
    environment: dict[VariableName, str] = Field(default_factory=dict)
    url: Annotated[str, Field(pattern=r"^(https?://.+)?$")] = ""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Sent by Overlord; a session never sees them."""
    tools: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(max_length=200)
    ] = ()
    """The tools that sessions are offered. An address needs them named; of a command, empty means all."""
    timeout_s: Annotated[int, Field(gt=0, le=600)] = 60

    @model_validator(mode="after")
    def _is_one_of_two(self) -> "McpSettings":
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a command or a url")
        if self.url and not self.tools:
            raise ValueError("name the tools that sessions may call there: tools: [search, …]")
        if self.url and self.environment:
            raise ValueError("environment is for a command; a url has headers")
        if self.command and self.headers:
            raise ValueError("headers are for a url; a command has its environment, which sessions can read")
        return self

    def offered(self, name: str) -> McpServer:
        """As a session's brief has it."""
        return McpServer(
            name=name, command=self.command, environment=tuple(self.environment.items()), tools=self.tools
        )


McpName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
"""A server's name; `overlord` is the session's own."""


def resolved(name: str, known: Mapping[str, AgentSettings]) -> AgentChoice:
    """The program of an agent's name. Raises ValueError, with what there is, for a name of nobody."""
    name = read_agent_name(name)
    own = known.get(name, AgentSettings())
    program = own.program or name
    if program.startswith(f"{ACP}:"):
        command = own.command or acp_command(program)
        return AgentChoice(name=name, program=ACP, command=command, arguments=own.arguments)
    if program not in PROGRAMS:
        there = ", ".join(dict.fromkeys((*PROGRAMS, *sorted(known))))
        near = did_you_mean(_meant(program), (*PROGRAMS, *known))
        raise ValueError(
            f"there is no agent {name!r}{near or ';'} {'There' if near else 'there'} is {there}, and {ACP}:COMMAND for every agent that"
            " speaks ACP"
        )
    return AgentChoice(name=name, program=program, command=own.command, arguments=own.arguments)


def _meant(word: str) -> str:
    """The agent whose program is called so, or nearly so; else the word itself."""
    found = get_close_matches(word, sorted(_OTHER_NAMES), n=1, cutoff=0.75)
    return _OTHER_NAMES[found[0]] if found else word


def program_of(choice: AgentChoice, known: Mapping[str, AgentSettings], *, base: str) -> AgentProgram | None:
    """What a runner needs to have for an agent; None for the native one. `base` is the image sessions run in."""
    if choice.program == NATIVE:
        return None
    own = known.get(choice.name, AgentSettings())
    program = choice.program
    executable = choice.command[0] if choice.command else ""
    if program == ACP:
        # An agent of a known name that is reached over ACP has its program in its own image.
        program = next((item for item in PROGRAMS if item in (executable, _OTHER_NAMES.get(executable))), ACP)
    image = own.image or ("" if program == ACP else _image_beside(base, program))
    return AgentProgram(program=program, image=image, executable=executable)


_OTHER_NAMES = {"claude": "claude-code", "cursor-agent": "cursor"}
"""Programs that are called otherwise than their agent."""


def _image_beside(base: str, program: str) -> str:
    """`overlord-minion:latest` has `overlord-minion-codex:latest` beside it."""
    name, mark, tag = base.rpartition(":")
    return f"{name}-{program}:{tag}" if mark and "/" not in tag else f"{base}-{program}"


def check_names(value: dict[str, AgentSettings]) -> dict[str, AgentSettings]:
    """Raises ValueError for a section of an agent that is none, or that says nothing of what drives it."""
    for name, own in value.items():
        if read_agent_name(name) != name or name == NATIVE:
            raise ValueError(f"{name!r} is no name for an agent: small letters, digits and -, and not native")
        if not own.program and name not in PROGRAMS and not name.startswith(f"{ACP}:"):
            raise ValueError(f"{name}: say what drives it, as program: codex or program: acp:COMMAND")
    return value


AgentsByName = Annotated[dict[str, AgentSettings], AfterValidator(check_names)]
