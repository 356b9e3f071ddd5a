"""A run under lm-evaluation-harness: the three things that its tasks ask of a model, and its registration there.

`RunRequests` answers them by our model and our generation, without the harness; `register` makes of it the model
class "groundup" of the harness, for its own command line and for `evaluate_tasks`, which is `groundup eval --tasks`.
How a text is scored follows the harness, so that numbers can be compared with those of other models: a question and
its answer are encoded as one text, and a long text is cut into windows of which each token is scored in one.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch

from groundup.errors import ConfigError, DataError, GroundupError, first_line
from groundup.evaluation.likelihood import evaluation_mode, target_nats
from groundup.files import StrPath
from groundup.generation.sampling import SamplingConfig
from groundup.generation.text import generate
from groundup.model.transformer import TransformerLM
from groundup.tokenizer.bpe import Tokenizer

MODEL_NAME = "groundup"

_DEFAULT_TOKENS = 256  # of an answer, where a task does not say
_LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")


@runtime_checkable
class Run(Protocol):
    """A model with its tokenizer: what `load_run` returns, or anything with these two."""

    @property
    def model(self) -> TransformerLM: ...
    @property
    def tokenizer(self) -> Tokenizer: ...


class RunRequests:
    """Answers the requests of tasks with a run.

    Raises DataError for a tokenizer without `<|endoftext|>`, from which a text with nothing before it starts.
    """

    def __init__(self, run: Run, *, batch_size: int = 32, max_tokens: int = _DEFAULT_TOKENS) -> None:
        start = run.tokenizer.end_of_text_id
        if start is None:
            raise DataError("the tokenizer has no <|endoftext|>, from which a text starts; tasks cannot be scored")
        self._run = run
        self._start = start
        self._batch_size = batch_size
        self._max_tokens = max_tokens

    def loglikelihood(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        """For each context and continuation: ln p(continuation | context), and whether greedy text would be it."""
        texts = []
        for context, continuation in pairs:
            context_ids, ids = self._encode_pair(context, continuation)
            texts.append(_Text([*context_ids, *ids], len(ids)))
        return self._score(texts)

    def loglikelihood_rolling(self, texts: Sequence[str]) -> list[float]:
        """For each text: ln p of all of it, from `<|endoftext|>` on; each token sees as many as its window has."""
        encoded = [self._run.tokenizer.encode(text, special="text") for text in texts]
        return [sum_ for sum_, _ in self._score([_Text([self._start, *ids], len(ids)) for ids in encoded])]

    def generate_until(self, requests: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
        """For each prompt and its options: what is written after it, up to one of the strings in `until`.

        Options: `until`, `max_gen_toks` (or its other names), `do_sample`, `temperature`, `top_p`, `top_k`; others
        have no meaning here. Greedy unless asked otherwise. Raises ConfigError for values that cannot be.
        """
        groups: dict[SamplingConfig, list[int]] = {}
        for number, (_, options) in enumerate(requests):
            groups.setdefault(self._sampling(options), []).append(number)
        written: dict[int, str] = {}
        for config, numbers in groups.items():
            prompts = [requests[number][0] for number in numbers]
            completions = generate(self._run, prompts, config=config, batch_size=self._batch_size)
            written |= {number: one.text for number, one in zip(numbers, completions, strict=True)}
        return [written[number] for number in range(len(requests))]

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """The ids of both, cut where the context ends; spaces at its end go with the word that follows them."""

        def encode(text: str) -> list[int]:
            return self._run.tokenizer.encode(text, special="text")

        bare = context.rstrip()
        if not bare:
            return [self._start], encode(context + continuation)
        context_ids = encode(bare)
        return context_ids, encode(context + continuation)[len(context_ids) :]

    def _sampling(self, options: Mapping[str, Any]) -> SamplingConfig:
        until = options.get("until") or ()
        until = (until,) if isinstance(until, str) else tuple(until)
        temperature = float(options.get("temperature") or 0.0)
        is_greedy = not options.get("do_sample", temperature > 0)
        limit = next((options[name] for name in _LIMITS if options.get(name) is not None), self._max_tokens)
        return SamplingConfig(
            max_tokens=int(limit),
            temperature=0.0 if is_greedy else temperature or 1.0,
            top_p=float(options.get("top_p") or 1.0),
            top_k=int(options.get("top_k") or 0),
            stop=tuple(text for text in until if text),
        )

    def _score(self, texts: Sequence["_Text"]) -> list[tuple[float, bool]]:
        """For each text: the sum of ln p over its last ids, and whether each of them is the most likely one."""
        sums, are_greedy = [0.0] * len(texts), [True] * len(texts)
        windows = [(number, window) for number, text in enumerate(texts) for window in self._windows(text)]
        windows.sort(key=lambda pair: -len(pair[1].ids))  # those of one length side by side: little is padded
        for start in range(0, len(windows), self._batch_size):
            batch = windows[start : start + self._batch_size]
            for (number, _), (nats, is_greedy) in zip(batch, self._score_batch([w for _, w in batch]), strict=True):
                sums[number] -= nats
                are_greedy[number] = are_greedy[number] and is_greedy
        return list(zip(sums, are_greedy, strict=True))

    def _windows(self, text: "_Text") -> Iterator["_Text"]:
        """The text in windows that the model can see, each id that counts scored in one of them.

        They take as many targets as they have places; the last takes what is left, and the ids before that as context.
        """
        length = self._run.model.config.context_length
        first = len(text.ids) - text.num_scored
        while first < len(text.ids):
            end = min(first + length, len(text.ids))
            yield _Text(text.ids[max(0, end - 1 - length) : end], end - first)
            first = end

    def _score_batch(self, windows: Sequence["_Text"]) -> Iterator[tuple[float, bool]]:
        model = self._run.model
        width = max(len(window.ids) for window in windows) - 1
        ids = torch.zeros(len(windows), width + 1, dtype=torch.int64)
        for row, window in zip(ids, windows, strict=True):
            row[: len(window.ids)] = torch.tensor(window.ids)  # what stands behind is seen by nothing before it
        inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()  # (windows, width)
        device = next(model.parameters()).device
        with torch.no_grad(), evaluation_mode(model):
            logits = model(inputs.to(device))
        nats, best = target_nats(logits, targets.to(device)), logits.argmax(-1).cpu()
        for row, window in enumerate(windows):
            end = len(window.ids) - 1
            scored = slice(end - window.num_scored, end)
            is_greedy = bool((best[row, scored] == targets[row, scored]).all())
            yield float(nats[row, scored].sum()), is_greedy


class _Text(NamedTuple):
    """Ids, the last `num_scored` of which are predicted from all before them: at least one stands before."""

    ids: list[int]
    num_scored: int


@functools.cache
def register() -> type[Any]:
    """Make the model class "groundup" known to the harness, and return it.

    Its arguments are `run` (a folder, or a loaded run), `which`, `batch_size`, `device` and `max_gen_toks`:

        lm_eval.simple_evaluate(model="groundup", model_args="run=runs/demo/run", tasks=["arc_easy"])

    Raises ConfigError where the harness is not installed.
    """
    try:
        import lm_eval.models  # noqa: F401  # pyright: ignore[reportMissingImports] that ours be not the only one
        from lm_eval.api.model import LM  # pyright: ignore[reportMissingImports]
        from lm_eval.api.registry import register_model  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ConfigError("tasks need lm-evaluation-harness; install it with pip install 'groundup[eval]'") from None

    class GroundupLM(LM):
        """A run of groundup."""

        def __init__(
            self,
            run: StrPath | Run,
            *,
            which: str = "best",
            batch_size: int | str | None = None,
            max_batch_size: int | None = None,
            device: str | None = None,
            max_gen_toks: int = _DEFAULT_TOKENS,
        ) -> None:
            super().__init__()
            if not isinstance(run, Run):
                from groundup.checkpoint import load_run
                from groundup.device import choose_device

                run = load_run(run, which=which, device=choose_device(device or "auto"))
            self.run = run
            size = int(batch_size) if batch_size is not None and str(batch_size).isdigit() else 32  # "auto" too
            self.requests = RunRequests(run, batch_size=size, max_tokens=max_gen_toks)

        @property
        def tokenizer_name(self) -> str:
            return self.run.tokenizer.fingerprint

        def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
            return self.requests.loglikelihood([request.args for request in requests])

        def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[float]:
            return self.requests.loglikelihood_rolling([request.args[0] for request in requests])

        def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
            return self.requests.generate_until([request.args for request in requests])

    return register_model(MODEL_NAME)(GroundupLM)


def evaluate_tasks(
    run: Run,
    tasks: Sequence[str],
    *,
    batch_size: int = 32,
    limit: int | None = None,
    num_fewshot: int | None = None,
    include_path: StrPath | None = None,
) -> dict[str, dict[str, Any]]:
    """The figures of each task, by their names: "acc", "acc_norm", "bits_per_byte", ... and their standard errors.

    Args:
        tasks: Names that the harness knows, or of tasks in `include_path`, a folder of YAML files.
        limit: Only the first so many questions of each: for a quick look.
        num_fewshot: Worked examples before each question; None for what the task says.

    Raises ConfigError where the harness is not installed, GroundupError in one sentence for what it refuses: a task
    that it does not know, data that it cannot download.
    """
    model = register()(run, batch_size=batch_size)
    from lm_eval import simple_evaluate  # pyright: ignore[reportMissingImports]

    try:
        found: Any = simple_evaluate(
            model=model,
            tasks=list(tasks),
            limit=limit,
            num_fewshot=num_fewshot,
            task_manager=_task_manager(tasks, include_path),
            log_samples=False,
            bootstrap_iters=1000,
        )
    except GroundupError:
        raise
    except Exception as error:  # the harness and the libraries of its tasks raise what they like
        raise GroundupError(f"the tasks {', '.join(tasks)} could not be evaluated: {first_line(error)}") from error
    return {
        task: {_figure_name(name): value for name, value in figures.items()}
        for task, figures in found["results"].items()
    }


def _task_manager(tasks: Sequence[str], include_path: StrPath | None) -> Any:
    """What finds tasks by name. The thousands of the harness are read only where one of them is asked for."""
    from lm_eval.tasks import TaskManager  # pyright: ignore[reportMissingImports]

    if include_path is None:
        return TaskManager()
    ours = TaskManager(include_path=str(include_path), include_defaults=False)
    return ours if set(tasks) <= set(ours.all_tasks) else TaskManager(include_path=str(include_path))


def _figure_name(name: str) -> str:
    """The harness writes "acc,none", with the filter of the answers behind the comma."""
    return name.removesuffix(",none")
