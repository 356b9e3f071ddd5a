"""gating: SwiGLU against a feed-forward part without a gate, of about the same number of parameters."""

from groundup.config import ModelConfig
from groundup.experiments.ablation import Ablation
from groundup.experiments.outcome import Results
from groundup.experiments.study import Study
from groundup.model.accounting import num_parameters
from groundup.recipe import changed

_SETTINGS = {"model.ffn": "silu", "model.d_ff": None}
_ABLATION = Ablation("SwiGLU (base)", "SiLU without a gate", _SETTINGS)


def comment(results: Results) -> list[str]:
    base = ModelConfig(**results.facts["model"])
    plain = changed(base, {"ffn": "silu", "d_ff": None})
    counts = [num_parameters(model).total for model in (base, plain)]
    sizes = (
        f"SwiGLU has three matrices of width {base.ffn_width:,}, SiLU two of width {plain.ffn_width:,}: "
        f"{counts[0]:,} and {counts[1]:,} parameters in all, {100 * (counts[1] / counts[0] - 1):+.1f} %. What is "
        "compared is the shape of the feed-forward part, not its size."
    )
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
