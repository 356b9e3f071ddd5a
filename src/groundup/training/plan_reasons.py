"""The plan of `groundup run` in words: each choice with its value and the reason for it."""

from collections.abc import Iterator
from dataclasses import dataclass

from groundup.data.excerpt import Corpus
from groundup.model.accounting import num_parameters
from groundup.training.planner import Plan


@dataclass(frozen=True)
class Choice:
    """A line of the plan."""

    name: str
    value: str
    why: str


def explain(plan: Plan, corpus: Corpus, *, spent_s: float) -> list[Choice]:
    """The choices in the order in which the run meets them."""
    return [*_of_text(plan, corpus), *_of_model(plan), *_of_training(plan), *_of_result(plan, spent_s)]


def _of_text(plan: Plan, corpus: Corpus) -> Iterator[Choice]:
    more = "" if corpus.is_whole else " or more"
    part = "all of it" if plan.every == 1 else f"one piece in {plan.every}: the time is too short to train on more"
    unit, name = (1e6, "MB") if corpus.size_bytes >= 1e6 else (1e3, "kB")
    yield Choice("text", f"{plan.text_bytes / unit:.2f} of {corpus.size_bytes / unit:.2f} {name}{more}", part)
    yield Choice(
        "held out",
        f"{100 * plan.valid_fraction:.1f} %",
        f"never trained on; {plan.passes} validation passes over it take {plan.passes * plan.pause_s:.0f} s",
    )
    yield Choice(
        "vocabulary",
        f"{plan.model.vocab_size:,}",
        f"{plan.bytes_per_token:.2f} bytes a token; more entries would be seen too seldom",
    )


def _of_model(plan: Plan) -> Iterator[Choice]:
    model, counted = plan.model, num_parameters(plan.model)
    yield Choice(
        "model",
        f"{model.num_layers} layers, width {model.d_model}, {model.num_heads} heads",
        f"{counted.total / 1e6:.2f} M parameters; a larger model would see too little text in the time",
    )
    yield Choice(
        "context",
        f"{model.context_length} tokens",
        "some paragraphs; more would teach a small model little"
        if model.context_length >= 256
        else "as long as a text of this size leaves windows enough",
    )


def _of_training(plan: Plan) -> Iterator[Choice]:
    parts = f", {plan.micro_batch_size} at once" if plan.micro_batch_size < plan.batch_size else ""
    yield Choice(
        "batch",
        f"{plan.batch_size} x {plan.model.context_length} tokens{parts}",
        "many small updates learn more than few large ones, up to some 1,500",
    )
    yield Choice(
        "updates",
        f"{plan.steps:,}",
        f"{plan.update_s * 1e3:,.0f} ms each, as measured here: {plan.tokens / 1e6:.2f} M tokens, "
        f"{plan.epochs:.1f} times the text",
    )
    yield Choice(
        "learning rate",
        f"{plan.lr:.2g}, to {plan.min_lr:.1g}",
        f"lower for wider models; warm-up of {plan.warmup_steps} updates, then a cosine",
    )
    few = "the text is seen too few times to be learned by heart"
    often = "the text is seen often: dropout delays learning it by heart"
    dropout = plan.model.dropout
    yield Choice("dropout, decay", f"{dropout:g}, {plan.weight_decay:g}", often if dropout else few)


def _of_result(plan: Plan, spent_s: float) -> Iterator[Choice]:
    needed_s = spent_s + plan.prepare_s + plan.train_s + plan.finish_s
    too_short = f"; too short: the least that can be done takes {needed_s:.0f} s" if needed_s > plan.seconds else ""
    yield Choice(
        "time",
        f"{plan.seconds / 60:.3g} min",
        f"{spent_s:.0f} s measuring, {plan.prepare_s:.0f} s tokenizer and shards, {plan.train_s:.0f} s training "
        f"(validation {plan.passes * plan.pause_s:.0f} s), {plan.finish_s:.0f} s samples and report{too_short}",
    )
    low, high = plan.band
    yield Choice(
        "expected loss",
        f"{plan.bits_per_byte:.2f} bits per byte",
        f"{low:.2f} to {high:.2f}; {plan.nats_per_token:.2f} nats per token; bzip2 needs "
        f"{plan.packed_bits_per_byte:.2f} bits per byte",
    )
