"""What model calls used and cost, by day (UTC), session, role and model, and what may still be spent today."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from minutebook.pipeline import notices, workbook
from minutebook.settings import Settings
from minutebook.store import codec
from minutebook.store.kernel import Store
from minutebook.workers.exchange import Spent

USAGE = "usage"
WARNING_SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One line. input_tokens holds the cached ones too. unpriced: requests of a model whose price is not known."""

    day: str
    session: str
    role: str
    model: str
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def plus(self, other: "Account") -> "Account":
        """The sums, under this one's names."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in SUMMED}
        return replace(self, **sums)


SUMMED = tuple(field.name for field in fields(Account))[4:]


def day_of(store: Store) -> str:
    """The store's day in UTC."""
    return datetime.fromtimestamp(store.now(), UTC).date().isoformat()


def record(store: Store, *, session: str, role: str, model: str, spent: Spent, priced: bool) -> None:
    """Add one answer to its account; never lost to another writer."""
    line = Account(
        day=day_of(store),
        session=session,
        role=role,
        model=model,
        requests=1,
        unpriced=int(not priced),
        **asdict(spent),
    )
    key = codec.to_json([line.day, session, role, model])

    def added(body: dict[str, Any]) -> dict[str, Any]:
        return asdict(_account(body).plus(line) if body else line)

    while not workbook.change(store, USAGE, key, added):
        pass  # each lost compare is another writer's success


def accounts(store: Store, *, day: str = "") -> list[Account]:
    """All lines, or those of one day."""
    prefix = codec.to_json([day])[:-1] + "," if day else ""
    return [_account(codec.from_json(document.body)) for document in store.documents(USAGE, prefix)]


def by_model(lines: Iterable[Account]) -> dict[str, Account]:
    """Model → its sums."""
    found: dict[str, Account] = {}
    for line in lines:
        found[line.model] = found[line.model].plus(line) if line.model in found else line
    return found


def spent_today(store: Store) -> float:
    """US dollars of all calls of this store since midnight UTC, as far as prices are known."""
    return sum(line.cost_usd for line in accounts(store, day=day_of(store)))


def budget_left(store: Store, settings: Settings) -> float:
    """US dollars that may still be spent today; 0 when nothing may."""
    return max(0.0, settings.budget_daily_usd - spent_today(store))


def warn(store: Store, settings: Settings) -> None:
    """Say once a day that 80 % of the budget is spent, and once that all of it is."""
    budget, day = settings.budget_daily_usd, day_of(store)
    spent = spent_today(store)
    if not spent or spent < WARNING_SHARE * budget:
        return
    if spent < budget:
        text = f"{spent:.2f} of budget_daily_usd = {budget:g} is spent today (UTC)"
        notices.tell(store, f"budget 80 % {day} {budget:g}", text)
    else:
        then = "the extractive mind works on" if settings.over_budget == "extractive" else "paid work waits"
        text = f"budget_daily_usd = {budget:g} is spent for today (UTC, {spent:.2f}): {then}; raise it for more"
        notices.tell(store, f"budget 100 % {day} {budget:g}", text)


def _account(body: dict[str, Any]) -> Account:
    known = {field.name for field in fields(Account)}
    return Account(**{name: value for name, value in body.items() if name in known})
