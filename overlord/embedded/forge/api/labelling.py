"""A repository's labels on the wire: what there is, and a new one."""

import re

from starlette.responses import Response

from overlord.embedded.forge.api.problem import invalid
from overlord.embedded.forge.api.reply import fields, page_of, reply
from overlord.embedded.forge.api.rest import Call
from overlord.embedded.forge.record import Label

COLOR = re.compile(r"[0-9A-Fa-f]{6}")
DESCRIPTION_CHARS = 100


async def list_labels(call: Call) -> Response:
    page, link = page_of(call.request, call.state.labels(call.repository().name))
    return reply([call.shape.label(label) for label in page], headers=link)


async def create_label(call: Call) -> Response:
    repository = call.repository(to_write=True)
    name, asked = await call.text("name", "Label"), await fields(call.request)
    color, description = asked.get("color") or "ededed", asked.get("description")
    if not COLOR.fullmatch(color):
        raise invalid("Label", "color")
    if len(description or "") > DESCRIPTION_CHARS:
        raise invalid("Label", "description")
    if any(known.name.casefold() == name.casefold() for known in call.state.labels(repository.name)):
        raise invalid("Label", "name", "already_exists")
    label = Label(
        id=call.state.records.next_id(),
        repository=repository.name,
        name=name,
        color=color,
        description=description,
    )
    return reply(call.shape.label(call.state.records.put(label)), 201)
