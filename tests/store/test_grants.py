"""Grants and spaces: what people gave a job, until when; what is known of a repository."""

from overlord.store.budgets import grants
from overlord.store.budgets.grants import GrantKind
from overlord.store.database import Database
from overlord.store.spaces import spaces
from overlord.store.spaces.spaces import Space
from tests.records import NOW, later
from tests.stored import claim


async def test_granted_patterns_hold_until_they_expire(database: Database) -> None:
    one, other = await database.write("by hand", lambda c: (claim(c, 1), claim(c, 2)))
    give = grants.add
    for patterns, until in ((["docs/**"], None), (["a [1]", "docs/**"], later(60)), (["b"], later(30))):
        await database.write(
            "by hand",
            lambda c, p=patterns, u=until: give(c, one.id, GrantKind.SCOPE, p, by="x", at=NOW, expires_at=u),  # type: ignore[misc]
        )
    for job, at, expected in (
        (one, NOW, [("docs/**",), ("a [1]", "docs/**"), ("b",)]),
        (one, later(30), [("docs/**",), ("a [1]", "docs/**")]),
        (one, later(60), [("docs/**",)]),
        (other, NOW, []),
    ):
        granted = await database.read(lambda c, j=job, a=at: grants.scope_granted(c, j.id, at=a))  # type: ignore[misc]
        assert [item.patterns for item in granted] == expected


async def test_a_space_is_known_by_what_was_noted(database: Database) -> None:
    assert await database.read(lambda c: spaces.get(c, "acme/calc")) == Space(name="acme/calc")
    await database.write("by hand", lambda c: spaces.note_poll(c, "acme/calc", at=NOW, trouble="away"))
    away = Space(name="acme/calc", trouble="away", polled_at=NOW)
    assert await database.read(lambda c: spaces.get(c, "acme/calc")) == away
    await database.write("by hand", lambda c: spaces.note_poll(c, "acme/calc", at=later(30)))
    back = Space(name="acme/calc", polled_at=later(30))
    assert await database.read(lambda c: spaces.get(c, "acme/calc")) == back
