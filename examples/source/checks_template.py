"""The test file of an entity of the pretend service."""

from source.entity import Entity

SAMPLE = {"int": "1200", "time": "NOON", "date": "DAY", "bool": "True", "json": '{"a": 1}', "fk": "7"}


def tests(e: Entity) -> str:
    moves = [(a, b) for a, to in e.states.items() for b in to.split()]
    values = ", ".join(f"{n}={SAMPLE.get(k, repr(n[:4])).replace(chr(39), chr(34))}" for n, k, null, _ in e.columns() if not null)
    allowed = "\n\n".join(_move_test(e, a, b) for a, b in moves)
    first = next(iter(e.states))
    return f'''"""{e.title}: rules without a database, moves and HTTP with one."""

from datetime import date, datetime, timedelta, timezone

import pytest

from orders_service.errors import Conflict, NotFound, RuleBroken
from orders_service.models.{e.name} import FINAL, TRANSITIONS, {e.title}
from orders_service.repositories.{e.plural} import {e.title}Repository
from orders_service.services.{e.plural} import *  # noqa: F403

pytestmark = pytest.mark.anyio
NOON = datetime(2025, 3, 4, 12, 0, tzinfo=timezone.utc)
DAY = date(2025, 3, 4)
HOUR = timedelta(hours=1)


def make(**changes) -> {e.title}:
    values = dict({values})
    return {e.title}(**(values | changes))

{e.checks}

{allowed}


async def test_final_states_stay_final(session):
    for state in FINAL:
        {e.name} = await {e.title}Repository(session).add(make(state=state))
        assert not any({e.name}.can_become(other) for other in TRANSITIONS)


async def test_unknown_id_is_not_found(session):
    with pytest.raises(NotFound):
        await {e.title}Repository(session).get(999_999)


async def test_list_is_newest_first_and_pages(client, session):
    for n in range(7):
        await {e.title}Repository(session).add(make(created_at=NOON + n * HOUR))
    first = (await client.get("/v2/{e.plural.replace("_", "-")}?limit=4")).json()
    rest = (await client.get("/v2/{e.plural.replace("_", "-")}", params={{"limit": 4, "cursor": first["next_cursor"]}})).json()
    ids = [item["id"] for item in first["items"] + rest["items"]]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 7 and rest["next_cursor"] is None


async def test_unknown_fields_are_refused(client):
    answer = await client.post("/v2/{e.plural.replace("_", "-")}", json={{"surprise": 1}})
    assert answer.status_code == 422


async def test_lost_race_is_a_conflict(session):
    {e.name} = await {e.title}Repository(session).add(make(state="{first}"))
    {e.name}.version += 1
    with pytest.raises(Conflict) as caught:
        await {e.title}Repository(session).move({e.name}, "{moves[0][1]}")
    assert caught.value.code == "stale_{e.name}"
'''


def _move_test(e: Entity, before: str, after: str) -> str:
    return f'''
async def test_{before}_can_become_{after}(session):
    {e.name} = await {e.title}Repository(session).add(make(state="{before}"))
    await {e.title}Repository(session).move({e.name}, "{after}")
    assert ({e.name}.state, {e.name}.version) == ("{after}", 2)'''
