"""Make an access token, for the page and the HTTP API. Its secret is shown this once."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from overlord.domain.access import AccessRight
from overlord.domain.conversation.access_argument import (
    AccessRightArgument,
    DaysArgument,
    SpacesArgument,
    TokenNameArgument,
)
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.store import access
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateToken:
    """What it is called, what its bearer may, and where; how long it counts."""

    name: Annotated[str, TokenNameArgument()]
    right: Annotated[AccessRight, AccessRightArgument()] = AccessRight.READ
    spaces: Annotated[tuple[str, ...], SpacesArgument()] = ()
    days: Annotated[int | None, DaysArgument()] = None


def _create(context: Context, arguments: CreateToken) -> Done:
    spaces = sorted({context.space(name) for name in arguments.spaces})
    ends = context.at + timedelta(days=arguments.days) if arguments.days is not None else None
    token, secret = access.create(
        context.connection,
        arguments.name,
        arguments.right,
        spaces=spaces,
        expires_at=ends,
        actor=context.actor,
        at=context.at,
    )
    where = f" in {' and '.join(spaces)}" if spaces else ""
    until = f"until {ends:%Y-%m-%d}" if ends is not None else "until it is revoked"
    text = f"The token {token.name} may {token.right}{where}, {until}. Keep its secret now: it is not shown again."
    return Done(text=text, secret=secret)


VERB = Verb(
    arguments=CreateToken,
    act=_create,
    space=lambda _context, _arguments: "",
    right=Right.OPERATOR,
    usage="create-token ci act owner/repo 90",
    means="make an access token",
    position=16,
    failpoint=Failpoint.ACCESS_GRANTED,
    terminal="token create",
    has_runs=False,
    gaps={
        Interface.PAGE: "its secret is shown in the terminal alone",
        Interface.MCP: "its secret would stand in an agent's transcript",
    },
)
