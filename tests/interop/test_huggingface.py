"""Hugging Face folders: `transformers` computes our logits, `tokenizers` gives our ids, and the way back is exact."""

import json

import pytest
import torch
from interop.models import GROUPED, KINDS, contents, copied, logits, make_run, some_ids

from groundup.checkpoint import load_run
from groundup.errors import CheckpointError, ConfigError
from groundup.interop.huggingface import export_huggingface
from groundup.interop.huggingface_import import INDEX, read_huggingface_model
from groundup.interop.runs import write_run
from groundup.tokenizer.bpe import Tokenizer


@pytest.fixture(scope="module")
def original(tokenizer, tmp_path_factory):
    return export_huggingface(make_run(tokenizer), tmp_path_factory.mktemp("hf") / "exported")


@pytest.fixture
def exported(original, tmp_path):
    """A folder to damage."""
    return copied(original, tmp_path / "exported")


def rewritten(folder, **fields):
    """The folder with fields of its config.json replaced."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    return folder


def test_transformers_computes_our_logits_and_gives_our_ids(tokenizer, tmp_path):
    # It takes seconds to import: one test has all that needs it.
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    for number, fields in enumerate(KINDS):
        run = make_run(tokenizer, rope_theta=500.0, norm_eps=1e-3, **fields)
        theirs = AutoModelForCausalLM.from_pretrained(export_huggingface(run, tmp_path / f"exported {number}"))
        assert type(theirs).__name__ == "LlamaForCausalLM" and theirs.dtype == torch.float32
        ids = some_ids(run)
        with torch.inference_mode():
            found = theirs(ids).logits
        # float32 on both sides: the sums run in another order. Seen: below 1e-5.
        torch.testing.assert_close(found, logits(run, ids), atol=1e-4, rtol=0)

    # The other way: what it saves itself, in several files.
    shape = {"vocab_size": 300, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32}  # fmt: skip
    theirs = LlamaForCausalLM(LlamaConfig(**shape, bos_token_id=None, eos_token_id=None)).eval()
    theirs.save_pretrained(tmp_path / "theirs", max_shard_size="30KB")
    tokenizer.save(tmp_path / "theirs")
    assert (tmp_path / "theirs" / INDEX).is_file()
    ours = load_run(write_run(read_huggingface_model(tmp_path / "theirs"), tmp_path / "ours"))
    with torch.inference_mode():
        torch.testing.assert_close(logits(ours, ids), theirs(ids).logits, atol=1e-4, rtol=0)

    folder = export_huggingface(make_run(tokenizer, **GROUPED), tmp_path / "in bf16", dtype="bf16")
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.dtype == torch.bfloat16
    assert model.generation_config.eos_token_id == tokenizer.end_of_text_id == model.config.eos_token_id
    words = AutoTokenizer.from_pretrained(folder)
    for text in ("The cat sat.", " Où est  la lune?\n\n", "a<|endoftext|>b", "”😀\t12"):
        assert words(text)["input_ids"] == tokenizer.encode(text)
        assert words.decode(tokenizer.encode(text)) == text
    assert words.eos_token_id == tokenizer.end_of_text_id and words.model_max_length == 32


def test_the_sixty_strings_in_an_export(shared, tmp_path):
    import tokenizers

    gpt2 = shared / "data/gpt2"
    ours = Tokenizer.from_files(gpt2 / "gpt2_vocab.json", gpt2 / "gpt2_merges.txt", ["<|endoftext|>"])
    folder = export_huggingface(make_run(ours, d_model=8, num_heads=2, d_ff=8), tmp_path / "exported")
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    cases = json.loads((shared / "cases/gpt2_encode.json").read_text(encoding="utf-8"))
    assert len(cases) == 60
    for case in cases:
        assert theirs.encode(case["text"]).ids == case["ids"]


@pytest.mark.parametrize(("fields", "dtype"), list(zip(KINDS, ["float32", "bf16"] * 2, strict=True)))
def test_there_and_back_and_there_is_the_same_byte_for_byte(fields, dtype, tokenizer, tmp_path):
    run = make_run(tokenizer, **fields)
    first = export_huggingface(run, tmp_path / "first", dtype=dtype, license="mit")
    back = load_run(write_run(read_huggingface_model(first), tmp_path / "run"))
    assert back.tokenizer.fingerprint == tokenizer.fingerprint
    if dtype == "float32":
        assert torch.equal(logits(back, some_ids(run)), logits(run, some_ids(run)))
    second = export_huggingface(back, tmp_path / "second", dtype=dtype)
    assert contents(second) == contents(first)


def test_weights_in_several_files(tokenizer, tmp_path):
    from safetensors.torch import load_file, save_file

    run = make_run(tokenizer, **GROUPED)
    folder = export_huggingface(run, tmp_path / "exported", dtype="bf16")
    whole = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    places = {name: f"model-{i % 3 + 1:05}-of-00003.safetensors" for i, name in enumerate(whole)}
    for file in set(places.values()):
        save_file({name: whole[name] for name in whole if places[name] == file}, folder / file)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}))
    found = read_huggingface_model(folder).weights["layers.1.attn.k_proj.weight"]
    expected = run.model.state_dict()["layers.1.attn.k_proj.weight"].bfloat16().float()
    assert torch.equal(found, expected)

    (folder / INDEX).write_text(json.dumps({"weight_map": places | {"lm_head.weight": "../elsewhere.safetensors"}}))
    with pytest.raises(CheckpointError, match=r"names '\.\./elsewhere\.safetensors', which is not a file beside it"):
        read_huggingface_model(folder)
    (folder / INDEX).write_text(json.dumps({"weight_map": places | {"lm_head.bias": places["lm_head.weight"]}}))
    with pytest.raises(CheckpointError, match=r"promises the tensor 'lm_head\.bias'"):
        read_huggingface_model(folder)
    (folder / places["lm_head.weight"]).unlink()
    (folder / INDEX).write_text(json.dumps({"weight_map": places}))
    with pytest.raises(CheckpointError, match="has no model-0000"):
        read_huggingface_model(folder)


def test_older_and_newer_words_for_the_rotation(exported, tmp_path):
    older = copied(exported, tmp_path / "older")
    fields = {"rope_theta": 777.0, "rope_parameters": None, "rope_scaling": None, "head_dim": None}
    assert read_huggingface_model(rewritten(older, **fields)).config.rope_theta == 777.0
    newer = {"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 888}}
    assert read_huggingface_model(rewritten(older, **newer)).config.rope_theta == 888.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_type": "gpt2"}, "is of the type 'gpt2'; only 'llama' is read"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rotations that are scaled or partial are not read"),
        ({"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}, "rotations that are scaled or partial"),
        ({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}}, "scaled or partial"),
        ({"rope_parameters": "default"}, "scaled or partial"),
        ({"rope_theta": "10000", "rope_parameters": None}, 'rope_theta in .* is "10000"; it must be a number'),
        ({"rms_norm_eps": -1}, "describes a model that cannot be: norm_eps is -1.0"),
        ({"hidden_act": "gelu"}, "hidden_act in .* is \"gelu\"; our model has 'silu'"),
        ({"attention_bias": True}, "attention_bias in .* is true; our model has False"),
        ({"mlp_bias": True}, "mlp_bias in .* is true"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"head_dim": 16}, "head_dim in .* is 16; our heads divide the width, 32 among 4"),
        ({"num_attention_heads": "many"}, 'num_attention_heads in .* is "many"; it must be a whole number above 0'),
        ({"num_attention_heads": 3, "head_dim": None}, "describes a model that cannot be: d_model is 32"),
        ({"vocab_size": 301}, "'model.embed_tokens.weight' in .* is \\(300, 32\\)"),
        ({"num_hidden_layers": 3}, "lacks the tensor 'model.layers.2.input_layernorm.weight'"),
        ({"num_hidden_layers": 10**12}, "has 21 tensors; that is too few for the 1000000000000 layers"),
        ({"num_hidden_layers": 1}, "no place for, 'model.layers.1"),
    ],
)
def test_what_our_model_would_compute_otherwise_is_refused(fields, message, exported):
    with pytest.raises(CheckpointError, match=message) as error:
        read_huggingface_model(rewritten(exported, **fields))
    assert "\n" not in str(error.value)


def test_damaged_folders_are_named(exported, tmp_path):
    for name, content, message in [
        ("config.json", b"{", "config.json' is not JSON"),
        ("config.json", b"[]", "holds no JSON object"),
        ("config.json", None, "cannot be read: No such file"),
        ("model.safetensors", b"short", "model.safetensors' is damaged"),
        ("model.safetensors", None, "has no model.safetensors"),
        ("tokenizer.json", None, "has no tokenizer.json; give one with --tokenizer"),
    ]:
        folder = copied(exported, tmp_path / f"damaged {len(list(tmp_path.iterdir()))}")
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(content)
        with pytest.raises(CheckpointError, match=message):
            read_huggingface_model(folder)
    folder = copied(exported, tmp_path / "pickled")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pytorch_model.bin, a pickle, is not read"):
        read_huggingface_model(folder)


def test_fewer_positions(exported):
    assert read_huggingface_model(exported, context_length=8).config.context_length == 8
    with pytest.raises(CheckpointError, match="is 32; 64 is more than that"):
        read_huggingface_model(exported, context_length=64)


def test_a_tokenizer_with_more_ids_than_rows_is_refused(exported, tmp_path):
    larger = Tokenizer({i: bytes([i]) for i in range(256)}, [], ["<|endoftext|>", *(f"<{i}>" for i in range(99))])
    larger.save(tmp_path / "tokenizer.json")
    with pytest.raises(CheckpointError, match="ids up to 355 and the model 300 rows"):
        write_run(read_huggingface_model(exported, tokenizer=tmp_path / "tokenizer.json"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_other_types_are_refused(tokenizer, tmp_path):
    with pytest.raises(ConfigError, match="dtype is 'int4'; a Hugging Face folder can have float32 or bf16"):
        export_huggingface(make_run(tokenizer), tmp_path / "out", dtype="int4")
