"""What a worker process asks once: the settings of each project, and which mind thinks for a role."""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from minutebook.errors import BadSetting, BudgetSpent, MissingExtra
from minutebook.pipeline.readings import session_key_of
from minutebook.records import Branch
from minutebook.settings import ModelChoice, Settings
from minutebook.settings_loading import is_of_pi_here, load
from minutebook.store.kernel import Store
from minutebook.workers import models
from minutebook.workers.contract import Mind
from minutebook.workers.extractive import ExtractiveMind
from minutebook.workers.model_mind import Instead, ModelMind
from minutebook.workers.models_session import NOT_USABLE, session_model, tell_not_usable
from minutebook.workers.runner import Minds


class ProjectSettings:
    """Branch → the settings of its project, read once (003-125). Raises BadSetting, again each time it is asked.

    On a team box a project is a name that a client sent: only an absolute path is ever looked at.
    """

    def __init__(self, flags: Mapping[str, object] | None = None) -> None:
        self._flags = flags or {}
        self._known: dict[tuple[Path | None, bool], Settings] = {}
        self._lock = threading.Lock()

    def __call__(self, branch: Branch) -> Settings:
        folder = _folder(branch.project)
        key = (folder, is_of_pi_here(branch))
        with self._lock:
            if key not in self._known:
                self._known[key] = load(folder, self._flags, pi=key[1]).settings
            return self._known[key]

    def outdated(self) -> bool:
        """Whether a file says something else by now than what was read of it. One that is wrong now says nothing."""
        with self._lock:
            known = dict(self._known)
        return any(self._is_other(folder, pi, settings) for (folder, pi), settings in known.items())

    def _is_other(self, folder: Path | None, pi: bool, known: Settings) -> bool:
        try:
            return load(folder, self._flags, pi=pi).settings != known
        except BadSetting:
            return False

    def now(self, project: str, host: str) -> Settings:
        """The settings as the files are now: what is ignored is so from when it is set. Raises BadSetting.

        host: of a session of this machine.
        """
        return load(_folder(project), self._flags, pi=host == "pi").settings


def _folder(project: str) -> Path | None:
    return Path(project) if Path(project).is_absolute() else None


def minds_of(store: Store) -> Minds:
    """Role, settings and branch → mind, with the accounts and cooldowns of this store."""
    return lambda role, settings, branch: mind_for(role, settings, branch, store)


def mind_for(role: str, settings: Settings, branch: Branch, store: Store) -> Mind:
    """The mind that the settings name; from here on its run has job_deadline_seconds.

    Raises MissingExtra without litellm, where the settings say to wait.
    """
    choice = settings.model_of(role)
    if choice is None:
        return _unconfigured(role, settings, branch, store)
    try:
        return _model_mind(
            choice,
            settings,
            branch,
            store,
            window=models.context_window(choice, settings, store),
            tools_supported=models.supports_tools(choice, store=store),
            instead=lambda error: instead_of(error, settings),
        )
    except MissingExtra as error:
        other = instead_of(error, settings)
        if other is None:
            raise
        return other


def _unconfigured(role: str, settings: Settings, branch: Branch, store: Store) -> Mind:
    """The model of the Pi session whose branch it is, while it is open; else the extractive mind (003-127)."""
    found = session_model(role, settings, branch, store)
    if found is None:
        return ExtractiveMind()
    choice = found.choice
    return _model_mind(
        choice,
        settings,
        branch,
        store,
        window=found.window,
        tools_supported=True,
        instead=lambda error: instead_of_session(
            error, settings, lambda why: tell_not_usable(store, branch, choice, why)
        ),
    )


def _model_mind(
    choice: ModelChoice,
    settings: Settings,
    branch: Branch,
    store: Store,
    *,
    window: int | None,
    tools_supported: bool,
    instead: Instead,
) -> ModelMind:
    return ModelMind(
        choice,
        lambda request: models.ask_model(request, store=store, settings=settings),
        settings,
        session=session_key_of(branch),
        branch=branch.key,
        window=window,
        tools_supported=tools_supported,
        deadline=time.monotonic() + settings.job_deadline_seconds,
        instead=instead,
    )


def instead_of_session(error: Exception, settings: Settings, tell: Callable[[str], None]) -> Mind | None:
    """The same for a session's own model; one without a usable key is as good as none, and told so (003-127)."""
    reason = getattr(error, "reason", None)
    if reason in NOT_USABLE:
        tell(reason)
        return ExtractiveMind()
    return instead_of(error, settings)


def instead_of(error: Exception, settings: Settings) -> Mind | None:
    """Who thinks when no model can be asked: the extractive mind or nobody, as the settings say for this reason."""
    chosen = settings.over_budget if isinstance(error, BudgetSpent) else settings.without_provider
    return ExtractiveMind() if chosen == "extractive" else None
