"""From logits to the next id: what can be chosen, and one small pure function for each choice.

`SamplingConfig` holds the options. `choose` applies them in this order: repetition penalty, temperature,
top-k, top-p; then it draws an id. A removed id has logit -inf. Everything is computed in float64, where
sums over a vocabulary are exact for the purpose. Nothing here knows a model, a cache or text; the loop
that calls it is engine.py.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from groundup.errors import ConfigError

# Below this temperature the most likely id is taken: the next one, a float32 rounding step away at
# best, would have no chance worth drawing for, and the division would only lose digits.
GREEDY_BELOW = 1e-6

# Probabilities of float32 logits are exact to about this much: a sum within it of p has reached p.
# Without it, log([.5, .3, .2]) at p = .5 sums to .49999999 and keeps two ids.
TOP_P_TOLERANCE = 1e-6


@dataclass(frozen=True)
class SamplingConfig:
    """How to write: the defaults draw from the model's own distribution.

    Args:
        max_tokens: Most ids to draw for one completion.
        temperature: Logits are divided by it; 0 (and anything below 1e-6) takes the most likely id.
        top_p: Keep the smallest set of most likely ids whose probability reaches this; 1 or more
            switches it off, 0 keeps one.
        top_k: Keep this many most likely ids; 0 switches it off.
        repetition_penalty: Makes ids that the model can still see less likely; 1 switches it off.
        seed: Start of the random stream, the same text each time; None draws a new one each time.
        stop: Strings that end the completion and are not shown.
    """

    max_tokens: int = 256
    temperature: float | int = 1.0  # int is named because checks at run time do not take 0 for a float
    top_p: float | int = 1.0
    top_k: int = 0
    repetition_penalty: float | int = 1.0
    seed: int | None = 0
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("max_tokens", "top_k"):
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= 0):
                raise ConfigError(f"{name} is {value!r}; it must be a whole number of at least 0")
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ConfigError(f"{name} is {value}; it must be a number of at least 0")
        if not (math.isfinite(self.repetition_penalty) and self.repetition_penalty > 0):
            raise ConfigError(
                f"repetition_penalty is {self.repetition_penalty}; it must be positive, and 1 switches it off"
            )
        if isinstance(self.stop, str) or not all(isinstance(text, str) and text for text in self.stop):
            raise ConfigError(f"stop is {self.stop!r}; give a tuple of strings, none of them empty")

    @property
    def is_greedy(self) -> bool:
        """Whether the most likely id is always taken, so that no random number is used."""
        return self.temperature < GREEDY_BELOW


def choose(
    logits: Float[Tensor, "rows vocab"],
    config: SamplingConfig,
    generators: Sequence[torch.Generator],
    visible: Sequence[Sequence[int]],
) -> Int[Tensor, " rows"]:
    """The next id of each row: all of `config` applied, then drawn with the row's own generator.

    `visible` are the ids in each row's window, for the repetition penalty.
    """
    logits = logits.double()
    if config.repetition_penalty != 1:
        rows = [
            penalize_repetition(row, torch.tensor(ids, device=row.device), config.repetition_penalty)
            for row, ids in zip(logits, visible, strict=True)
        ]
        logits = torch.stack(rows)
    if config.is_greedy:
        return logits.argmax(dim=-1)  # the first of equal ones
    logits = apply_temperature(logits, config.temperature)
    logits = top_p(top_k(logits, config.top_k), config.top_p)
    return draw(logits, generators)


def apply_temperature(logits: Float[Tensor, "... vocab"], temperature: float | int) -> Float[Tensor, "... vocab"]:
    """Logits divided by `temperature` > 0, the largest moved to 0 first so that nothing overflows."""
    return (logits - logits.amax(dim=-1, keepdim=True)) / temperature


def top_k(logits: Float[Tensor, "... vocab"], k: int) -> Float[Tensor, "... vocab"]:
    """Logits with all but the k largest at -inf; of equal ones the lower ids stay. k = 0 keeps all.

    >>> top_k(torch.tensor([1.0, 3.0, 2.0]), 2)
    tensor([-inf, 3., 2.])
    """
    if k == 0 or k >= logits.shape[-1]:
        return logits
    least = logits.topk(k).values[..., -1:]
    above, equal = logits > least, logits == least
    room = k - above.sum(dim=-1, keepdim=True)
    return logits.masked_fill(~(above | (equal & (equal.cumsum(dim=-1) <= room))), -torch.inf)


def top_p(logits: Float[Tensor, "... vocab"], p: float | int) -> Float[Tensor, "... vocab"]:
    """Logits with all at -inf but the smallest set of most likely ids whose probability reaches p.

    From the most likely on, an id is kept while the sum before it is below p; the first always is.
    p >= 1 keeps all: a sum in floating point can stop short of 1 and would cut the tail.
    Nucleus sampling: Holtzman et al. 2019, The Curious Case of Neural Text Degeneration
    (arXiv:1904.09751), section 3.1.

    >>> probabilities = torch.tensor([0.5, 0.3, 0.2])
    >>> [int((top_p(probabilities.log(), p) > -torch.inf).sum()) for p in (0.5, 0.51, 0.0, 1.0)]
    [1, 2, 1, 3]
    """
    if p >= 1:
        return logits
    # All ids below (1 - p) / vocab together have less than 1 - p, so none of them is in the set: sorting
    # the others, often a few hundred, makes this three times faster. Half of it leaves room for rounding.
    is_candidate = _softmax(logits) >= (1 - p) / logits.shape[-1] / 2
    best = logits.topk(int(is_candidate.sum(dim=-1).max())).indices.sort(dim=-1).values
    ordered, order = logits.gather(-1, best).sort(dim=-1, descending=True, stable=True)
    probabilities = (ordered - logits.logsumexp(dim=-1, keepdim=True)).exp()
    before = probabilities.cumsum(dim=-1) - probabilities
    dropped = before >= p - TOP_P_TOLERANCE
    dropped[..., 0] = False
    kept = ordered.masked_fill(dropped, -torch.inf)
    return torch.full_like(logits, -torch.inf).scatter(-1, best.gather(-1, order), kept)


def penalize_repetition(
    logits: Float[Tensor, " vocab"], visible: Int[Tensor, " seq"], penalty: float | int
) -> Float[Tensor, " vocab"]:
    """Logits in which every id of `visible`, however often it occurs, is less likely for penalty > 1.

    Keskar et al. 2019, CTRL (arXiv:1909.05858), section 4.1, divides the logit by the penalty. That
    would favour an id whose logit is negative, so such a logit is multiplied instead.
    """
    if penalty == 1:
        return logits
    seen = logits[visible]
    return logits.index_put((visible,), torch.where(seen > 0, seen / penalty, seen * penalty))


def draw(logits: Float[Tensor, "rows vocab"], generators: Sequence[torch.Generator]) -> Int[Tensor, " rows"]:
    """Ids drawn with probability softmax(logits), by one uniform number of each row's CPU generator.

    The number u in [0, 1) picks the first id whose cumulative weight passes u times the total, so an id of
    weight 0 is never drawn. One number, not one for each id: what a row draws is the same on every device.
    """
    uniform = torch.stack([torch.rand(1, generator=one, dtype=torch.float64) for one in generators])
    cumulative = _softmax(logits.double()).cumsum(dim=-1)
    aim = cumulative[:, -1:] * uniform.to(logits.device)  # (rows, 1)
    return torch.searchsorted(cumulative, aim, right=True)[:, 0]


def log_probabilities(logits: Float[Tensor, "rows vocab"], ids: Int[Tensor, " rows"]) -> Float[Tensor, " rows"]:
    """log softmax(logits)[ids] in nats: what the model itself gives the ids, no option applied."""
    return logits.gather(-1, ids[:, None])[:, 0] - logits.logsumexp(dim=-1)


def row_generator(seed: int | None, sample: int) -> torch.Generator:
    """A CPU generator for sample number `sample` of a prompt; with a seed always the same stream.

    Each row of a batch owns one, so that what it draws does not depend on its neighbours.
    """
    generator = torch.Generator()
    if seed is None:
        generator.seed()
    else:  # hashed: neighbouring seeds and samples share nothing
        digest = hashlib.sha256(f"{seed} {sample}".encode()).digest()
        generator.manual_seed(int.from_bytes(digest[:8], "little"))
    return generator


def _softmax(logits: Float[Tensor, "... vocab"]) -> Float[Tensor, "... vocab"]:
    return (logits - logits.logsumexp(dim=-1, keepdim=True)).exp()
