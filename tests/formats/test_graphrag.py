"""GraphRAG's table of communities: its columns, its numbering, and ids taken from its other tables."""

import networkx as nx
import pandas as pd
import pytest

import graphsoft
from graphsoft.errors import InputError

# as in GraphRAG 3.3, graphrag/data_model/schemas.py
COLUMNS = ["id", "human_readable_id", "community", "level", "parent", "children", "title"]
COLUMNS += ["entity_ids", "relationship_ids", "text_unit_ids", "period", "size"]


def tables():
    """Entities and relationships of a novel, as GraphRAG writes them."""
    graph = nx.les_miserables_graph()
    entities = pd.DataFrame({"id": [f"e-{n}" for n in range(len(graph))], "title": list(graph)})
    rows = [
        {
            "id": f"r-{n}",
            "source": one,
            "target": other,
            "weight": float(w),
            "text_unit_ids": [f"t-{n % 9}", f"t-{n % 5}"],
        }
        for n, (one, other, w) in enumerate(graph.edges(data="weight"))
    ]
    return entities, pd.DataFrame(rows)


@pytest.fixture(scope="module")
def novel():
    relationships = tables()[1]
    graph = nx.from_pandas_edgelist(relationships, edge_attr="weight")
    return graphsoft.hierarchy(graph, levels=[12, 4])


def test_columns_and_numbering(novel):
    table = novel.to_graphrag(names={"1-0": "Paris"})
    assert table.columns.tolist() == COLUMNS
    assert table["level"].tolist() == [0] * 4 + [1] * 12
    assert table["community"].tolist() == table["human_readable_id"].tolist() == list(range(16))
    assert table["parent"].tolist()[:4] == [-1] * 4
    assert table["title"].tolist()[:2] == ["Paris", "Community 1"]
    for row in table.itertuples():
        assert all(table["parent"][child] == row.community for child in row.children)
        assert row.parent == -1 or row.community in table["children"][row.parent]
        node = novel.tree.find(f"{1 - row.level}-{row.community - 4 * row.level}")
        assert row.size == len(row.entity_ids) == node.size
        assert row.entity_ids == [
            novel.nodes[at] for at in (novel[node.level].labels == node.index).nonzero()[0]
        ]
    assert table["id"].is_unique
    assert table["id"].tolist() == novel.to_graphrag()["id"].tolist()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_ids_come_from_the_other_tables(kind, novel):
    entities, relationships = tables()
    given = (entities, relationships)
    if kind == "polars":
        given = tuple(map(pytest.importorskip("polars").from_pandas, given))
    if kind == "pyarrow":
        given = tuple(map(pytest.importorskip("pyarrow").Table.from_pandas, given))
    table = novel.to_graphrag(entities=given[0], relationships=given[1])
    title = dict(zip(entities["id"], entities["title"], strict=True))
    for row in table.itertuples():
        members = {title[id] for id in row.entity_ids}
        inside = relationships[relationships["source"].isin(members) & relationships["target"].isin(members)]
        assert row.relationship_ids == sorted(inside["id"])
        assert row.text_unit_ids == sorted({text for texts in inside["text_unit_ids"] for text in texts})


def test_the_file_has_the_same_rows(novel, tmp_path):
    pytest.importorskip("pyarrow")
    assert novel.to_graphrag(tmp_path / "communities.parquet") is None
    found = pd.read_parquet(tmp_path / "communities.parquet")
    expected = novel.to_graphrag()
    for name in COLUMNS:
        assert [
            list(v) if hasattr(v, "__len__") and not isinstance(v, str) else v for v in found[name]
        ] == expected[name].tolist()


def test_tables_that_do_not_fit_are_refused(novel):
    entities, relationships = tables()
    with pytest.raises(InputError, match=r"^entities: has no entity with the title '\w+'"):
        novel.to_graphrag(entities=entities[:5])
    with pytest.raises(InputError, match=r"^entities: has no column 'title'"):
        novel.to_graphrag(entities=entities[["id"]])
    with pytest.raises(InputError, match=r"^relationships: has no column 'source'"):
        novel.to_graphrag(relationships=relationships.drop(columns="source"))
    with pytest.raises(InputError, match=r"^relationships: has no column 'id'"):
        novel.to_graphrag(relationships=[1, 2])
    with pytest.raises(InputError, match=r"^names: "):
        novel.to_graphrag(names={"7-7": "x"})


def test_no_relationships_leave_typed_lists(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    h = graphsoft.hierarchy(nx.karate_club_graph(), levels=[4, 2])
    h.to_graphrag(tmp_path / "communities.parquet")
    table = parquet.read_table(tmp_path / "communities.parquet")
    assert table["entity_ids"].to_pylist()[0][0] == "8"
    assert table["relationship_ids"].to_pylist() == [[]] * 6
