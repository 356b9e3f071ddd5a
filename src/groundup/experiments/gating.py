"""gating: SwiGLU against a feed-forward part without a gate, of about the same number of parameters."""

from groundup.config import ModelConfig
from groundup.experiments.ablation import Ablation
from groundup.experiments.outcome import Results
from groundup.experiments.study import Study
from groundup.model.accounting import num_parameters
from groundup.recipe import changed

SAME_SIZE = 0.05  # of the parameters
_SETTINGS = {"model.ffn": "silu", "model.d_ff": None}
_ABLATION = Ablation("SwiGLU (base)", "SiLU without a gate", _SETTINGS)


def comment(results: Results) -> list[str]:
    base = ModelConfig(**results.facts["model"])
    plain = changed(base, {"ffn": "silu", "d_ff": None})
    counts = [num_parameters(model).total for model in (base, plain)]
    more = counts[1] / counts[0] - 1
    sizes = (
        f"SwiGLU has three matrices of width {base.ffn_width:,}, SiLU two of width {plain.ffn_width:,}: "
        f"{counts[0]:,} and {counts[1]:,} parameters in all, {100 * more:+.1f} %. "
    )
    if abs(more) <= SAME_SIZE:
        sizes += "What is compared is the shape of the feed-forward part, not its size."
    else:
        sizes += "Rounding a small width leaves sizes that are not the same, so a part of the difference may be size."
    return [*_ABLATION.comment(results), sizes]


STUDY = Study(
    name="gating",
    title="Gating: SwiGLU against SiLU",
    question="Is the gate of SwiGLU worth its third matrix, if the parameters are about the same?",
    method="The base model's feed-forward part is W2 (SiLU(W1 x) * W3 x) with an inner width of 8/3 d_model, rounded "
    "to a multiple of 64. The changed model has W2 SiLU(W1 x) with a width of 4 d_model. Both run at the rate of the "
    "base; neither was tuned for this.",
    variants=_ABLATION.variants,
    comment=comment,
)
