"""The coding agents that are remembered: one folder a host."""
