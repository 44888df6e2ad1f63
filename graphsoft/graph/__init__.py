"""Everything that can be seen as a graph, checked once."""
