"""The examples of the guide's page on topics, those too that need BERTopic, Toponymy and DataMapPlot."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.filterwarnings("ignore")  # these packages, and what they import, warn of many things


def test_the_page_runs_with_the_real_packages(toponymy, language_model, embedder, monkeypatch):
    for package in ("bertopic", "datamapplot"):
        pytest.importorskip(package, reason=f"{package} is not installed", exc_type=ImportError)
    monkeypatch.chdir(ROOT)
    text = (ROOT / "examples" / "guide" / "topics.md").read_text(encoding="utf-8")
    names = {"language_model": language_model, "embedder": embedder}
    page = doctest.DocTestParser().get_doctest(
        text.replace("# doctest: +SKIP", ""), names, "topics.md", None, 0
    )
    said = []
    assert doctest.DocTestRunner().run(page, out=said.append).failed == 0, "".join(said)
