"""One self-contained HTML page that shows a whole hierarchy."""
