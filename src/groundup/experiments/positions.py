"""positions: rotary positions against none at all."""

from groundup.experiments.ablation import Ablation
from groundup.experiments.study import Study

_ABLATION = Ablation("RoPE (base)", "no positions", {"model.positions": "none"})

STUDY = Study(
    name="positions",
    title="Positions: RoPE against none",
    question="How much does a causal Transformer lose if nothing tells it where a token stands?",
    method="The base model turns queries and keys by their position (RoPE). The changed model leaves them as they are: "
    "only the causal mask, which lets each token see its past and nothing else, still tells places apart. Both run at "
    "the rate of the base; neither was tuned for this.",
    variants=_ABLATION.variants,
    comment=_ABLATION.comment,
)
