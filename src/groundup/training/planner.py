"""Which model, for how long, on how much of the text: the plan of `groundup run`, numbers in, a frozen Plan out.

Every width of a grid is priced by the cost model of this machine (step_cost.py); what the time left pays for gives the
number of updates; the loss law (loss_law.py) says what that would reach; the best one wins. Depth, vocabulary, batch,
learning rate and dropout follow by rule from the width and the time. Nothing here reads a clock or a file. The
reasoning, and what each rule was tested on: docs/planner.md.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundup.config import ModelConfig, RunConfig, TrainingConfig
from groundup.data.excerpt import Corpus
from groundup.model.accounting import num_parameters
from groundup.training.loss_law import FITTED, LossLaw
from groundup.training.memory import peak_memory
from groundup.training.step_cost import StepCost

WIDTHS = (64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024)
CONTEXTS = (256, 128, 64, 32, 16)
HEAD_WIDTH = 32
VALIDATION_PASSES = 5
VALIDATION_SHARE = 0.04  # of the time of training goes to these passes, at most
SAMPLE_TOKENS = 256
SAMPLE_SHARE = 0.06  # of the time goes to samples, at most
MEMORY_SHARE = 0.6  # of what is free: the estimate is one, and other programs live too
SAVE_BYTES_PER_S = 100e6
OPEN_S = 1.0  # to open the data, build the model and write the first files, on a machine of slowness 1
REPORT_S = 2.5
LEAST_STEPS = 20
ENCODING_SHARE = 0.1  # of the time goes to tokenizer and shards, at most
SPARE = 1.3  # times the text that is needed is taken: the machine may turn out faster
EMBEDDING = 130e6  # parameters of the best embedding at 2.9e9 in the layers
TOKENS_PER_ENTRY = 100


@dataclass(frozen=True)
class Machine:
    """What was measured (measure.py).

    Args:
        cost: Of updates, by shape.
        token_s: Seconds for one step of generation, for each layer of the model.
        memory_bytes: Free now.
    """

    cost: StepCost
    token_s: float
    memory_bytes: int


@dataclass(frozen=True)
class Plan:
    """All that `groundup run` is going to do.

    Args:
        model: Its vocab_size is that of the tokenizer.
        batch_size, micro_batch_size, steps, lr, weight_decay: As in a recipe.
        passes: Validation passes, the last one at the end.
        text_bytes: Text taken; `every` n-th piece of the corpus.
        valid_fraction: Share of it that is held out.
        bytes_per_token: As far as the survey tells.
        packed_bits_per_byte: Of the corpus.
        prepare_s, update_s, pause_s, finish_s: Seconds for what comes before training, for an update, for a pass
            with its checkpoint, for what comes after training.
        sample_tokens: Tokens of each sample at the end.
        seconds: The whole, as asked.
        bits_per_byte, band: Predicted on held-out text, and the range to expect.
    """

    model: ModelConfig
    batch_size: int
    micro_batch_size: int
    steps: int
    lr: float
    weight_decay: float
    passes: int
    text_bytes: int
    every: int
    valid_fraction: float
    bytes_per_token: float
    packed_bits_per_byte: float
    prepare_s: float
    update_s: float
    pause_s: float
    finish_s: float
    sample_tokens: int
    seconds: float
    bits_per_byte: float
    band: tuple[float, float]

    @property
    def tokens(self) -> int:
        """Tokens to be trained on."""
        return self.steps * self.batch_size * self.model.context_length

    @property
    def min_lr(self) -> float:
        """Where the cosine ends."""
        return self.lr / 20

    @property
    def warmup_steps(self) -> int:
        """Updates of linear warm-up."""
        return max(1, min(200, self.steps // 20))

    @property
    def epochs(self) -> float:
        """How often the training text is seen."""
        return self.tokens * self.bytes_per_token / max(1.0, self.text_bytes * (1 - self.valid_fraction))

    @property
    def nats_per_token(self) -> float:
        """The predicted loss in the unit of training."""
        return self.bits_per_byte * math.log(2) * self.bytes_per_token

    @property
    def train_s(self) -> float:
        """Updates, validation and checkpoints."""
        return self.steps * self.update_s + self.passes * self.pause_s


def plan_run(corpus: Corpus, machine: Machine, *, seconds: float, spent_s: float = 0.0, law: LossLaw = FITTED) -> Plan:
    """The plan that should reach the lowest loss on unseen text in `seconds`, of which `spent_s` are gone.

    Where not even the smallest model fits into the memory it is planned all the same: training says what is free.
    """
    candidates = list(_candidates(corpus, machine, seconds, spent_s, law))
    in_time = [plan for plan in candidates if _steps(plan, spent_s) > LEAST_STEPS]
    if in_time:
        return min(in_time, key=lambda plan: plan.bits_per_byte)
    return min(candidates, key=lambda plan: plan.update_s)


def paid_by_measure(plan: Plan, update_s: float, *, spent_s: float, law: LossLaw = FITTED) -> Plan:
    """The plan with the time of an update as measured on the very model, and as many updates as that pays for."""
    pause_s = plan.pause_s * update_s / plan.update_s
    paid = dataclasses.replace(plan, update_s=update_s, pause_s=pause_s)
    return _with_prediction(dataclasses.replace(paid, steps=_steps(paid, spent_s)), law)


def learning_rate(d_model: int, tokens_per_update: int) -> float:
    """The peak rate: lower for wider models, higher for batches of more than 2,048 tokens, by the square root of both.

    >>> round(learning_rate(192, 2048), 6), round(learning_rate(512, 2048), 6), round(learning_rate(96, 1024), 6)
    (0.004, 0.002449, 0.005657)
    """
    return min(1e-2, 4e-3 * math.sqrt(192 / d_model) * math.sqrt(max(1.0, tokens_per_update / 2048)))


def depth(d_model: int) -> int:
    """Layers for a width: the wider, the deeper, two at least.

    >>> [depth(width) for width in (64, 128, 192, 256, 512, 1024)]
    [2, 3, 4, 5, 8, 12]
    """
    return max(2, min(12, round(d_model / 50) if d_model < 320 else round(4 + d_model / 128)))


def tokens_per_update(tokens: float) -> int:
    """Tokens in a batch for a run over so many: a power of two that leaves some 1,500 updates, within limits.

    >>> tokens_per_update(4e5), tokens_per_update(3e6), tokens_per_update(1e8)
    (512, 2048, 32768)
    """
    return 2 ** round(math.log2(min(32_768.0, max(512.0, tokens / 1500))))


def vocabulary(parameters: int, d_model: int, train_bytes: float, offered: Sequence[tuple[int, float]]) -> int:
    """Which of the offered vocabularies, by index: (size, bytes per token) each, in growing order.

    The size nearest to that where the embedding of an optimal model has as many parameters as Tao et al. 2024,
    Scaling Laws with Vocabulary (arXiv:2407.13623) found, growing as N^0.83; but no entry that the text shows less
    than TOKENS_PER_ENTRY times on average: what is hardly seen is hardly learned.
    """
    best = EMBEDDING * (parameters / 2.9e9) ** 0.83 / d_model
    seen = [i for i, (size, width) in enumerate(offered) if train_bytes / width >= TOKENS_PER_ENTRY * size] or [0]
    return min(seen, key=lambda i: abs(math.log2(offered[i][0] / best)))


def dropout(epochs: float) -> float:
    """None for a text that is seen a few times, more where it is seen often and could be learned by heart.

    >>> [dropout(epochs) for epochs in (1.0, 8.0, 30.0)]
    [0.0, 0.1, 0.2]
    """
    return 0.0 if epochs <= 5 else 0.1 if epochs <= 12 else 0.2


def _candidates(corpus: Corpus, machine: Machine, seconds: float, spent_s: float, law: LossLaw) -> Iterator[Plan]:
    valid_fraction = min(0.2, max(0.05, 2000 / corpus.size_bytes))
    train_bytes = corpus.size_bytes * (1 - valid_fraction)
    for width in WIDTHS:
        shape = ModelConfig(vocab_size=1, d_model=width, num_layers=depth(width), num_heads=width // HEAD_WIDTH)
        index = vocabulary(_parameters(shape), width, train_bytes, corpus.bytes_per_token)
        vocab_size, bytes_per_token = corpus.bytes_per_token[index]
        tokens = train_bytes / bytes_per_token
        context = next((length for length in CONTEXTS if tokens >= 16 * length), CONTEXTS[-1])
        model = dataclasses.replace(shape, vocab_size=vocab_size, context_length=context)
        plan = _Draft(corpus, machine, seconds, spent_s, valid_fraction, bytes_per_token).plan(model)
        plan = _in_parts(plan, MEMORY_SHARE * machine.memory_bytes)
        if _needed_bytes(plan) <= MEMORY_SHARE * machine.memory_bytes or width == WIDTHS[0]:
            yield _with_prediction(plan, law)


def _in_parts(plan: Plan, may_take: float) -> Plan:
    """With so few sequences at once that `may_take` bytes are enough, or with one."""
    while plan.micro_batch_size > 1 and _needed_bytes(plan) > may_take:
        plan = dataclasses.replace(plan, micro_batch_size=plan.micro_batch_size // 2)
    return plan


def _needed_bytes(plan: Plan) -> int:
    training = TrainingConfig(batch_size=plan.batch_size, micro_batch_size=plan.micro_batch_size)
    peak = peak_memory(RunConfig(model=plan.model, training=training))
    return peak.total_bytes - peak.runtime_bytes  # this process has loaded torch


@dataclass(frozen=True)
class _Draft:
    """What the plans of all shapes have in common."""

    corpus: Corpus
    machine: Machine
    seconds: float
    spent_s: float
    valid_fraction: float
    bytes_per_token: float

    def plan(self, model: ModelConfig) -> Plan:
        """The plan for one shape: what the time pays for, and the rest by rule; planned again if it needs dropout."""
        plan = self._paid(model)
        if model.dropout == 0 and dropout(plan.epochs) > 0:
            return self._paid(dataclasses.replace(model, dropout=dropout(plan.epochs)))
        return plan

    def _paid(self, model: ModelConfig) -> Plan:
        corpus, cost = self.corpus, self.machine.cost
        rows = max(1, 2048 // model.context_length)
        tokens_per_s = rows * model.context_length / cost.update_s(model, rows)
        may_encode = ENCODING_SHARE * self.seconds * corpus.encode_bytes_per_s / 2
        encoded = min(corpus.size_bytes, may_encode, SPARE * self.seconds * tokens_per_s * self.bytes_per_token)
        prepare_s = (
            OPEN_S * cost.slowness
            + corpus.size_bytes / corpus.read_bytes_per_s
            + 2 * encoded / corpus.encode_bytes_per_s
        )
        sample_s = model.num_layers * self.machine.token_s
        sample_tokens = max(16, min(SAMPLE_TOKENS, int(SAMPLE_SHARE * self.seconds / sample_s)))
        finish_s = REPORT_S * cost.slowness + sample_tokens * sample_s
        train_s = max(0.0, self.seconds - self.spent_s - prepare_s - finish_s)
        batch_size = max(1, tokens_per_update(train_s * tokens_per_s) // model.context_length)

        # Held-out text: as much as its passes may cost, and no more than its share of the corpus.
        token_s = cost.pass_s(model, 4096) / 4096
        valid_tokens = min(
            self.valid_fraction * corpus.size_bytes / self.bytes_per_token,
            max(2048.0, VALIDATION_SHARE * train_s / VALIDATION_PASSES / token_s),
        )
        save_s = 12 * num_parameters(model).total / SAVE_BYTES_PER_S
        plan = Plan(
            model=model,
            batch_size=batch_size,
            micro_batch_size=batch_size,
            steps=0,
            lr=learning_rate(model.d_model, batch_size * model.context_length),
            weight_decay=0.1,
            passes=VALIDATION_PASSES,
            text_bytes=corpus.size_bytes,
            every=1,
            valid_fraction=self.valid_fraction,
            bytes_per_token=self.bytes_per_token,
            packed_bits_per_byte=corpus.packed_bits_per_byte,
            prepare_s=prepare_s,
            update_s=cost.update_s(model, batch_size),
            pause_s=valid_tokens * token_s + save_s,
            finish_s=finish_s,
            sample_tokens=sample_tokens,
            seconds=self.seconds,
            bits_per_byte=math.inf,
            band=(math.inf, math.inf),
        )
        plan = dataclasses.replace(plan, steps=_steps(plan, self.spent_s))
        useful = min(SPARE * plan.tokens * self.bytes_per_token, max(may_encode, 100_000.0))
        every = max(1, math.floor(corpus.size_bytes / useful))
        text_bytes = math.ceil(corpus.size_bytes / every)
        valid_fraction = max(1e-4, min(0.2, valid_tokens * self.bytes_per_token / text_bytes))
        return dataclasses.replace(plan, every=every, text_bytes=text_bytes, valid_fraction=valid_fraction)


def _steps(plan: Plan, spent_s: float) -> int:
    """As many updates as the time left pays for; a few in any case."""
    left_s = plan.seconds - spent_s - plan.prepare_s - plan.finish_s - plan.passes * plan.pause_s
    return max(LEAST_STEPS, int(left_s / plan.update_s))


def _with_prediction(plan: Plan, law: LossLaw) -> Plan:
    loss = law.bits_per_byte(
        plan.packed_bits_per_byte,
        parameters=_parameters(plan.model),
        trained_bytes=plan.tokens * plan.bytes_per_token,
        unique_bytes=plan.text_bytes * (1 - plan.valid_fraction),
    )
    return dataclasses.replace(plan, bits_per_byte=loss, band=(loss * (1 - law.band), loss * (1 + law.band)))


def _parameters(model: ModelConfig) -> int:
    """Those of the layers."""
    counted = num_parameters(model)
    return counted.attention + counted.feed_forward
