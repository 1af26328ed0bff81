"""Models for people and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from minutebook.cli.showing import console, counted, minute, one_line, seconds
from minutebook.pipeline.notices import Notice
from minutebook.settings import ModelChoice
from minutebook.workers.models_accounts import Account
from minutebook.workers.models_facts import Price
from minutebook.workers.models_report import ModelReport, Report

if TYPE_CHECKING:
    from rich.text import Text

NOTICES = 5
SESSIONS_OWN = "the session's own model"
LABEL_WIDTH = 20
PROGRAM_PRICE = "what the program reports; a plan may cost something else"
HOW = {
    "key": "usable with its key",
    "header": "usable with an authorization header",
    "signed": "usable with signed requests",
    "none": "usable, needs no key",
    "login": "usable while the program is logged in, one request at a time",
}


def show_report(report: Report, notices: Sequence[Notice]) -> None:
    """The whole report on stdout."""
    for block in (_roles(report), *map(_model, report.models), _money(report), _notices(notices)):
        lines = list(block)
        for line in lines:
            console().print(line, soft_wrap=True)
        if lines:
            console().print()


def _line(label: str, said: str, style: str = "default") -> "Text":
    from rich.text import Text

    line = Text(f"{label:<{LABEL_WIDTH}}", style="cyan")
    return line.append(one_line(said), style=style)


def _roles(report: Report) -> Iterator["Text"]:
    for role, chain in report.chains.items():
        yield _line(role, " → ".join(map(str, chain)) or without_a_model(report, role))


def without_a_model(report: Report, role: str) -> str:
    """What thinks for a role that has no model configured."""
    return f"extractive; in Pi {SESSIONS_OWN}" if role in report.session_roles else "extractive"


def _model(model: ModelReport) -> Iterator["Text"]:
    from rich.text import Text

    yield Text(one_line(model.model), style="bold")
    if model.missing:
        yield _line("  cannot be asked", model.missing, "red")
    else:
        yield _line("  asked", HOW[model.how] + (f" at {model.server}" if model.server else ""))
    if model.cooldown:
        rests = f"rests for {seconds(model.rests_seconds)} more: " if model.rests_seconds else ""
        yield _line("  last failure", f"{rests}{model.cooldown.kind}: {model.cooldown.said}", "yellow")
    yield _line("  can", abilities(model))
    yield _line("  price", PROGRAM_PRICE if model.how == "login" and not model.price else price_text(model.price))
    if taught := lessons(model):
        yield _line("  learned", taught)
    yield _line("  today (UTC)", account_text(model.today))
    yield _line("  in total", account_text(model.total))


def abilities(model: ModelReport) -> str:
    """Window, output limit, tools, thinking."""
    window = f"window {model.window:,} tokens" if model.window else "window not known: set model_context_tokens"
    said = [window, f"answers of up to {model.output_tokens:,} tokens"]
    said.append("calls tools" if model.tools else "calls no tools")
    return ", ".join([*said, "thinks" if model.thinks else "does not think"])


def price_text(price: Price | None) -> str:
    """For a million tokens."""
    if price is None:
        return "not known, counted as 0: set model_price_input_usd and model_price_output_usd"
    cached = "" if price.cached_usd == price.input_usd else f" (${price.cached_usd:g} cached)"
    return f"${price.input_usd:g} in{cached}, ${price.output_usd:g} out for a million tokens"


def lessons(model: ModelReport) -> str:
    """What its provider refused."""
    said = [f"leaves out {name}" for name in sorted(model.quirks.refused)]
    said += [f"answers of up to {model.quirks.output_tokens:,} tokens"] if model.quirks.output_tokens else []
    said += [f"window {model.quirks.context_tokens:,} tokens"] if model.quirks.context_tokens else []
    return ", ".join(said)


def account_text(line: Account | None) -> str:
    """What was used and spent, as reported."""
    if line is None:
        return "nothing"
    cached = f" ({line.cached_tokens:,} cached)" if line.cached_tokens else ""
    unpriced = f", {line.unpriced:,} without a known price" if line.unpriced else ""
    used = f"{line.input_tokens:,} tokens in{cached}, {line.output_tokens:,} out"
    return f"{counted(line.requests, 'answer')}, {used}, ${line.cost_usd:.4f}{unpriced}"


def _money(report: Report) -> Iterator["Text"]:
    share = report.spent_usd / report.budget_usd if report.budget_usd else 0.0
    said = f"${report.spent_usd:.4f} of budget_daily_usd = ${report.budget_usd:g}"
    yield _line("spent today (UTC)", said, "yellow" if share >= 0.8 else "default")
    for line in report.others:
        label = "of a Pi session" if line.model.startswith("session/") else "no longer used"
        yield _line(label, f"{line.model}: {account_text(line)}", "dim")


def _notices(notices: Sequence[Notice]) -> Iterator["Text"]:
    for notice in notices:
        yield _line(minute(notice.time, "UTC"), notice.text, "yellow")


# -- for programs --------------------------------------------------------------------------------------------------


def as_data(report: Report, notices: Sequence[Notice]) -> dict[str, Any]:
    """For programs."""
    return {
        "session_roles": list(report.session_roles),
        "roles": {role: [_choice(choice) for choice in chain] for role, chain in report.chains.items()},
        "models": [_model_data(model) for model in report.models],
        "others": [account_data(line) for line in report.others],
        "budget_daily_usd": report.budget_usd,
        "spent_today_usd": report.spent_usd,
        "notices": [{"time": notice.time, "text": notice.text} for notice in notices],
    }


def _choice(choice: ModelChoice) -> dict[str, str]:
    return {"model": f"{choice.provider}/{choice.id}", "thinking": choice.thinking}


def _model_data(model: ModelReport) -> dict[str, Any]:
    names = ("model", "how", "missing", "server", "window", "output_tokens", "tools", "thinks", "rests_seconds")
    return {
        **{name: getattr(model, name) for name in names},
        "usable": not model.missing,
        "price": asdict(model.price) if model.price else None,
        "last_failure": _failure(model),
        "refused": sorted(model.quirks.refused),
        "learned_output_tokens": model.quirks.output_tokens,
        "learned_window": model.quirks.context_tokens,
        "today": account_data(model.today),
        "total": account_data(model.total),
    }


def _failure(model: ModelReport) -> dict[str, Any] | None:
    if model.cooldown is None:
        return None
    return {"kind": model.cooldown.kind, "said": model.cooldown.said, "failures": model.cooldown.failures}


def account_data(line: Account | None) -> Mapping[str, Any] | None:
    """The sums of a model; day, session and role are only those of the first line."""
    if line is None:
        return None
    return {name: value for name, value in asdict(line).items() if name not in ("day", "session", "role")}
