"""Asking the model for its next reply: again where what came back is no completion, with less where it is too long."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager

from minion.errors import ModelFailed, SessionApiRefused
from minion.native.conversation import Conversation
from minion.native.model import Flaw, Model, Reply

FRUITLESS_REPLIES = 3
"""Replies in a row without a tool call after which the model is given up."""
TIGHT = 0.3
"""The share of itself a conversation is brought to when the model says it is too long."""

_TOO_LONG = re.compile(
    r"context.(length|window)|maximum context|prompt is too long|token count.*exceed|too many (input )?tokens",
    re.I,
)


def next_reply(
    model: Model, conversation: Conversation, turn: int, waiting: Callable[[], AbstractContextManager[None]]
) -> Reply:
    """The model's next reply; `waiting` surrounds each wait for it.

    Raises OutOfBudget, SessionApiRefused, SessionApiGone, ModelFailed, and what `waiting` raises.
    """
    for _ in range(FRUITLESS_REPLIES):
        with waiting():
            reply = _complete(model, conversation, turn)
        if reply.flaw is not Flaw.UNREADABLE:
            return reply
    raise ModelFailed(f"{FRUITLESS_REPLIES} answers of the model in a row were no completion at all.")


def _complete(model: Model, conversation: Conversation, turn: int) -> Reply:
    try:
        return model.complete(conversation, turn)
    except SessionApiRefused as error:
        if not _is_too_long(error) or not conversation.shorten(TIGHT):
            raise
        return model.complete(conversation, turn)


def _is_too_long(error: SessionApiRefused) -> bool:
    return error.status == 413 or (error.status == 400 and _TOO_LONG.search(str(error)) is not None)
