"""Nearest neighbors, and the weights of edges to them."""
