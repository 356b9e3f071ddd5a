"""What may be said of a contest of training steps: rates, ratios, utilisation, memory."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bench.rounds import best_of, ratio, summarise
from groundup.config import ModelConfig
from groundup.model.accounting import flops

Rounds = Mapping[str, Sequence[float]]


def conclude(
    entries: Mapping[str, Mapping[str, Any]],
    refused: Mapping[str, str],
    rates: Rounds,
    products: Sequence[Mapping[str, float]],
    shape: Mapping[str, int],
    ours: str,
) -> dict[str, Any]:
    """The record of one precision.

    Args:
        entries: What was found out about each that passed the check.
        refused: Why the others did not, or are not in the rounds.
        rates: Tokens per second in every round, of those that were measured in turns.
        products: FLOPs per second of each kind of matrix product in every round.
        shape: Of the model.
        ours: The side that the others are compared with.
    """
    limits = [max(one.values()) for one in products]  # of each round
    per_token = flops_per_token(shape)
    sides = dict.fromkeys(entry["side"] for name, entry in entries.items() if name in rates)
    best = {
        side: best_of({name: rates[name] for name, entry in entries.items() if entry["side"] == side and name in rates})
        for side in sides
    }
    strangers = [name for side, name in best.items() if name and not side.startswith(ours)]
    strongest = best_of({name: rates[name] for name in strangers})
    mine = best.get(ours)
    compared = {side: ratio(rates[mine], rates[name]) for side, name in best.items() if mine and name and side != ours}
    return {
        "contestants": {
            name: dict(entry)
            | (_measured(rates[name], [per_token * rate for rate in rates[name]], limits) if name in rates else {})
            for name, entry in entries.items()
        },
        "refused": dict(refused),
        "best": best,
        "ratios": {side: asdict(found) for side, found in compared.items()},
        "strongest": strongest,
        "ratio": asdict(ratio(rates[mine], rates[strongest])) if mine and strongest else None,
        "flops_per_token": per_token,
        "products": {"flops_per_s": asdict(summarise(limits)), "rounds": [dict(one) for one in products]},
    }


def flops_per_token(shape: Mapping[str, int]) -> float:
    """Operations of a step for each token: forward, and twice as many backward; attention counted as causal.

    Half of the scores lie above the diagonal, and no one has to compute them.
    """
    forward = flops(ModelConfig(**shape))
    attention = forward.scores + forward.weighted_sum
    return 3 * (forward.total - attention / 2) / shape["context_length"]


def _measured(rates: Sequence[float], flops_per_s: Sequence[float], limits: Sequence[float]) -> dict[str, Any]:
    return {
        "tokens_per_s": asdict(summarise(rates)),
        "rounds": list(rates),
        "utilisation": asdict(ratio(flops_per_s, limits)),
    }
