"""Files of edges, and the graph that blocks made of them add up to."""

import numpy as np
import scipy.sparse as sp

from graphsoft.distributed.plan import Plan

KINDS = ("parquet", "npz", "csv", "edges", "matrix")


def plan_of(nodes, partitions, max_memory=1 << 24):
    return Plan(
        kind="graph", rows=nodes, features=0, sparse=True, partitions=partitions, chunk_rows=1000, lends=0,
        n_neighbors=0, metric="", weights="", levels=(2,), max_memory=max_memory, coarse_nodes=100,
    )  # fmt: skip


def write_edges(path, edges, kind, nodes):
    """Write edges (u, v, weight) to one file; path has no ending."""
    table = np.array(edges, dtype=np.float64).reshape(-1, 3)
    u, v, w = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2]
    if kind == "parquet":
        import pyarrow as pa
        from pyarrow import parquet

        columns = {"source": u, "target": v.astype(np.int32), "weight": w}
        parquet.write_table(pa.table(columns), f"{path}.parquet", row_group_size=7)
    elif kind == "npz":
        np.savez_compressed(f"{path}.npz", row=u.astype(np.uint32), col=v, data=w)
    elif kind == "matrix":
        sp.save_npz(f"{path}.npz", sp.coo_array((w, (u, v)), shape=(nodes, nodes)))
    else:
        comma, head = (",", "source,target,weight\n") if kind == "csv" else (" ", "# edges\n")
        lines = (
            f"{a}{comma}{b}{comma}{c!r}\n" for a, b, c in zip(u.tolist(), v.tolist(), w.tolist(), strict=True)
        )
        with open(f"{path}.{kind}", "w") as file:
            file.write(head + "".join(lines))


def write_parts(folder, edges, kind, nodes, parts=3):
    """Deal edges to so many files in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(parts):
        write_edges(folder / f"part-{part}", edges[part::parts], kind, nodes)
    return folder


def read_all(run, stage, partitions):
    """All arrays of a stage, with the cuts of `sent`."""
    found = []
    for part in range(partitions):
        with run.where(stage, part).open(stage, part) as file:
            found.append({name: file.array(name) for name in file})
            if stage == "graph":
                found[-1]["cut"] = file.cut("sent")
    return found


def assembled(run, partitions, nodes):
    """The graph that all blocks add up to, and its degrees; what blocks say of each other is checked."""
    rows = [each["rows"] for each in read_all(run, "rows", partitions)]
    blocks = read_all(run, "graph", partitions)
    matrix, degrees = sp.lil_array((nodes, nodes)), np.full(nodes, np.nan)
    for part, (own, block) in enumerate(zip(rows, blocks, strict=True)):
        assert (np.diff(own) > 0).all()
        places = list(zip(block["halo_part"].tolist(), block["halo_place"].tolist(), strict=True))
        assert places == sorted(set(places))
        assert part not in block["halo_part"]
        known = [(part, place) for place in range(len(own))] + places
        for i, node in enumerate(own.tolist()):
            entries = slice(block["ptr"][i], block["ptr"][i + 1])
            columns = [known[j] for j in block["columns"][entries]]
            assert columns == sorted(set(columns))
            for (q, place), weight in zip(columns, block["weights"][entries], strict=True):
                matrix[node, rows[q][place]] = weight
            degrees[node] = block["degrees"][i]
        for q, other in enumerate(blocks):
            sent = block["sent"][block["cut"][q] : block["cut"][q + 1]]
            assert sent.tolist() == other["halo_place"][other["halo_part"] == part].tolist()
        assert block["copies"].tolist() == [1] * len(own)
    assert not np.isnan(degrees).any()
    return matrix.tocsr(), degrees


def same_as(graph, found):
    """Whether blocks add up to a graph, to the last bit of what its weights are rounded to."""
    matrix, degrees = found
    kind = np.float32 if (matrix.data.astype(np.float32) == matrix.data).all() else np.float64
    difference = matrix != graph.adjacency.astype(kind).astype(np.float64)
    return difference.nnz == 0 and degrees.tobytes() == graph.degrees.tobytes()
