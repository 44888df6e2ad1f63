"""Slow, dense, obvious copies of every formula; nothing here imports from the package."""
