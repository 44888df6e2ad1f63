"""Linear algebra on sparse rows that scipy does not offer."""
