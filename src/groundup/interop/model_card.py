"""The README.md of an exported model: what it is, what it learned from, how well, how to use it, what to expect.

Every figure is read from the run's own records; what they do not hold is left out, never guessed.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from groundup.checkpoint import Run
from groundup.data.manifest import Manifest, read_manifest
from groundup.errors import DataError
from groundup.interop.runs import CARD, run_folder
from groundup.training.metrics import read_metrics

_SAMPLE_CHARS = 1_200


def write_card(run: Run, *, name: str, license: str = "unknown") -> str:
    """The card as Markdown, with the head of YAML that the Hub reads.

    A run folder with a README.md of its own hands that on: one that was written by hand, or came with an
    imported model that was not trained further.

    Args:
        name: Of the model, its title.
        license: The Hub's name of a licence, "mit" say.
    """
    folder = run_folder(run.folder)
    own = folder / CARD
    if own.is_file():
        return own.read_text(encoding="utf-8", errors="replace")
    parts = [
        _head(license),
        f"# {name}\n\n{_summary(run)}",
        _data(run, _manifest(run)),
        _training(run, read_metrics(folder / "metrics.jsonl")),
        _sample(folder),
        _configuration(run),
        _usage(name),
        _limits(run),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(license: str) -> str:
    lines = ["license: " + json.dumps(license), "library_name: transformers", "pipeline_tag: text-generation"]
    return "\n".join(["---", *lines, "tags:", "- groundup", "- llama", "---"])


def _summary(run: Run) -> str:
    config = run.model.config
    return (
        f"A language model of {run.model.num_parameters():,} parameters with a context of {config.context_length:,} "
        f"tokens and a byte-level BPE vocabulary of {run.tokenizer.vocab_size:,} entries, made with groundup."
    )


def _manifest(run: Run) -> Manifest | None:
    """What the data say of themselves, if they are still where the run found them."""
    try:
        return read_manifest(run.config.data.path) if run.config.data.path else None
    except DataError:
        return None


def _data(run: Run, manifest: Manifest | None) -> str:
    if not run.config.data.path:
        return ""
    lines = ["## Data", ""]
    if manifest is None or manifest.tokenizer != run.tokenizer.fingerprint:
        return "\n".join([*lines, f"The prepared folder `{Path(run.config.data.path).name}`, not at hand any more."])
    lines.append("Files: " + ", ".join(f"`{Path(source).name}`" for source in manifest.sources) + ".")
    rows = [
        (split, f"{part.documents:,}", f"{part.bytes:,}", f"{part.tokens:,}") for split, part in manifest.splits.items()
    ]
    return "\n".join([*lines, "", *_table(("split", "documents", "bytes", "tokens"), rows)])


def _training(run: Run, records: list[dict[str, Any]]) -> str:
    state = run.state
    if state.step == 0:
        return ""
    optimizer, training = run.config.optimizer, run.config.training
    lines = [
        "## Training",
        "",
        f"{state.step:,} updates of {training.batch_size} sequences, {state.tokens:,} tokens in all, with "
        f"{optimizer.name} at a peak rate of {optimizer.lr:g}; products in {training.precision}; "
        f"{state.seconds / 60:,.1f} minutes.",
    ]
    measured = [record for record in records if record.get("kind") == "eval" and record.get("step") == state.step]
    if measured and isinstance(measured[-1].get("loss"), float):
        last = measured[-1]
        loss = f"{last['loss']:.4f} nats per token, a perplexity of {float(last['perplexity']):.2f}"
        bits = last.get("bits_per_byte")
        loss += f", {bits:.4f} bits per byte" if isinstance(bits, float) else ""
        lines += ["", f"Loss on {last['num_targets']:,} held-out tokens: {loss}."]
    if run.config.init_from:
        lines += ["", f"It started from the weights of `{Path(run.config.init_from).name}`."]
    return "\n".join(lines)


def _sample(folder: Path) -> str:
    """The first text that the run wrote at its end, as it is."""
    files = sorted((folder / "samples").glob("step-*.json"))
    if not files:
        return ""
    samples = json.loads(files[-1].read_text(encoding="utf-8"))
    if not samples:
        return ""
    sample = samples[0]
    text = str(sample["prompt"]) + str(sample["text"])
    shown = text[:_SAMPLE_CHARS] + (" ..." if len(text) > _SAMPLE_CHARS else "")
    how = f"At temperature {sample['temperature']:g} and top_p {sample['top_p']:g}"
    after = f", after {sample['prompt']!r}" if sample["prompt"] else ", from nothing"
    # Indented, so that nothing in the text counts as markup.
    return "\n".join(["## Sample", "", f"{how}{after}:", "", *(f"    {line}" for line in shown.splitlines())])


def _configuration(run: Run) -> str:
    config = run.model.config
    rows = [
        ("vocab_size", config.vocab_size),
        ("context_length", config.context_length),
        ("d_model", config.d_model),
        ("num_layers", config.num_layers),
        ("num_heads", config.num_heads),
        ("num_kv_heads", config.kv_heads),
        ("d_ff", config.ffn_width),
        ("rope_theta", f"{config.rope_theta:g}"),
        ("norm_eps", f"{config.norm_eps:g}"),
        ("tie_embeddings", str(config.tie_embeddings).lower()),
    ]
    return "\n".join(["## Configuration", "", *_table(("field", "value"), rows)])


def _usage(name: str) -> str:
    code = [
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        "",
        f"tokenizer = AutoTokenizer.from_pretrained({json.dumps(name, ensure_ascii=False)})",
        f"model = AutoModelForCausalLM.from_pretrained({json.dumps(name, ensure_ascii=False)})",
        'ids = tokenizer("Once upon a time", return_tensors="pt")',
        "print(tokenizer.decode(model.generate(**ids, max_new_tokens=100)[0]))",
    ]
    return "\n".join(["## Use", "", "```python", *code, "```"])


def _limits(run: Run) -> str:
    return "\n".join(
        [
            "## Limits",
            "",
            "- It continues text; it was not taught to answer questions or to follow instructions.",
            "- It knows nothing but what stands in its training text, and writes untrue sentences as fluently as true "
            "ones.",
            "- It was not tested for harmful or biased text: what its training text holds, it can write.",
            f"- It sees {run.model.config.context_length:,} tokens at once; what lies further back is forgotten.",
        ]
    )


def _table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> list[str]:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
