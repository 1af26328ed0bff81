"""codex"""
