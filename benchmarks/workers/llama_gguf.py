"""Our weights as a GGUF file of architecture "llama", the format of llama.cpp: just what generate.py needs.

The vocabulary is made up (the model writes ids, nobody reads text). No rows are permuted: llama.cpp turns
neighbouring components together, as our RoPE does.
"""

from pathlib import Path

from gguf import GGMLQuantizationType, GGUFWriter, LlamaFileType, TokenType
from gguf.quants import quantize
from model_shape import Shape
from writing import Weights

NAMES = {
    "attn.q_proj": "attn_q",
    "attn.k_proj": "attn_k",
    "attn.v_proj": "attn_v",
    "attn.output_proj": "attn_output",
    "ffn.w1": "ffn_gate",
    "ffn.w3": "ffn_up",
    "ffn.w2": "ffn_down",
    "ln1": "attn_norm",
    "ln2": "ffn_norm",
}
FILE_TYPES = {"F32": LlamaFileType.ALL_F32, "BF16": LlamaFileType.MOSTLY_BF16, "Q8_0": LlamaFileType.MOSTLY_Q8_0}


def write_gguf(shape: Shape, weights: Weights, way: str, path: Path) -> None:
    """Write the file; `way` is the type of the matrices: F32, BF16 or Q8_0. Gains of norms stay F32."""
    writer = GGUFWriter(path, "llama")
    writer.add_file_type(FILE_TYPES[way])
    writer.add_context_length(shape.context_length)
    writer.add_embedding_length(shape.d_model)
    writer.add_feed_forward_length(shape.d_ff)
    writer.add_block_count(shape.num_layers)
    writer.add_head_count(shape.num_heads)
    writer.add_head_count_kv(shape.num_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(shape.d_head)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(shape.vocab_size)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"<{id}>" for id in range(shape.vocab_size)])
    writer.add_token_scores([0.0] * shape.vocab_size)
    writer.add_token_types([TokenType.NORMAL] * shape.vocab_size)
    for name, array in renamed(shape, weights).items():
        if array.ndim == 1 or way == "F32":
            writer.add_tensor(name, array)
        else:
            kind = GGMLQuantizationType[way]
            writer.add_tensor(name, quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def renamed(shape: Shape, weights: Weights) -> Weights:
    """Our weights under llama.cpp's names."""
    found = {
        "token_embd.weight": weights["token_embeddings.weight"],
        "output_norm.weight": weights["ln_final.weight"],
        "output.weight": weights["lm_head.weight"],
    }
    for layer in range(shape.num_layers):
        for ours, theirs in NAMES.items():
            found[f"blk.{layer}.{theirs}.weight"] = weights[f"layers.{layer}.{ours}.weight"]
    return found
