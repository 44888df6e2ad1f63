"""The engine of relation factorization: contraction, sweeps, and what improves memberships on the points."""
