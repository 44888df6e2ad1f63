"""Three pages to look at: pictures, texts and a graph, each in one file that opens from disk.

    python examples/explorer.py [--output DIR] [--quick]

``digits.html`` shows the bundled digits on three levels, with the picture of each point under the pointer.
Its labels are the digits, which the clustering has not seen. Things to try: drag the ruler of levels. Click
on the first of "Most torn points", and see in the panel which points pull it to both sides. Look at the table
of labels.

``topics.html`` shows what functions of NumPy, SciPy, scikit-learn and NetworkX say of themselves, see
``topics.py``: a map of texts, with topics that are named by the words that set them apart.

``novel.html`` shows who meets whom in Les Miserables: a graph whose nodes have names, and nothing else.

In each page a cluster can be given a name. "Save names" writes ``names.json``, and
``h.name_clusters(json.loads(Path("names.json").read_text()))`` takes the names back into Python.
"""

import networkx as nx
from papers.sets import BUNDLED, bundled, page_parser
from sklearn.feature_extraction.text import CountVectorizer

import graphsoft
from topics import embedded, read_texts

WIDTH = 8  # of a picture of a digit, in pixels
WHITE = 16
QUICK_TEXTS = 500
TEXTS = 3000


def digits(folder):
    """Write the page of pictures: 1797 handwritten digits."""
    found = bundled("digits.csv.gz")
    h = graphsoft.hierarchy(found.data, levels=[100, 20, 10])
    h.explore(
        folder / "digits.html",
        images=found.data.reshape(-1, WIDTH, WIDTH) / WHITE,
        labels=found.labels,
        features=[f"row {row}, column {column}" for row in range(WIDTH) for column in range(WIDTH)],
        title="Handwritten digits",
    )


def topics(folder, count):
    """Write the page of texts: first paragraphs of documentation, in topics named by their words."""
    names, texts = read_texts(count)
    levels = [60, 15, 5] if count > QUICK_TEXTS else [20, 8, 3]
    h = graphsoft.hierarchy(embedded(texts), levels, n_neighbors=15, metric="cosine", names=names)
    vectorizer = CountVectorizer(stop_words="english", min_df=3)
    counts, words = vectorizer.fit_transform(texts), vectorizer.get_feature_names_out()
    h.name_clusters(X=counts, feature_names=words).explore(
        folder / "topics.html",
        texts=texts,
        labels=[name.partition(".")[0] for name in names],
        features=(counts, words),
        title="What scientific Python says of itself",
    )


def novel(folder):
    """Write the page of a graph with names: the characters of a novel."""
    graph = nx.read_graphml(BUNDLED / "les_miserables.graphml")
    graphsoft.hierarchy(graph, levels=[12, 4]).explore(folder / "novel.html", title="Les Miserables")


def main():
    options = page_parser(__doc__, quick="fewer texts").parse_args()
    digits(options.output)
    topics(options.output, QUICK_TEXTS if options.quick else TEXTS)
    novel(options.output)
    for name in ("digits", "topics", "novel"):
        print(f"{options.output / name}.html")


if __name__ == "__main__":
    main()
