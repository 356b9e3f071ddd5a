"""Hugging Face's generation: LlamaForCausalLM.generate with its default cache. Ways: float32, bf16."""

from collections.abc import Sequence

import numpy as np
import torch
import transformers
from huggingface_llama import make_llama
from model_shape import Shape
from writing import Weights, Write, serve_writing

NAMES = {
    "attn.q_proj": "self_attn.q_proj",
    "attn.k_proj": "self_attn.k_proj",
    "attn.v_proj": "self_attn.v_proj",
    "attn.output_proj": "self_attn.o_proj",
    "ffn.w1": "mlp.gate_proj",
    "ffn.w3": "mlp.up_proj",
    "ffn.w2": "mlp.down_proj",
    "ln1": "input_layernorm",
    "ln2": "post_attention_layernorm",
}


def build(shape: Shape, weights: Weights, way: str, threads: int) -> Write:
    """The same weights under Hugging Face's names."""
    torch.set_num_threads(threads)
    model = make_llama(shape, use_cache=True).eval()
    model.load_state_dict({name: torch.from_numpy(array) for name, array in renamed(shape, weights).items()})
    model.to({"float32": torch.float32, "bf16": torch.bfloat16}[way])

    @torch.inference_mode()
    def write(prompts: Sequence[Sequence[int]], num_tokens: int) -> list[list[int]]:
        ids = torch.tensor(prompts)
        written = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=num_tokens,
            do_sample=False,
            pad_token_id=0,
        )
        return written[:, ids.shape[1] :].tolist()

    return write


def renamed(shape: Shape, weights: Weights) -> Weights:
    """Our weights as theirs: other names, and the rows of queries and keys in another order.

    RoPE turns components 2k and 2k + 1 of a head together here, k and k + d_head / 2 there.
    """
    found = {
        "model.embed_tokens.weight": weights["token_embeddings.weight"],
        "model.norm.weight": weights["ln_final.weight"],
        "lm_head.weight": weights["lm_head.weight"],
    }
    for layer in range(shape.num_layers):
        for ours, theirs in NAMES.items():
            array = weights[f"layers.{layer}.{ours}.weight"]
            if ours in ("attn.q_proj", "attn.k_proj"):
                pairs = array.reshape(shape.num_heads, shape.d_head // 2, 2, shape.d_model)
                array = np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(array.shape)
            found[f"model.layers.{layer}.{theirs}.weight"] = array
    return found


if __name__ == "__main__":
    serve_writing(build, {"transformers": transformers.__version__, "torch": str(torch.__version__)})
