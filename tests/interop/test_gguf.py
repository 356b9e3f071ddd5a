"""GGUF files: what the `gguf` package reads is what was written, and the way back."""

import gguf
import numpy as np
import pytest
import torch
from interop.models import GROUPED, KINDS, TIED, contents, logits, make_run, some_ids

from groundup.checkpoint import load_run
from groundup.errors import CheckpointError, ConfigError, TokenizerError
from groundup.interop.gguf import export_gguf, read_gguf_model
from groundup.interop.gguf_tokenizer import CONTROL, NORMAL, UNUSED, from_gguf, to_gguf
from groundup.interop.llama import weights_of
from groundup.interop.names import GGUF, expand
from groundup.interop.runs import write_run
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.patterns import LLAMA3_PATTERN
from groundup.tokenizer.vocabulary import make_vocabulary

BYTES = {i: bytes([i]) for i in range(256)}


def read(path):
    """Fields, types of tensors and their values in float32, by the package's own reader."""
    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    types = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
    values = {
        tensor.name: torch.tensor(np.array(gguf.quants.dequantize(tensor.data, tensor.tensor_type)))
        for tensor in reader.tensors
    }
    return fields, types, values


def their_weights(run):
    names = expand(GGUF, run.model.config.num_layers)
    return {names[name]: tensor for name, tensor in weights_of(run.model).items()}


def test_the_file_says_what_the_model_is(tokenizer, tmp_path):
    run = make_run(tokenizer, rope_theta=500.0, norm_eps=1e-3, **GROUPED)
    fields, types, values = read(export_gguf(run, tmp_path / "small.gguf"))
    expected = {
        "general.architecture": "llama", "general.name": "small", "general.file_type": 0, "llama.vocab_size": 300,
        "llama.context_length": 32, "llama.embedding_length": 32, "llama.block_count": 2,
        "llama.feed_forward_length": 96, "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
        "llama.rope.dimension_count": 8, "llama.rope.freq_base": 500.0, "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.eos_token_id": tokenizer.end_of_text_id,
        "tokenizer.ggml.bos_token_id": tokenizer.end_of_text_id, "tokenizer.ggml.add_bos_token": False,
    }  # fmt: skip
    assert {name: fields[name] for name in expected} == expected
    assert fields["llama.attention.layer_norm_rms_epsilon"] == pytest.approx(1e-3, rel=1e-7)
    assert set(types.values()) == {"F32"}
    # No row moves: llama.cpp turns neighbours too.
    assert values.keys() == their_weights(run).keys()
    for name, tensor in their_weights(run).items():
        assert torch.equal(values[name], tensor), name


def test_a_tied_head_is_not_stored(tokenizer, tmp_path):
    _, types, _ = read(export_gguf(make_run(tokenizer, **TIED), tmp_path / "tied.gguf"))
    assert "output.weight" not in types and "token_embd.weight" in types


def test_the_tokenizer_inside(tokenizer, tmp_path):
    fields, *_ = read(export_gguf(make_run(tokenizer), tmp_path / "small.gguf"))
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    assert len(tokens) == len(kinds) == 300 and len(fields["tokenizer.ggml.merges"]) == len(tokenizer.merges)
    (the,) = tokenizer.encode(" the")
    assert (tokens[the], kinds[the]) == ("Ġthe", NORMAL)
    assert (tokens[tokenizer.end_of_text_id], kinds[tokenizer.end_of_text_id]) == ("<|endoftext|>", CONTROL)


@pytest.mark.parametrize(
    ("dtype", "stored", "rounded"),
    [
        ("float16", "F16", lambda weight: weight.half().float()),
        ("bf16", "BF16", lambda weight: weight.bfloat16().float()),
    ],
)
def test_matrices_in_sixteen_bits(dtype, stored, rounded, tokenizer, tmp_path):
    run = make_run(tokenizer)
    _, types, values = read(export_gguf(run, tmp_path / "small.gguf", dtype=dtype))
    for name, tensor in their_weights(run).items():
        assert types[name] == ("F32" if tensor.ndim == 1 else stored)
        assert torch.equal(values[name], tensor if tensor.ndim == 1 else rounded(tensor)), name


def test_matrices_in_eight_bits(tokenizer, tmp_path, caplog):
    caplog.set_level("INFO")
    run = make_run(tokenizer, d_ff=80)
    fields, types, values = read(export_gguf(run, tmp_path / "small.gguf", dtype="q8_0"))
    assert fields["general.quantization_version"] == gguf.GGML_QUANT_VERSION
    for name, tensor in their_weights(run).items():
        # 80 is no multiple of 32
        narrow = name.endswith("ffn_down.weight")
        assert types[name] == ("F32" if tensor.ndim == 1 else "F16" if narrow else "Q8_0")
        if types[name] == "Q8_0":
            scale = tensor.unflatten(-1, (-1, 32)).abs().amax(-1, keepdim=True) / 127
            error = (values[name] - tensor).unflatten(-1, (-1, 32)).abs()
            # half a step, and the scale itself rounded to float16
            assert (error <= scale * (0.5 + 127 * 2**-11)).all(), name
    assert "rows of 80 values, which Q8_0 cannot hold" in caplog.text


@pytest.mark.parametrize(("fields", "dtype"), list(zip(KINDS, ["float32", "bf16", "float16", "float32"], strict=True)))
def test_there_and_back_and_there_is_the_same_byte_for_byte(fields, dtype, tokenizer, tmp_path):
    run = make_run(tokenizer, norm_eps=1e-5, rope_theta=12_345.6, **fields)
    (tmp_path / "again").mkdir()
    first = export_gguf(run, tmp_path / "small.gguf", dtype=dtype)
    back = load_run(write_run(read_gguf_model(first), tmp_path / "run"))
    assert back.model.config == run.model.config and back.tokenizer.fingerprint == tokenizer.fingerprint
    if dtype == "float32":
        assert torch.equal(logits(back, some_ids(run)), logits(run, some_ids(run)))
    assert contents(export_gguf(back, tmp_path / "again/small.gguf", dtype=dtype)) == contents(first)


def test_eight_bits_are_read_back(tokenizer, tmp_path):
    run = make_run(tokenizer)
    path = export_gguf(run, tmp_path / "small.gguf", dtype="q8_0")
    _, _, values = read(path)
    assert torch.equal(read_gguf_model(path).weights["layers.0.ffn.w1.weight"], values["blk.0.ffn_gate.weight"])


def foreign(path, *, architecture="llama", tensors=None, **fields):
    """A file that another program could have written."""
    writer = gguf.GGUFWriter(path, architecture)
    numbers = {"context_length": 8, "embedding_length": 4, "block_count": 1, "feed_forward_length": 4,
               "attention.head_count": 2}  # fmt: skip
    for name, value in (numbers | fields.pop("numbers", {})).items():
        writer.add_uint32(f"{architecture}.{name}", value)
    for name, value in fields.items():
        writer.add_string(name.replace("__", "."), value)
    for name, (data, kind) in (tensors or {"token_embd.weight": (np.zeros((3, 4), np.float32), None)}).items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"architecture": "qwen2"}, "of the architecture 'qwen2'; only 'llama' is read"),
        ({"llama__rope__scaling__type": "yarn"}, "rotations that are scaled \\(yarn\\)"),
        ({"numbers": {"expert_count": 8}}, "a mixture of 8 experts"),
        ({"numbers": {"vocab_size": 3, "rope.dimension_count": 1}}, "turns 1 of 2 values of a head"),
        ({"numbers": {"attention.head_count": 0}}, "head_count in .* is 0; it must be a positive whole number"),
        ({"numbers": {"vocab_size": 3}}, "lacks the tensor 'blk.0.attn_norm.weight'"),
        (
            {"numbers": {"vocab_size": 3}, "tensors": {"rope_freqs.weight": (np.ones(1, np.float32), None)}},
            "scaled \\(rope_freqs\\)",
        ),
        (
            {"numbers": {"vocab_size": 3}, "tensors": {"token_embd.weight": (np.zeros((3, 18), np.uint8),
             gguf.GGMLQuantizationType.Q4_0)}},
            "stored as Q4_0; F32, F16, BF16 and Q8_0 are read",
        ),
    ],
)  # fmt: skip
def test_what_our_model_would_compute_otherwise_is_refused(fields, message, tmp_path):
    with pytest.raises(CheckpointError, match=message):
        read_gguf_model(foreign(tmp_path / "foreign.gguf", **fields))


def test_damaged_files_get_one_sentence(tokenizer, tmp_path):
    whole = export_gguf(make_run(tokenizer), tmp_path / "small.gguf").read_bytes()
    damaged = tmp_path / "damaged.gguf"
    for content in (
        b"",
        b"GGUF",
        b"nothing of the kind" * 9,
        *(whole[: len(whole) * part // 9] for part in range(1, 9)),
    ):
        damaged.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"damaged\.gguf' is not a whole GGUF file") as error:
            read_gguf_model(damaged)
        assert "\n" not in str(error.value)
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        read_gguf_model(tmp_path / "missing.gguf")


def test_a_tokenizer_of_another_kind_can_be_replaced(tokenizer, tmp_path):
    run = make_run(tokenizer)
    weights = {name: (tensor.numpy(), None) for name, tensor in their_weights(run).items()}
    shape = {"context_length": 32, "embedding_length": 32, "block_count": 2, "feed_forward_length": 96,
             "attention.head_count": 4, "vocab_size": 300}  # fmt: skip
    path = foreign(tmp_path / "foreign.gguf", numbers=shape, tensors=weights, tokenizer__ggml__model="llama")
    with pytest.raises(CheckpointError, match="a tokenizer of the kind 'llama'; only byte-level BPE"):
        read_gguf_model(path)
    tokenizer.save(tmp_path / "tokenizer.json")
    imported = read_gguf_model(path, tokenizer=tmp_path / "tokenizer.json")
    assert imported.tokenizer.fingerprint == tokenizer.fingerprint


def test_cuts_and_holes_of_a_tokenizer():
    holes = make_vocabulary(BYTES | {300: b"th"}, [(b"t", b"h")], {"<|endoftext|>": 302, "<|user|>": 257})
    found = to_gguf(holes, 310)
    assert found.types.count(UNUSED) == 310 - 259 and found.tokens[258] == "[PAD258]"
    assert from_gguf(found) == holes
    llama3 = make_vocabulary(BYTES, [], ["<|end|>"], LLAMA3_PATTERN, ignore_merges=True)
    assert to_gguf(llama3, 257).cut == "llama-bpe" and from_gguf(to_gguf(llama3, 257)) == llama3


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (make_vocabulary(BYTES, [], [], r"\S+|\s+"), "has no cut for the pattern .* with no ignore_merges"),
        (make_vocabulary(BYTES, [], [], LLAMA3_PATTERN), "has no cut for the pattern"),
        (make_vocabulary(BYTES, [], [], normalization="NFC"), "brings text to NFC, which llama.cpp does not"),
    ],
)
def test_a_tokenizer_that_llama_cpp_does_not_have_is_refused(vocabulary, message, tmp_path):
    with pytest.raises(TokenizerError, match=message):
        export_gguf(make_run(Tokenizer.from_vocabulary(vocabulary)), tmp_path / "out.gguf")
    assert list(tmp_path.iterdir()) == []


def test_other_types_and_a_missing_package(tokenizer, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="dtype is 'q4_0'; a GGUF file can have float32, float16, bf16, q8_0"):
        export_gguf(make_run(tokenizer), tmp_path / "out.gguf", dtype="q4_0")
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(ConfigError, match=r"pip install 'groundup\[gguf\]'"):
        export_gguf(make_run(tokenizer), tmp_path / "out.gguf")
