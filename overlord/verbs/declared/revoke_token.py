"""End an access token: it counts no more, and browsers that signed in with it are signed out."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.access_argument import TokenNameArgument
from overlord.domain.text.plain import count
from overlord.failpoints import Failpoint
from overlord.store import access
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeToken:
    """Which."""

    name: Annotated[str, TokenNameArgument()]


def _revoke(context: Context, arguments: RevokeToken) -> Done:
    ended = access.revoke(context.connection, arguments.name, actor=context.actor, at=context.at)
    signed_out = f", and {count(ended, 'browser')} signed out" if ended else ""
    return Done(text=f"The token {arguments.name} counts no more{signed_out}.")


VERB = Verb(
    arguments=RevokeToken,
    act=_revoke,
    space=lambda _context, _arguments: "",
    right=Right.OPERATOR,
    usage="revoke-token ci",
    means="end an access token, and sign its browsers out",
    confirm="Whoever uses it is refused from then on.",
    position=17,
    failpoint=Failpoint.ACCESS_REVOKED,
    is_destructive=True,
    terminal="token revoke",
    has_runs=False,
)
