"""Topics: levels of clusters in the shapes that BERTopic, Toponymy and DataMapPlot ask for.

None of these packages is imported here. Words of topics are found by :meth:`graphsoft.Hierarchy.distinctive`,
and names by :meth:`graphsoft.Hierarchy.name_clusters`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.input.checks import integer
from graphsoft.levels import hierarchy
from graphsoft.linalg.memberships import largest_shares
from graphsoft.result.hierarchy import Hierarchy

__all__ = ["SoftTopics", "ToponymyLayers", "label_layers"]

OWN = ("levels", "level", "dense_probabilities")  # the settings of topics that are not options of `hierarchy`

Layer = tuple[int, int]  # a cluster as Toponymy names it: layer and number


class SoftTopics:
    """A hierarchy of topics for ``BERTopic(hdbscan_model=...)``, which shows one of its levels.

    Leave out the reduction of dimensions:
    ``BERTopic(umap_model=BaseDimensionalityReduction(), hdbscan_model=SoftTopics([60, 15, 5]))``.

    Parameters
    ----------
    levels : int, sequence of int, or "auto"
        How many topics each level has, finest first; see :func:`graphsoft.hierarchy`.
    level : int
        The level that BERTopic gets as its topics. Negative numbers count from the top.
    dense_probabilities : bool
        Give BERTopic the probabilities of all topics, as a dense array, instead of those of the likeliest.
    n_neighbors, metric, **options
        Passed to :func:`graphsoft.hierarchy`. The defaults are for embeddings of texts.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        All levels, with sparse memberships.
    labels_ : ndarray of int, shape (n,)
        The likeliest topic of each text. BERTopic numbers topics anew, by their size.
    probabilities_ : ndarray of shape (n,), or (n, m)
        The probability of that topic, or of every topic.

    Examples
    --------
    >>> import numpy as np
    >>> embeddings = np.random.default_rng(0).normal(size=(60, 8))
    >>> topics = SoftTopics([12, 4]).fit(embeddings)
    >>> topics
    SoftTopics(levels=[12, 4], level=-1, dense_probabilities=False, n_neighbors=15, metric='cosine')
    >>> topics.labels_.shape, topics.probabilities_.shape, topics.hierarchy_
    ((60,), (60,), Hierarchy(60 points: 12 -> 4 clusters))
    >>> (topics.predict(embeddings) == topics.labels_).all()
    np.True_
    """

    hierarchy_: Hierarchy

    def __init__(
        self,
        levels: int | Sequence[int] | str,
        *,
        level: int = -1,
        dense_probabilities: bool = False,
        n_neighbors: int = 15,
        metric: str = "cosine",
        **options: Any,
    ) -> None:
        self.levels = levels
        self.level = level
        self.dense_probabilities = dense_probabilities
        self.options = {"n_neighbors": n_neighbors, "metric": metric, **options}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find topics.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, d)
            Embeddings of the texts.
        y : ignored
            Here because BERTopic passes it.

        Returns
        -------
        SoftTopics
        """
        self.hierarchy_ = h = hierarchy(X, self.levels, **self.options)
        integer("level", self.level, -len(h), len(h) - 1)
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all settings by name, as BERTopic lists them and scikit-learn's ``clone`` copies them.

        Parameters
        ----------
        deep : ignored
            Here because BERTopic and scikit-learn may pass it.
        """
        return {name: getattr(self, name) for name in OWN} | self.options

    def set_params(self, **params: Any) -> Self:
        """Change settings by name, for the next fit."""
        for name, value in params.items():
            if name in OWN:
                setattr(self, name, value)
            else:
                self.options[name] = value
        return self

    def __repr__(self) -> str:
        return f"SoftTopics({', '.join(f'{name}={value!r}' for name, value in self.get_params().items())})"

    @property
    def labels_(self) -> Array:
        """The likeliest topic of each text, of shape (n,)."""
        return np.array(self._fitted[self.level].labels)

    @property
    def probabilities_(self) -> Array:
        """The probability of the likeliest topic, of shape (n,), or of every topic, of shape (n, m)."""
        memberships = self._fitted[self.level].memberships
        if self.dense_probabilities:
            return np.asarray(memberships.toarray())
        return largest_shares(memberships)

    def predict(self, X: Any) -> Array:
        """Find the likeliest topic of new texts, by their embeddings."""
        return np.array(self._fitted.predict(X, self.level))

    @property
    def _fitted(self) -> Hierarchy:
        if not hasattr(self, "hierarchy_"):
            raise AttributeError("SoftTopics has found no topics yet: call fit first")
        return self.hierarchy_


class ToponymyLayers:
    """The levels of a hierarchy for ``Toponymy(clusterer=...)``: its layers and its tree, as they are.

    Nothing is clustered again. Toponymy's tree is `Hierarchy.tree`, each cluster under its likeliest parent.
    Clusters that are the likeliest of no point are left out, and their children go to the parent above.

    Parameters
    ----------
    h : Hierarchy
        Of the same points, in the same order, as the texts.

    Attributes
    ----------
    cluster_layers_ : list of ClusterLayer
        Finest first. Layer l is level l.
    cluster_tree_ : dict
        ``{(layer, cluster): [(layer, cluster), ...]}``. The root is ``(number of layers, 0)``.

    Examples
    --------
    >>> import networkx as nx
    >>> h = hierarchy(nx.les_miserables_graph(), [4, 2])
    >>> _, tree = ToponymyLayers(h).fit_predict(None, np.ones((77, 5)), lambda *parts, **options: parts)
    >>> tree[2, 0], tree[1, 0]
    ([(1, 0), (1, 1)], [(0, 0), (0, 1), (0, 2)])
    """

    cluster_layers_: list[Any]
    cluster_tree_: dict[Layer, list[Layer]]

    def __init__(self, h: Hierarchy) -> None:
        self.h = h

    def fit(
        self, clusterable_vectors: Any, embedding_vectors: Any, layer_class: Any, **layer_options: Any
    ) -> Self:
        """Make Toponymy's layers.

        Parameters
        ----------
        clusterable_vectors : ignored
            The hierarchy is there already.
        embedding_vectors : array_like of shape (n, d)
            The mean of the points of each cluster is taken, for Toponymy.
        layer_class, **layer_options
            Given by Toponymy.
        """
        vectors = np.asarray(embedding_vectors)
        if vectors.ndim != 2 or len(vectors) != len(self.h.graph):
            problem = f"has shape {vectors.shape} for {len(self.h.graph)} points"
            raise InputError("embedding_vectors", problem, "give one row for each point of the hierarchy")
        self.cluster_layers_ = [
            layer_class(labels, _means(vectors, labels), layer_id=number, **layer_options)
            for number, labels in enumerate(
                np.unique(level.labels, return_inverse=True)[1] for level in self.h
            )
        ]
        self.cluster_tree_ = self._tree()
        return self

    def fit_predict(
        self, clusterable_vectors: Any, embedding_vectors: Any, layer_class: Any, **layer_options: Any
    ) -> tuple[list[Any], dict[Layer, list[Layer]]]:
        """Make layers and tree, and return both; see :meth:`fit`."""
        self.fit(clusterable_vectors, embedding_vectors, layer_class, **layer_options)
        return self.cluster_layers_, self.cluster_tree_

    def named(self, topic_names: Sequence[Sequence[str]]) -> Hierarchy:
        """Return the hierarchy with the names that Toponymy found, its ``topic_names_``."""
        places = self._places()
        clusters = Counter(layer for layer, _ in places.values())
        wanted = [clusters[layer] for layer in range(len(self.h))]
        if (given := [len(names) for names in topic_names]) != wanted:
            problem = f"has {given} names, layer by layer, for {wanted} clusters"
            remedy = "pass the topic_names_ of the Toponymy that has these layers as its clusterer"
            raise InputError("topic_names", problem, remedy)
        return self.h.name_clusters({id: topic_names[layer][at] for id, (layer, at) in places.items()})

    def _places(self) -> dict[str, Layer]:
        """Say where each cluster with points is in Toponymy's layers."""
        counts: Counter[int] = Counter()
        places = {}
        for node in self.h.tree.nodes:
            if node.size and node.level < len(self.h):
                places[node.id] = (node.level, counts[node.level])
                counts[node.level] += 1
        return places

    def _tree(self) -> dict[Layer, list[Layer]]:
        places, tree = self._places(), self.h.tree
        children: dict[Layer, list[Layer]] = {}
        for id, place in places.items():
            parent = tree.find(id).parent
            while parent is not None and parent not in places:
                parent = tree.find(parent).parent
            above = (len(self.h), 0) if parent is None else places[parent]
            children.setdefault(above, []).append(place)
        return children


def label_layers(h: Hierarchy) -> list[Array]:
    """Write the name of each point's cluster, level by level, for ``datamapplot.create_interactive_plot``.

    Parameters
    ----------
    h : Hierarchy
        With names, if :meth:`graphsoft.Hierarchy.name_clusters` has given them. Other clusters are called by
        their ids. A name that two clusters of a level have gets the id behind it.

    Returns
    -------
    list of ndarray of str, shape (n,)
        One for each level, finest first.

    Examples
    --------
    >>> h = hierarchy([[0.0, 1.0], [1.0, 9.0], [50.0, 8.0], [51.0, 2.0]], [2], n_neighbors=1)
    >>> [layer.tolist() for layer in label_layers(h.name_clusters({"0-0": "low"}))]
    [['low', 'low', '0-1', '0-1']]
    """
    layers = []
    for number, level in enumerate(h):
        ids = [f"{number}-{cluster}" for cluster in range(len(level.mass))]
        names = [h.cluster_names.get(id, id) for id in ids]
        often = Counter(names)
        unique = [f"{name} ({id})" if often[name] > 1 else name for name, id in zip(names, ids, strict=True)]
        layers.append(np.array(unique, dtype=object)[level.labels])
    return layers


def _means(vectors: Array, labels: Array) -> Array:
    """Compute the mean vector of each cluster."""
    hard = sp.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))))
    return np.asarray(hard @ vectors / hard.sum(axis=1)[:, None])
