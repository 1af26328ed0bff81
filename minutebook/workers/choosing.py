"""What a worker process asks once: the settings of each project, and which mind thinks for a role."""

import threading
from collections.abc import Mapping
from pathlib import Path

from minutebook.errors import ProviderFailed
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.settings_loading import load
from minutebook.store.kernel import Store
from minutebook.workers.contract import Mind
from minutebook.workers.extractive import ExtractiveMind
from minutebook.workers.runner import Minds


class ProjectSettings:
    """Branch → the settings of its project, read once (003-125). Raises BadSetting, again each time it is asked."""

    def __init__(self, flags: Mapping[str, object] | None = None) -> None:
        self._flags = flags or {}
        self._known: dict[str, Settings] = {}
        self._lock = threading.Lock()

    def __call__(self, branch: Branch) -> Settings:
        with self._lock:
            if branch.project not in self._known:
                project = Path(branch.project) if branch.project else None
                self._known[branch.project] = load(project, self._flags).settings
            return self._known[branch.project]


def minds_of(store: Store) -> Minds:
    """Role, settings and branch → mind, with the accounts and cooldowns of this store."""
    return lambda role, settings, branch: mind_for(role, settings, branch, store)


def mind_for(role: str, settings: Settings, branch: Branch, store: Store) -> Mind:
    """The mind that the settings name; ProviderFailed when it cannot be had."""
    choice = settings.model_of(role)
    if choice is None:
        return ExtractiveMind()
    raise ProviderFailed(
        f"the {role} cannot ask {choice.provider}/{choice.id}: only the extractive mind is built in; unset `model`"
    )
