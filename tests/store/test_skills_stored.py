"""The registry of skills: what a base has, what it had, and who wrote it."""

from dataclasses import replace
from functools import partial

from overlord.domain.skills.record import Origin, SkillAtBase, SkillState
from overlord.store.database import Database
from overlord.store.skills import skills
from tests.records import NOW, REPO, later

ORDER = SkillAtBase(
    name="order",
    version="1.0.0",
    digest="a" * 16,
    path=".nebulus/skills/order.yaml",
    description="How orders are kept.",
)


async def test_what_is_at_base_is_on_record_and_what_is_there_no_longer_is_gone(database: Database) -> None:
    other = replace(ORDER, name="arithmetic")
    await database.write("by hand", lambda c: skills.note_base(c, REPO, [ORDER, other], at=NOW))
    await database.write("by hand", lambda c: skills.note_base(c, "acme/other", [ORDER], at=NOW))
    await database.write("by hand", lambda c: skills.note_base(c, REPO, [ORDER], at=later(9)))
    gone, kept = await database.read(lambda c: skills.all_of(c, REPO))
    assert (gone.name, gone.state, gone.last_seen_at) == ("arithmetic", SkillState.GONE, NOW)
    assert (kept.name, kept.is_present, kept.last_seen_at) == ("order", True, later(9))
    others = [item for item in await database.read(skills.all_of) if item.space == "acme/other"]
    assert [(item.name, item.is_present) for item in others] == [("order", True)]
    await database.write("by hand", lambda c: skills.note_base(c, REPO, [], at=later(10)))
    assert not any(item.is_present for item in await database.read(lambda c: skills.all_of(c, REPO)))
    assert await database.read(lambda c: skills.find(c, "acme/other", "arithmetic")) is None


async def test_a_change_of_text_is_dated_and_the_first_sight_stays(database: Database) -> None:
    newer = replace(ORDER, version="1.1.0", digest="b" * 16, path=".nebulus/skills/orders.yaml")
    for number, found in enumerate((ORDER, ORDER, newer, newer)):
        note = partial(skills.note_base, space=REPO, found=[found], at=later(number))
        await database.write("by hand", note)
    [record] = await database.read(skills.all_of)
    assert (record.version, record.digest, record.path) == (newer.version, newer.digest, newer.path)
    assert (record.first_seen_at, record.changed_at, record.last_seen_at) == (later(0), later(2), later(3))


async def test_an_origin_may_be_said_before_the_skill_is_seen_and_stays(database: Database) -> None:
    await database.write("by hand", lambda c: skills.set_origin(c, REPO, "order", Origin.EVOLVED))
    assert await database.read(skills.all_of) == []
    other = replace(ORDER, name="arithmetic")
    await database.write("by hand", lambda c: skills.note_base(c, REPO, [ORDER, other], at=NOW))
    await database.write("by hand", lambda c: skills.note_base(c, REPO, [], at=later(1)))
    await database.write("by hand", lambda c: skills.note_base(c, REPO, [ORDER], at=later(2)))
    found = {item.name: item.origin for item in await database.read(skills.all_of)}
    assert found == {"order": Origin.EVOLVED, "arithmetic": Origin.MANUAL}
    await database.write("by hand", lambda c: skills.set_origin(c, REPO, "order", Origin.MANUAL))
    again = await database.read(lambda c: skills.find(c, REPO, "order"))
    assert again is not None and again.origin is Origin.MANUAL
