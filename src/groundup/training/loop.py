"""The training loop: one function that names the hops from a batch to a saved checkpoint, in order.

    batch -> forward -> loss -> update -> evaluate -> save

What it runs on is set up in session.py. Read `run_updates` first.
"""

import functools
import logging
import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from groundup.checkpoint import Run, write_step
from groundup.config import RunConfig
from groundup.data.batches import batch_at
from groundup.errors import CheckpointError, DivergenceError, TrainingError
from groundup.evaluation.likelihood import Likelihood, evaluate_tokens
from groundup.optim import fast, gradients
from groundup.optim.schedule import batch_share, cosine_schedule, place_on_schedule, trapezoid_schedule
from groundup.training.compiled import compile_or_fall_back
from groundup.training.deadline import Deadline
from groundup.training.meter import Meter
from groundup.training.metrics import Sink
from groundup.training.norms import norms_by_layer
from groundup.training.products import fast_products
from groundup.training.session import Session, Signals, open_session

log = logging.getLogger(__name__)


def train(
    config: RunConfig, *, resume: str = "never", sinks: Sequence[Sink] = (), deadline: Deadline | None = None
) -> Run:
    """Train as the configuration says, into the folder `config.out`; returns the model as it is at the end.

    Stopped by SIGTERM or SIGINT it writes a checkpoint and returns; killed, it loses the updates since the
    last checkpoint. With `resume="auto"` it then continues, on a CPU bit for bit as if never stopped. A `deadline`
    moves the last step so that the run ends in time (deadline.py); without one `training.minutes` does.
    Raises a GroundupError in one sentence for what cannot work; the caller's random state stays as it was.
    """
    with torch.random.fork_rng():
        session = open_session(config, resume=resume, sinks=sinks)
        try:
            with Signals(session), fast_products(session.device, wanted=config.training.kernels == "auto"):
                if config.training.compile:
                    session.loss_of = compile_or_fall_back(session)
                run_updates(session, deadline or session.deadline())
            session.average.swap()  # for good
        except (RuntimeError, MemoryError) as error:
            if _is_out_of_memory(error):
                raise TrainingError(_memory_advice(session.config)) from error
            raise
        finally:
            session.metrics.close()
    return Run(
        session.model.eval(),
        session.tokenizer,
        session.config,
        session.state,
        session.folder,
        stopped_by=session.stop_signal,
    )


def run_updates(run: Session, deadline: Deadline | None = None) -> None:
    """Update the model until `max_steps`, a signal, or no progress on held-out text."""
    config, settings, state = run.config, run.config.training, run.state
    meter = Meter(run)
    while state.step < run.max_steps and run.stop_signal is None and not out_of_patience(run):
        seed_step(settings.seed, state.step)
        inputs, targets = batch_at(  # hop 4, batch
            run.train_tokens,
            step=state.step,
            **batch_size_and_place(run),
            context_length=config.model.context_length,
            seed=settings.seed,
            sampling=config.data.sampling,
            vocab_size=config.model.vocab_size,
        )
        loss = torch.zeros((), device=run.device)
        for some_inputs, some_targets, share in micro_batches(inputs, targets, run):
            part = run.loss_of(some_inputs, some_targets) * share  # hops 5 and 6, forward and loss
            part.backward()
            loss += part.detach()
        norm, rate = update(run, loss)  # hop 7, update
        state.tokens += targets.numel()
        state.seconds = run.clock()
        wrote = meter.add(float(loss), norm, rate, targets.numel())
        if settings.log_norms and wrote:
            run.record("norms", **norms_by_layer(run.model, inputs[:1].to(run.device)))
        run.optimizer.zero_grad(set_to_none=True)

        last = state.step == run.max_steps
        if is_due(state.step, settings.eval_every) or last:
            with meter.paused():
                evaluate(run)  # hop 8, evaluate
        moved = deadline is not None and moves_end(run, meter, deadline)
        if moved or (is_due(state.step, settings.save_every) and not last):
            with meter.paused():
                save(run, must_succeed=False)  # hop 9, save
    save(run, must_succeed=True)


def update(run: Session, loss: Tensor) -> tuple[float, float]:
    """One optimizer step, unless loss or gradients are not finite; returns (gradient norm, rate).

    A skipped update still counts as a step, so that schedule and data move on. Too many in a row end the
    run, whose last good checkpoint stays as it is.
    """
    state, settings = run.state, run.config.optimizer
    state.step += 1
    rate = learning_rate(run.config, state.step, state.moved_ends)
    clip = gradients.clip_gradients if run.config.training.kernels == "reference" else fast.clip_gradients
    norm = float(clip(run.model.parameters(), settings.max_grad_norm or math.inf))
    if math.isfinite(norm) and math.isfinite(float(loss)):
        for group in run.optimizer.param_groups:
            group["lr"] = rate
        run.optimizer.step()
        run.average.update()
        state.skipped_in_a_row = 0
        return norm, rate
    state.skipped_in_a_row += 1
    reason = f"loss {float(loss):.4g}, gradient norm {norm:.4g}"
    log.warning("step %d: not finite (%s); this update is skipped", state.step, reason)
    run.record("skipped", reason=reason)
    if state.skipped_in_a_row >= run.config.training.max_skipped:
        raise DivergenceError(
            f"loss or gradients were not finite for {state.skipped_in_a_row} updates in a row, up to step "
            f"{state.step}; the last good checkpoint is kept in {str(run.checkpoints)!r}: "
            f"lower optimizer.lr (now {settings.lr:g}) or use float32"
        )
    return norm, rate


def learning_rate(config: RunConfig, step: int, moved_ends: Sequence[Sequence[int]] = ()) -> float:
    """The rate of update number `step`, counted from 1, so that the first one is not wasted at rate 0."""
    settings = config.optimizer
    assert settings.min_lr is not None and settings.warmup_steps is not None and settings.decay_steps is not None
    schedule = cosine_schedule
    if settings.schedule == "trapezoid":
        schedule = functools.partial(trapezoid_schedule, cooldown=settings.cooldown)
    return schedule(
        place_on_schedule(step, end=config.training.max_steps, moves=moved_ends),
        max_lr=settings.lr,
        min_lr=settings.min_lr,
        warmup_steps=settings.warmup_steps,
        decay_steps=settings.decay_steps,
    )


def batch_size_and_place(run: Session) -> dict[str, int]:
    """Sequences of the next batch; and while they grow in the course of the run, how many were taken before."""
    settings = run.config.training
    if not settings.batch_ramp:
        return {"batch_size": settings.batch_size}
    place = place_on_schedule(run.state.step, end=settings.max_steps, moves=run.state.moved_ends)
    share = batch_share(place, end=settings.max_steps, ramp=settings.batch_ramp)
    return {
        "batch_size": max(1, round(share * settings.batch_size)),
        "first": run.state.tokens // run.config.model.context_length,
    }


def moves_end(run: Session, meter: Meter, deadline: Deadline) -> bool:
    """Whether the end of the run was moved just now, to end in time: the move is in its state, which is to be saved."""
    state, every = run.state, run.config.training.eval_every or run.max_steps
    pauses = {"pause_every": every, "paused_s": meter.paused_s, "longest_pause_s": meter.longest_pause_s}
    end = deadline.new_end(state.step, run.max_steps, **pauses)
    if end == run.max_steps:
        return False
    log.info("step %d: the end is moved from step %d to %d, to end in time", state.step, run.max_steps, end)
    state.moved_ends.append([state.step, end])
    run.saved_step = None  # a checkpoint of this step, if there is one, does not hold the move
    run.record("moved", max_steps=end)
    return True


def micro_batches(inputs: Tensor, targets: Tensor, run: Session) -> Iterator[tuple[Tensor, Tensor, float]]:
    """The batch in parts that fit in memory, on the device, each with its share of the mean loss.

    The shares make the accumulated gradient that of the whole batch, also when the last part is smaller.
    """
    rows = run.config.training.micro_batch_size or len(inputs)
    for start in range(0, len(inputs), rows):
        part = slice(start, start + rows)
        some_inputs, some_targets = inputs[part].to(run.device), targets[part].to(run.device)
        yield some_inputs, some_targets, len(some_inputs) / len(inputs)


def evaluate(run: Session) -> Likelihood | None:
    """A full pass over the held-out tokens; keeps track of the best loss and of patience."""
    if run.valid_tokens is None:
        return None
    with run.average.in_place():
        result = evaluate_tokens(
            run.model,
            run.valid_tokens,
            batch_size=run.config.training.eval_batch_size,
            context_length=run.config.model.context_length,
            byte_lengths=run.tokenizer.byte_lengths(),
        )
    state = run.state
    best = math.inf if state.best_loss is None else state.best_loss
    if result.nats_per_token < best:  # false for NaN, which nothing after it would be better than
        state.best_loss, state.best_step, state.passes_without_best = result.nats_per_token, state.step, 0
    else:
        state.passes_without_best += 1
    run.record(
        "eval",
        loss=result.nats_per_token,
        perplexity=result.perplexity,
        bits_per_byte=result.bits_per_byte,
        num_targets=result.num_targets,
        **run.peak_memory(),
    )
    if state.best_step == state.step and state.step < run.max_steps:
        save(run, must_succeed=False)
    return result


def save(run: Session, *, must_succeed: bool) -> None:
    """Write the checkpoint of this step. A periodic one that fails is logged, and training goes on."""
    if run.saved_step == run.state.step:
        return
    run.state.seconds = run.clock()
    try:
        with run.average.in_place():  # who loads the model gets the average; who resumes changes them back
            write_step(
                run.checkpoints,
                model=run.model,
                optimizer=run.optimizer,
                state=run.state,
                config=run.config,
                tokenizer=run.tokenizer,
            )
        run.saved_step = run.state.step
    except CheckpointError as error:
        if must_succeed:
            raise
        log.error("%s; training goes on and tries again", error)


def seed_step(seed: int, step: int) -> None:
    """Make the random numbers of an update (dropout) a function of seed and step: nothing to save."""
    torch.manual_seed((seed * 1_000_003 + step) & 0x7FFF_FFFF_FFFF_FFFF)


def is_due(step: int, every: int) -> bool:
    """Whether something done every `every` updates (0: never) falls on this step."""
    return every > 0 and step % every == 0


def out_of_patience(run: Session) -> bool:
    """Early stopping: whether the last `patience` validation passes brought no new best."""
    patience = run.config.training.patience
    if patience == 0 or run.state.passes_without_best < patience:
        return False
    log.info("no better validation loss in %d passes; stopping at step %d", patience, run.state.step)
    return True


def _is_out_of_memory(error: Exception) -> bool:
    """Whether this is one of the several ways in which torch says that memory ran out."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in str(error)


def _memory_advice(config: RunConfig) -> str:
    return (
        f"memory ran out with {config.training.micro_batch_size} sequences of {config.model.context_length} "
        f"tokens at once in training and {config.training.eval_batch_size} in validation; lower "
        "training.micro_batch_size or training.eval_batch_size (the result stays the same)"
    )
