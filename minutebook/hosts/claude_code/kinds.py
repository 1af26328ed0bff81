"""Row kinds of Claude Code that are known to be no source: they are counted as skipped, any other as unknown."""

METADATA = frozenset(
    (
        "agent-name",
        "agent-setting",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "attribution-snapshot",
        "content-replacement",
        "context-collapse",
        "cost-state",
        "custom-title",
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "marble-origami-commit",
        "marble-origami-snapshot",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "relocated",
        "speculation-accept",
        "summary",
        "tag",
        "task-summary",
        "tools-used",
        "worktree-state",
    )
)
"""`type` of rows about the session and the program."""

SYSTEM_METADATA = frozenset(
    (
        "agents_killed",
        "api_error",
        "api_metrics",
        "away_summary",
        "bridge_status",
        "file_snapshot",
        "informational",
        "local_command",
        "memory_saved",
        "microcompact_boundary",
        "model_refusal_fallback",
        "permission_retry",
        "scheduled_task_fire",
        "status",
        "stop_hook_summary",
        "thinking",
        "turn_duration",
    )
)
"""`subtype` of system rows that the model is not shown (compact_boundary is read)."""
