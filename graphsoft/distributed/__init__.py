"""Hierarchies of data that is larger than memory: stages of tasks that read files and write files."""
