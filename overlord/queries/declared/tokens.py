"""The access tokens there are: what each may, where, until when, and when it was used last. Their secrets are kept nowhere."""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.access import AccessRight, AccessToken
from overlord.domain.chat.lines import Line, listed, since, words
from overlord.domain.conversation.look_argument import FlagArgument
from overlord.domain.interface import Interface
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Command, Moment
from overlord.domain.view.view import Table, View
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store import access

_COLUMNS = ("name", "right", "repositories", "made by", "age", "last used", "counts")
_NONE = "There is no access token; "
_MAKE = Command(CommandRef("create-token", ("ci",)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTokens:
    """Which of them."""

    all: Annotated[bool, FlagArgument(help="Revoked ones too.")]


def _read(look: Look, arguments: OfTokens) -> tuple[AccessToken, ...]:
    return tuple(access.tokens(look.connection, with_revoked=arguments.all))


def _view(look: Look, found: tuple[AccessToken, ...]) -> View:
    rows = tuple(
        (
            (Bold(item.name),),
            (str(item.right),),
            (words(", ".join(item.spaces) or "all"),),
            (words(item.created_by),),
            (since(item.created_at, look.at),),
            (f"{since(item.last_used_at, look.at)} ago" if item.last_used_at is not None else "never",),
            _counts(item, look),
        )
        for item in found
    )
    table = listed(Table(_COLUMNS, rows), _NONE, _MAKE, " makes one.")
    return View(summary=count(len(found), "access token"), parts=(table,), has_title=True)


def _counts(token: AccessToken, look: Look) -> Line:
    if why := token.why_not(look.at):
        return (f"no: it {why}",)
    if token.expires_at is None:
        return ("until it is revoked",)
    return ("until ", Moment(int(token.expires_at.timestamp()), day=True))


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfTokens,
    usage="tokens",
    means="the access tokens there are",
    position=22,
    terminal="token list",
    right=AccessRight.ADMIN,
    has_runs=False,
    gaps={Interface.MCP: "who may come in is for the operator"},
)
