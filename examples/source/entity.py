"""What one table of the pretend service is described by."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entity:
    """fields: "name:type:remark", a "?" after the type for nullable. states: from → to list. rules, checks: real code."""

    name: str
    plural: str
    about: str
    fields: tuple[str, ...]
    states: dict[str, str]
    filters: tuple[str, ...]
    style: str  # "orm" or "sql": the newer and the older way of writing queries here
    rules: str = ""
    checks: str = ""

    @property
    def title(self) -> str:
        return "".join(part.capitalize() for part in self.name.split("_"))

    def columns(self) -> list[tuple[str, str, bool, str]]:
        out = []
        for entry in self.fields:
            name, kind, remark = entry.split(":", 2)
            out.append((name, kind.rstrip("?"), kind.endswith("?"), remark))
        return out
