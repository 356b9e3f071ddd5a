"""post-norm: RMSNorm after each part of a block, as in the first Transformer, against before it."""

from groundup.experiments.ablation import Ablation
from groundup.experiments.study import Study

_ABLATION = Ablation("pre-norm (base)", "post-norm", {"model.norm": "post"}, is_tuned=True)

STUDY = Study(
    name="post-norm",
    title="Post-norm against pre-norm",
    question="Does it matter whether RMSNorm stands before each part of a block or after the sum with the residual?",
    method="Pre-norm adds the output of attention and feed-forward to a stream that is never normalized itself; "
    "post-norm (Vaswani et al. 2017, arXiv:1706.03762) normalizes the stream after each sum and has no norm before the "
    "head. Post-norm is trained at the rate of the base, and at lower ones; the best of them, by the loss with seed 0, "
    "gets all seeds.",
    variants=_ABLATION.variants,
    comment=_ABLATION.comment,
    shown=_ABLATION.shown,
)
