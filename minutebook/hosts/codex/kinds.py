"""Row kinds of Codex that are known to be no source: they are counted as skipped, any other as unknown."""

_EVENTS = """
    agent_message agent_message_delta agent_reasoning_delta agent_reasoning_raw_content agent_reasoning_section_break
    apply_patch_approval_request background_event collab_agent_interaction_begin collab_agent_interaction_end
    collab_agent_spawn_begin collab_agent_spawn_end collab_close_begin collab_close_end collab_waiting_begin
    collab_waiting_end context_compacted deprecation_notice dynamic_tool_call_request dynamic_tool_call_response
    elicitation_request entered_review_mode error exec_approval_request exec_command_begin exec_command_end
    exited_review_mode guardian_assessment hook_completed hook_started image_generation_begin image_generation_end
    item_completed item_started mcp_startup_complete mcp_tool_call_begin mcp_tool_call_end model_reroute
    patch_apply_begin patch_apply_end plan_delta plan_update request_user_input session_configured stream_error
    sub_agent_activity task_complete task_started terminal_interaction thread_goal_updated thread_name_updated
    thread_rolled_back thread_settings_applied token_count turn_aborted turn_complete turn_diff turn_started
    undo_completed undo_started view_image_tool_call warning web_search_begin web_search_end
"""
EVENTS = frozenset(_EVENTS.split())
"""`type` of event_msg payloads that repeat a response item or are about the program (agent_reasoning and user_message
are read)."""

_ITEMS = "compaction compaction_summary compaction_trigger context_compaction ghost_snapshot"
ITEMS = frozenset(_ITEMS.split())
"""`type` of response items that are no source."""

_ROWS = "inter_agent_communication inter_agent_communication_metadata session_meta session_state turn_context"
ROWS = frozenset(_ROWS.split())
"""`type` of rows about the session and the program."""
