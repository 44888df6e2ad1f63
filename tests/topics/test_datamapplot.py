"""Label layers within DataMapPlot itself."""

import base64
import gzip
import json
import re

import pytest

from graphsoft.topics import label_layers

pytestmark = pytest.mark.filterwarnings("ignore")  # DataMapPlot and what it imports warn of many things


def test_a_map_shows_the_names_of_all_levels(h, texts, embeddings):
    datamapplot = pytest.importorskip(
        "datamapplot", reason="DataMapPlot is not installed", exc_type=ImportError
    )
    layers = label_layers(h)
    page = datamapplot.create_interactive_plot(
        embeddings[:, :2], *layers, hover_text=texts, enable_topic_tree=True
    )
    held = re.search(r'labelDataEncoded = "([^"]+)"', str(page))[1]
    shown = {" ".join(row["label"].split()) for row in json.loads(gzip.decompress(base64.b64decode(held)))}
    assert shown == {name for layer in layers for name in layer}
