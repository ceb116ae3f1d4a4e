"""One request to one endpoint, paid for: what it can cost at most is set aside before it is sent, and what it did cost is
put in its place when it is over, however it ends. The exchange is on record before the session gets the end of its reply.
"""

import asyncio
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Self

import structlog
from starlette.responses import Response

from overlord.domain.budgets.budget import NANO, Cost, TokenUsage, estimate_tokens
from overlord.domain.budgets.price import Price
from overlord.domain.session import Account
from overlord.domain.wires.skill_call import skills_asked_for
from overlord.domain.wires.wire import ReplyContent, StreamReader
from overlord.failpoints import Failpoint
from overlord.session_api.gateway.client_request import EndpointRequest
from overlord.session_api.parts import SessionApiParts
from overlord.store.budgets import exchanges
from overlord.store.budgets.exchanges import BudgetBalance, Refusal
from overlord.store.skills import skill_uses

log = structlog.get_logger()

CLIENT_GONE = 499
"""The status on record of an exchange whose end nobody waited for."""
FASTEST = 100
"""Tokens a second that a model is taken to have made meanwhile, thoughts that nobody sees included."""
OF_THE_PROVIDER = 20_000
"""Tokens that a provider may add to a request: how tools are called, and words of its own."""


_IMAGE, _DOCUMENT = re.compile(rb'"(?:data:)?image/'), b'"application/pdf"'
_IMAGE_TOKENS, _MOST_IMAGE_TOKENS, _MOST_DOCUMENT_TOKENS = 1_600, 10_000, 2_000_000
"""What pictures cost says nothing of their bytes: a white page packs to some hundred of them."""


class Meter:
    """An asynchronous context: entered with the reservation made, left with the exchange settled."""

    def __init__(
        self,
        parts: SessionApiParts,
        sent: EndpointRequest,
        balance: BudgetBalance,
        exchange: int,
        *,
        price: Price | None,
    ) -> None:
        self._parts = parts
        self._sent = sent
        self._budget_balance = balance
        self._exchange = exchange
        self._model = sent.model
        self._price = price
        self._prompt = 0
        self._began_at = parts.clock.monotonic()
        self.status = CLIENT_GONE
        self.trouble = ""
        self.is_free = False
        """The endpoint refused it, or never got it."""
        self.content: ReplyContent | None = None
        self.reader: StreamReader | None = None

    @classmethod
    async def reserve(
        cls, parts: SessionApiParts, account: Account, sent: EndpointRequest
    ) -> Self | Response:
        """Set aside what the request can cost. 402 when a budget is spent; one that is only reserved is waited for."""
        model, price = sent.model, parts.settings.price(sent.model)
        prompt = estimate_tokens(len(sent.body)) + _IMAGE_TOKENS * len(_IMAGE.findall(sent.body))
        most = TokenUsage(prompt=prompt, completion=sent.request.completion)
        cost = Cost(tokens=most.total, nusd=_dearest(price, most) if price else None)
        while True:
            seen, at = parts.flight.landings, parts.clock.now()
            take = partial(_take, parts=parts, account=account, cost=cost, model=model, at=at)
            balance, taken = await parts.database.write(Failpoint.EXCHANGE_RESERVED, take)
            if not isinstance(taken, Refusal):
                parts.flight.begin()
                meter = cls(parts, sent, balance, taken, price=price)
                meter._prompt = most.prompt
                return meter
            if taken.may_pass and await parts.flight.landing(seen):
                continue
            await parts.database.write(
                Failpoint.BUDGET_EXHAUSTED,
                partial(exchanges.exhaust, balance=balance, budget=taken.budget, at=at),
            )
            return sent.client.refusal(402, "budget_exhausted", f"{taken.budget.describe()} is spent")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            content = self._content()  # once: a long stream takes its time to be read
            usage = self._usage(content)
            nusd = self._price.cost_nusd(usage) if self._price else None
            await self._parts.database.write(
                Failpoint.EXCHANGE_SETTLED,
                partial(self._settle, usage=usage, nusd=nusd, skills=skills_asked_for(content)),
            )
        finally:
            self._parts.flight.end()
            if self._budget_balance.session:
                self._parts.journal.asked(
                    self._budget_balance.session, self._exchange, answered=self.status == 200
                )
            took_s = self._parts.clock.monotonic() - self._began_at
            self._parts.meters.model_call_s.observe(took_s, self._model)
        await self._record(usage, nusd, content)

    def _settle(
        self, connection: sqlite3.Connection, *, usage: TokenUsage, nusd: int | None, skills: Sequence[str]
    ) -> None:
        at, status = self._parts.clock.now(), self.status
        exchanges.settle(
            connection, self._budget_balance, self._exchange, usage=usage, nusd=nusd, status=status, at=at
        )
        skill_uses.load(connection, self._budget_balance.session, skills, at=at)

    def _usage(self, content: ReplyContent | None) -> TokenUsage:
        """What the endpoint says it used; where it does not say, or says what cannot be, an estimate that errs on the dear side."""
        if self.is_free:
            return TokenUsage()
        least = content.least_tokens if content is not None else 0
        told = content.usage if content is not None else None
        if told is not None and self._can_be(told, least):
            return told
        return TokenUsage(prompt=self._prompt, completion=max(least, self._unseen()))

    def _unseen(self) -> int:
        """What a reply has cost at most whose end its client did not wait for, since its thoughts are told only then."""
        if self.status != CLIENT_GONE:
            return 0
        took_s = self._parts.clock.monotonic() - self._began_at
        return min(self._sent.request.completion, int(took_s) * FASTEST)

    def _can_be(self, told: TokenUsage, least: int) -> bool:
        """Whether an endpoint can have used this: something was sent, in no more tokens than it has bytes and pictures can cost, and a
        reply is no nothing and not many times what was allowed."""
        is_prompt = 0 < told.prompt <= _most_of(self._sent.body)
        has_parts = told.cached + told.cache_written <= told.prompt
        most = 10 * max(self._sent.request.completion, least)
        return is_prompt and has_parts and told.completion <= most and (told.completion > 0 or least == 0)

    def _content(self) -> ReplyContent | None:
        return self.reader.content() if self.reader is not None else self.content

    def _write(self, facts: Mapping[str, Any], content: ReplyContent | None) -> None:
        message = content.message if content is not None else None
        messages = self._sent.client.transcribed
        self._parts.transcripts.write(self._budget_balance.session, facts, messages, message)

    async def _record(self, usage: TokenUsage, nusd: int | None, content: ReplyContent | None) -> None:
        if not self._budget_balance.session:
            return  # the transcript is a session's
        facts = {
            "at": self._parts.clock.now().isoformat(),
            "exchange": self._exchange,
            "model": self._model,
            "status": self.status,
            "usage": asdict(usage),
            "cost_usd": None if nusd is None else nusd / NANO,
            "trouble": self.trouble,
        }
        try:
            await asyncio.to_thread(self._write, facts, content)
        except OSError as error:
            log.warning(
                "transcript_not_written",
                job_id=self._budget_balance.job,
                session_id=self._budget_balance.session,
                error=str(error),
            )


def _most_of(body: bytes) -> int:
    """The most tokens that a request can be."""
    pictures = _MOST_IMAGE_TOKENS * len(_IMAGE.findall(body)) + _MOST_DOCUMENT_TOKENS * body.count(_DOCUMENT)
    return len(body) + OF_THE_PROVIDER + pictures


def _dearest(price: Price, most: TokenUsage) -> int:
    """What a request costs if all of it is written to a cache, where that has a price of its own."""
    return max(price.cost_nusd(most), price.cost_nusd(replace(most, cache_written=most.prompt)))


def _take(
    connection: sqlite3.Connection,
    *,
    parts: SessionApiParts,
    account: Account,
    cost: Cost,
    model: str,
    at: datetime,
) -> tuple[BudgetBalance, int | Refusal]:
    budget = parts.settings.space(account.space).budget
    balance = exchanges.balance(connection, account, budget.shared(), at=at)
    return balance, exchanges.reserve(connection, balance, cost=cost, model=model, at=at)
