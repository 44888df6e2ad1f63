"""Places in a plane for the nodes of a graph: a start by groups, forces, and rounds of moves along them."""
