"""norm: the model without RMSNorm, at the rate of the base and at the best rate of its own."""

from groundup.experiments.ablation import Ablation
from groundup.experiments.study import Study

_ABLATION = Ablation("RMSNorm (base)", "no RMSNorm", {"model.norm": "none"}, is_tuned=True)

STUDY = Study(
    name="norm",
    title="Without RMSNorm",
    question="What happens if every RMSNorm is taken out: at the learning rate that suits the model with it, and at "
    "the best rate without?",
    method="The base model normalizes the input of each part of a block and of the head (pre-norm). The changed model "
    "has no norm anywhere. It is trained at the rate of the base, and at lower ones; the best of them, by the loss "
    "with seed 0, gets all seeds.",
    variants=_ABLATION.variants,
    comment=_ABLATION.comment,
    shown=_ABLATION.shown,
)
