"""Slow, obvious copies of what the tree computes; imports nothing from the package."""


def likeliest_parents(parents):
    """Index of the largest entry of each row, the first of equals."""
    return [[max(range(len(row)), key=lambda q: (row[q], -q)) for row in matrix] for matrix in parents]


def ancestors(parents, index):
    """Clusters above finest cluster `index`, as (level, index), itself first."""
    chain = [(0, index)]
    for level, up in enumerate(likeliest_parents(parents)):
        chain.append((level + 1, up[chain[-1][1]]))
    return chain
