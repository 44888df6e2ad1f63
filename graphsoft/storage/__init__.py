"""What is saved: files that are written whole or not at all, and one format for all results."""
