"""Who calls: a token of the accounts service, checked by fernhill-auth."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Depends, Header
from fernhill_auth import InvalidToken, verify_token

from orders_service.errors import Forbidden, NotFound


@dataclass(frozen=True)
class Caller:
    """A customer, a clerk, or another service."""

    login: str
    customer_id: int
    scopes: frozenset[str]

    def may_see(self, thing: Any) -> None:
        """Customers see their own things only; for others the thing does not exist."""
        owner = getattr(thing, "customer_id", None)
        if "clerk" not in self.scopes and owner is not None and owner != self.customer_id:
            raise NotFound("not found")


async def current_caller(authorization: str = Header("")) -> Caller:
    try:
        claims = await verify_token(authorization.removeprefix("Bearer "))
    except InvalidToken as error:
        raise Forbidden(str(error)) from error
    return Caller(login=claims["sub"], customer_id=claims.get("cid", 0), scopes=frozenset(claims["scp"].split()))


def require(scope: str) -> Callable[..., Awaitable[Caller]]:
    async def dependency(caller: Caller = Depends(current_caller)) -> Caller:
        if scope not in caller.scopes and "clerk" not in caller.scopes:
            raise Forbidden(scope)
        return caller

    return dependency
