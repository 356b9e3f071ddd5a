"""llama2.c's files: a model of its own writes its text, and ours come back as they were."""

import struct

import numpy as np
import pytest
import torch
from interop.models import GROUPED, KINDS, TIED, contents, logits, make_run, some_ids

from groundup.checkpoint import load_run
from groundup.errors import CheckpointError, ConfigError, TokenizerError
from groundup.generation.text import generate
from groundup.interop.llama import weights_of
from groundup.interop.llama2c import export_llama2c, read_llama2c_model, rotation_tables
from groundup.interop.llama2c_tokenizer import layout
from groundup.interop.runs import write_run


@pytest.fixture(scope="module")
def stories(shared, tmp_path_factory):
    """The model of llama2.c and its tokenizer, as a run."""
    folder = shared / "data/llama2c"
    imported = read_llama2c_model(folder / "stories260K.bin", tokenizer=folder / "tok512.bin")
    return load_run(write_run(imported, tmp_path_factory.mktemp("stories") / "run"))


def test_a_model_of_llama2c_writes_its_text(stories, shared):
    # llama2.c prints no space at the beginning of a text, and a line break after it.
    expected = " " + (shared / "data/llama2c/expected_greedy.txt").read_text(encoding="utf-8").removesuffix("\n")
    # The whole text in one pass: after each of its ids the next is the likeliest.
    ids = stories.tokenizer.encode(expected)
    assert len(ids) == 200 and stories.tokenizer.end_of_text_id == 1
    assert logits(stories, torch.tensor([1, *ids[:-1]])).argmax(-1).tolist() == ids
    (found,) = generate(stories, "", max_tokens=20, temperature=0.0)
    assert found.ids == ids[:20] and expected.startswith(found.text)


def test_a_model_of_llama2c_goes_back_byte_for_byte(stories, shared, tmp_path):
    back = contents(export_llama2c(stories, tmp_path / "back"))
    tables = slice(-4 * rotation_tables(stories.model.config).numel(), None)
    theirs = (shared / "data/llama2c/stories260K.bin").read_bytes()
    assert back["model.bin"][: tables.start] == theirs[: tables.start]
    # Nobody reads the tables; a cosine may differ in its last bit between machines.
    ours, stored = (np.frombuffer(content[tables], "<f4") for content in (back["model.bin"], theirs))
    np.testing.assert_allclose(ours, stored, atol=1e-6)
    assert back["tokenizer.bin"] == (shared / "data/llama2c/tok512.bin").read_bytes()


@pytest.mark.parametrize("fields", KINDS)
def test_there_and_back_and_there_is_the_same_byte_for_byte(fields, tokenizer, tmp_path):
    run = make_run(tokenizer, **fields)
    first = export_llama2c(run, tmp_path / "first")
    back = load_run(write_run(read_llama2c_model(first), tmp_path / "run"))
    assert contents(export_llama2c(back, tmp_path / "second")) == contents(first)
    # Its ids are ours in another order: the same text gets the same logits.
    order = torch.tensor(layout(tokenizer, 300))
    place = torch.empty(300, dtype=torch.int64)
    place[order] = torch.arange(300)
    ids = some_ids(run)
    assert torch.equal(logits(back, place[ids]), logits(run, ids)[..., order])
    assert back.tokenizer.end_of_text_id == 1 == place[tokenizer.end_of_text_id]
    assert all(back.tokenizer.vocab[int(place[id])] == token for id, token in tokenizer.vocab.items())


def test_the_header_says_whose_the_head_is(tokenizer, tmp_path):
    for fields, vocab_size in (({}, -300), (TIED, 300)):
        folder = export_llama2c(make_run(tokenizer, **GROUPED, **fields), tmp_path / str(vocab_size))
        header = struct.unpack("<7i", (folder / "model.bin").read_bytes()[:28])
        assert header == (32, 96, 2, 4, 2, vocab_size, 32)


def test_version_1_is_read(tokenizer, tmp_path):
    """The norms first, then each matrix of all layers, after a header of 256 bytes."""
    run = make_run(tokenizer, **GROUPED)
    weights, parts = weights_of(run.model), []
    for part in ("ln1", "ln2", "ln_final", "token_embeddings", "attn.q_proj", "attn.k_proj", "attn.v_proj",
                 "attn.output_proj", "ffn.w1", "ffn.w2", "ffn.w3", "lm_head"):  # fmt: skip
        parts += [tensor.numpy().tobytes() for name, tensor in weights.items() if name.endswith(f"{part}.weight")]
    header = struct.pack("<4s8i?", b"24ka", 1, 32, 96, 2, 4, 2, 300, 32, False)
    (tmp_path / "model.bin").write_bytes(header.ljust(256, b"\0") + b"".join(parts))
    tokenizer.save(tmp_path / "tokenizer.json")
    imported = read_llama2c_model(tmp_path / "model.bin", tokenizer=tmp_path / "tokenizer.json")
    assert imported.config == run.model.config
    assert all(torch.equal(imported.weights[name], tensor) for name, tensor in weights.items())
    (tmp_path / "model.bin").write_bytes(struct.pack("<4si", b"24ka", 2).ljust(256, b"\0"))
    with pytest.raises(CheckpointError, match=r"a llama2\.c file of version 2; versions 0 and 1 are read"):
        read_llama2c_model(tmp_path / "model.bin", tokenizer=tmp_path / "tokenizer.json")


def test_damaged_models_get_one_sentence(tokenizer, tmp_path):
    folder = export_llama2c(make_run(tokenizer), tmp_path / "exported")
    path = folder / "model.bin"
    whole = path.read_bytes()
    for content, message in [
        (b"", "it has 0 bytes"),
        (whole[:-4], f"has {len(whole) - 4:,} bytes; the model of its header has {len(whole):,}"),
        (struct.pack("<7i", 32, 96, 2, 5, 2, 300, 32) + whole[28:], "describes a model that cannot be"),
        (struct.pack("<7i", 32, 96, 1 << 24, 4, 4, 300, 32) + whole[28:], "the 16,777,216 layers of its header have"),
        (b"some other file of two hundred and fifty-six bytes" * 9, "its header says"),
    ]:
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=message) as error:
            read_llama2c_model(folder)
        assert "\n" not in str(error.value)
    path.write_bytes(whole)
    (folder / "tokenizer.bin").unlink()
    with pytest.raises(CheckpointError, match=r"no tokenizer\.bin beside"):
        read_llama2c_model(folder)
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        read_llama2c_model(tmp_path / "missing.bin")


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"rope_theta": 500.0}, "rope_theta is 500, and"), ({"norm_eps": 1e-6}, "norm_eps is 1e-06")],
)
def test_what_is_built_into_llama2c_cannot_be_otherwise(fields, message, tokenizer, tmp_path):
    with pytest.raises(ConfigError, match=message):
        export_llama2c(make_run(tokenizer, **fields), tmp_path / "out")


def test_tokenizers_without_what_is_built_into_llama2c(tokenizer):
    from groundup.tokenizer.bpe import Tokenizer

    letters = {i: bytes([i]) for i in range(256)}
    for lacking, message in [
        (Tokenizer(letters, []), "has no <|endoftext|>"),
        (Tokenizer({i: letters[i] for i in range(200)}, [], ["<|endoftext|>"]), "lacks a token for byte 200"),
        (Tokenizer(letters, [], ["<|endoftext|>"]), "has 257 entries; llama2.c needs at least 259"),
    ]:
        with pytest.raises(TokenizerError, match=message.replace("|", r"\|")):
            layout(lacking, lacking.vocab_size)
