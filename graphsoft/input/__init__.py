"""Checks and readers of what a user passes in."""
