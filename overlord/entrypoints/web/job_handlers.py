"""More of a job's addresses: what its turns cost, and the ledger verified on its page."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from overlord.domain.text.csv_rows import csv_text
from overlord.entrypoints.web.address import back, job_in, number_in
from overlord.entrypoints.web.handlers import Handlers
from overlord.entrypoints.web.pages import cost as cost_page
from overlord.entrypoints.web.pages import job as job_page
from overlord.entrypoints.web.visitor import Visitor
from overlord.queries.look import Look
from overlord.queries.query import Cell


class JobHandlers(Handlers):
    """All of the page's addresses, with these."""

    async def cost(self, request: Request, visitor: Visitor) -> Response:
        """Turn by turn, the newest first."""
        number, first = job_in(request), number_in(request.query_params.get("first", "0"))
        found = await self._site.look(lambda look: cost_page.cost(look, number, first))
        return await self._of_job(request, visitor, found.head, "cost", {"cost": found})

    async def cost_csv(self, request: Request, visitor: Visitor) -> Response:
        """Every turn as a row, for a spreadsheet."""
        number = job_in(request)

        def read(look: Look) -> list[Sequence[Cell]]:
            visitor.check_sees([job_page.head(look, number).job.space])
            return cost_page.rows(look, number)

        rows = await self._site.look(read)
        headers = {"content-disposition": f'attachment; filename="job-{number}-cost.csv"'}
        return Response(csv_text(rows), media_type="text/csv; charset=utf-8", headers=headers)

    async def verify_ledger(self, request: Request, visitor: Visitor) -> Response:
        """Have every event of the ledger hashed again. It is a look: whoever sees the job may ask for it."""
        number = job_in(request)
        head = await self._site.look(lambda look: job_page.head(look, number))
        visitor.check_sees([head.job.space])
        found = await self._site.verifier.ask()
        return back(request, visitor, found.sentence)
