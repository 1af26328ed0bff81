"""OpenCode: its exported sessions."""
