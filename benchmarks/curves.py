"""Whether the fast paths learn as the readable model does: loss curves over the same batches, and how far they part.

    python benchmarks/curves.py                       a small model, 300 updates each; writes benchmarks/results/
    python benchmarks/curves.py --base                the base model, batch 8: hours where bf16 is imitated
    python benchmarks/curves.py --quick               20 updates: does it all work?
    python benchmarks/curves.py --corpus FILE ...

The same initial weights, batches, schedule and clipping. On a processor without bf16 instructions torch imitates its
products: slow, and their rounding may not be that of the instructions.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bench.curves import PATHS, Course, curve, differences
from bench.notes import say
from bench.plot import plot_curves
from bench.results import FOLDER, keep_results
from bench.tokenizer_inputs import default_sources, take_documents

from groundup import _native
from groundup.config import ModelConfig
from groundup.corpus import iter_documents
from groundup.data.toy_stories import write_corpus
from groundup.device import has_fast_bf16
from groundup.environment import describe
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator

SMALL = Course(
    ModelConfig(2_000, context_length=64, d_model=128, num_layers=3, num_heads=4), batch_size=16, num_steps=300
)
BASE = Course(ModelConfig(), batch_size=8, num_steps=300)
END = "<|endoftext|>"


def main() -> None:
    """Train along all paths, print how far they part, and write the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", action="store_true", help="the base model")
    parser.add_argument("--quick", action="store_true", help="20 updates; nothing is written")
    parser.add_argument("--corpus", nargs="+", type=Path, help="text files, instead of TinyStories or toy stories")
    parser.add_argument("--out", type=Path, help="folder for the results")
    options = parser.parse_args()
    course = BASE if options.base else SMALL
    course = replace(course, num_steps=20) if options.quick else course
    sources = options.corpus or (
        [] if options.quick else [path for path in default_sources() if "stories" in str(path)]
    )
    ids = ids_of(sources, course)
    curves = {path: curve(path, course, ids) for path in PATHS}
    model = course.model
    record: dict[str, Any] = {
        "benchmark": "curves",
        "date": time.strftime("%Y-%m-%d"),
        "machine": describe(),
        "kernels": _native.kernel_variants()[0],
        "bf16": "instructions" if has_fast_bf16("cpu") else "imitated",
        "threads": torch.get_num_threads(),
        "corpus": [path.name for path in sources] or ["toy stories"],
        "title": f"{model.num_layers} layers of {model.d_model}, {course.batch_size} x {model.context_length} tokens",
        "num_steps": course.num_steps,
        "differences": differences(curves),
        "curves": curves,
    }
    for path, found in record["differences"].items():
        verdict = "within" if found["is_within"] else "NOT within"
        print(f"{path}: at most {found['largest']:.1e} (update {found['at_update']}), {verdict} {found['tolerance']:g}")
    folder = options.out or (None if options.quick else FOLDER)
    print(keep_results(record, plot_curves, folder))


def ids_of(sources: Sequence[Path], course: Course) -> np.ndarray:
    """As many ids as all updates see, in a vocabulary learned from the same text."""
    num_ids = course.num_steps * course.batch_size * course.model.context_length + course.model.context_length + 1
    with tempfile.TemporaryDirectory(prefix="groundup-curves-") as folder:
        paths = [str(path) for path in sources]
        if not paths:
            paths = [str(Path(folder) / "toy-stories.txt")]
            write_corpus(paths[0], size_bytes=8 * num_ids)
        documents = list(take_documents(iter_documents(paths), 8 * num_ids))
    vocab, merges = train_bpe_from_iterator(iter(documents), course.model.vocab_size, [END])
    tokenizer = Tokenizer(vocab, merges, [END])
    ids = np.array(tokenizer.encode(END.join(documents))[:num_ids], dtype=np.int64)
    say(f"{len(ids):,} ids")
    return ids


if __name__ == "__main__":
    main()
