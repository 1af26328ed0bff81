"""Every error that Minutebook raises on purpose.

MinutebookError                   exit code 1
├── BadInput                      exit code 2: what a person gave cannot be used; the message says what to do
│   ├── BadSetting                a wrong value: key, value, file and line, what is allowed
│   ├── BadTranscript             a session file that is missing, unreadable or of no known format
│   └── BadRecordId               not twelve lowercase hex characters
├── NotFound                      a well-formed id, session or branch that this store does not hold
├── MissingExtra                  an optional dependency is needed; the message names the install command
├── StoreError                    the store could not do what was asked; nothing was half-written
│   ├── StoreBusy                 another process held the file longer than the timeout
│   ├── StoreReadOnly             the file or its folder cannot be written; a replica
│   ├── StoreUnreachable          the server of the store does not answer, or the connection was lost
│   ├── StoreGone                 the file was removed, or another lies in its place, while it was open
│   ├── StoreFull                 no space left on the device
│   ├── StoreCorrupt              the file is no readable store
│   └── StoreTooNew               written by a newer Minutebook
├── BoxFailed                     the box did not do what was asked; everything stays on this machine
│   ├── BoxUnreachable            it does not answer, or not in time
│   ├── BoxRefused                the token is missing, expired, revoked or not for this
│   └── BoxDiverged               this machine and the box hold different entries at the same place
├── CompactionOpen                another boundary is being composed on this branch
├── HostFailed                    the installed program of a host did not do what it was asked
└── ThinkingFailed                a role's run ended without an outcome
    ├── SpanFailed                this span is the cause: it is halved, and at last listed as a gap
    └── ProviderFailed            the provider is the cause: back off, count nothing against the span
        └── BudgetSpent           what model calls may cost today is spent

Foreign errors (sqlite3, redis, httpx, litellm) are translated where they enter and never leave their module.
"""


class MinutebookError(Exception):
    """Anything that Minutebook raises on purpose."""

    exit_code = 1


class BadInput(MinutebookError):
    """What a person gave cannot be used; the message says what to do."""

    exit_code = 2


class BadSetting(BadInput):
    """A wrong value in a file, a variable or a flag."""


class BadTranscript(BadInput):
    """A session file that is missing, unreadable or of no known format."""


class BadRecordId(BadInput):
    """An id that is not exactly twelve lowercase hex characters."""


class NotFound(MinutebookError):
    """A well-formed id, session or branch that this store does not hold."""


class MissingExtra(MinutebookError):
    """An optional dependency is needed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs an extra: pip install 'minutebook[{extra}]'")


class StoreError(MinutebookError):
    """The store could not do what was asked; nothing was half-written."""


class StoreBusy(StoreError):
    """Another process held the file longer than the timeout."""


class StoreReadOnly(StoreError):
    """The file or its folder cannot be written."""


class StoreUnreachable(StoreError):
    """The server of the store does not answer; what was asked last may or may not have been done, never half of it."""


class StoreGone(StoreError):
    """The file was removed, or another lies in its place, while it was open."""


class StoreFull(StoreError):
    """No space left on the device."""


class StoreCorrupt(StoreError):
    """The file is no readable store."""


class StoreTooNew(StoreError):
    """The store was written by a newer Minutebook."""


class BoxFailed(MinutebookError):
    """The box did not do what was asked; everything stays on this machine. status: its HTTP status, 0 for none."""

    def __init__(self, message: str = "", *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class BoxUnreachable(BoxFailed):
    """The box does not answer, or not in time."""


class BoxRefused(BoxFailed):
    """The token is missing, expired, revoked or not for this."""


class BoxDiverged(BoxFailed):
    """This machine and the box hold different entries at the same place."""


class CompactionOpen(MinutebookError):
    """Another boundary is being composed on this branch."""


class HostFailed(MinutebookError):
    """The installed program of a host is missing, ended, was too slow, or said something else than was asked."""


class ThinkingFailed(MinutebookError):
    """A role's run ended without an outcome. reason: one word for it, where whoever raises it knows; "" otherwise."""

    def __init__(self, message: str = "", *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class SpanFailed(ThinkingFailed):
    """The span is the cause. reason, of a model's answer: too_long, refused, cut or rubbish."""


class ProviderFailed(ThinkingFailed):
    """The provider is the cause.

    reason, of a model's provider: auth, quota, rate, network, server, unknown_model, bad_request, or no_tools where
    the model cannot call the tools of the request.
    """


class BudgetSpent(ProviderFailed):
    """What model calls may cost today is spent, or the price of a model is not known and nothing may be spent."""
