"""claude_code"""
