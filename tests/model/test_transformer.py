"""The whole model: its parts by variant, what it may see, and that it equals models made elsewhere."""

import copy

import pytest
import torch
from torch import Tensor

from groundup.config import ModelConfig
from groundup.errors import ConfigError, DataError
from groundup.model.ops import mixed
from groundup.model.transformer import Block, TransformerLM

TINY = {"vocab_size": 50, "context_length": 16, "d_model": 24, "num_layers": 2, "num_heads": 4, "d_ff": 40}
VARIANTS = [
    {},
    {"norm": "post"},
    {"norm": "none"},
    {"positions": "none"},
    {"ffn": "silu"},
    {"tie_embeddings": True},
    {"num_kv_heads": 2},
    {"num_kv_heads": 1, "qk_norm": True, "norm": "post", "ffn": "silu", "tie_embeddings": True},
]


def tiny(**changes) -> TransformerLM:
    """A small model whose gains are not 1, so that none can be forgotten."""
    model = TransformerLM(ModelConfig(**{**TINY, **changes}))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.uniform_(0.5, 2)
    return model


def some_ids(*shape: int) -> Tensor:
    return torch.randint(0, TINY["vocab_size"], shape)


def layer_names(*names: str) -> set[str]:
    return {f"layers.{layer}.{name}.weight" for layer in range(2) for name in names}


BASE_NAMES = {"token_embeddings.weight", "lm_head.weight"} | layer_names(
    "attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.output_proj", "ffn.w1", "ffn.w2"
)


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, {"ln_final.weight"} | layer_names("ln1", "ln2", "ffn.w3")),
        ({"norm": "post", "ffn": "silu"}, layer_names("ln1", "ln2")),
        ({"norm": "none", "qk_norm": True}, layer_names("ffn.w3", "attn.q_norm", "attn.k_norm")),
    ],
)
def test_state_dict_names(changes, more):
    assert set(tiny(**changes).state_dict()) == BASE_NAMES | more


def test_base_configuration_has_the_specified_size():
    with torch.device("meta"):
        model = TransformerLM(ModelConfig())
    assert model.num_parameters() == 22_696_448
    assert model.num_parameters() - model.token_embeddings.weight.numel() == 17_576_448


@pytest.mark.parametrize("changes", VARIANTS)
def test_a_later_id_never_changes_earlier_logits(changes):
    torch.manual_seed(0)
    model, ids = tiny(**changes), some_ids(3, 12)
    before = model(ids)
    for place in (1, 6, 11):
        changed = ids.clone()
        changed[:, place] = (ids[:, place] + 1) % 50
        after = model(changed)
        assert torch.equal(after[:, :place], before[:, :place])
        assert not torch.allclose(after[:, place:], before[:, place:])


@pytest.mark.parametrize("changes", VARIANTS)
def test_every_parameter_gets_a_gradient(changes):
    torch.manual_seed(0)
    model, ids = tiny(**changes), some_ids(4, 12)
    model.ops.cross_entropy(model(ids), some_ids(4, 12)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("changes", [*VARIANTS, {"dropout": 0.3, "qk_norm": True}])
def test_computing_activations_again_changes_no_bit_and_holds_less(changes):
    """Dropout included, which has to fall the same way the second time."""

    def gradients(checkpoint_activations: bool) -> tuple[list[Tensor], int]:
        torch.manual_seed(0)
        model = TransformerLM(ModelConfig(**{**TINY, **changes}), checkpoint_activations=checkpoint_activations)
        held: dict[int, int] = {}

        def count(tensor: Tensor) -> Tensor:
            held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
            loss = model.ops.cross_entropy(model(some_ids(4, 12)), some_ids(4, 12))
        loss.backward()
        return [parameter.grad for parameter in model.parameters() if parameter.grad is not None], sum(held.values())

    (expected, held), (found, held_again) = gradients(False), gradients(True)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    assert held_again < held / 2


def test_gradients_equal_finite_differences():
    torch.manual_seed(0)
    model = tiny(num_layers=1, d_model=8, num_heads=2, d_ff=6, vocab_size=11, qk_norm=True).double()
    ids, targets = torch.randint(0, 11, (2, 5)), torch.randint(0, 11, (2, 5))
    names = [name for name, _ in model.named_parameters()]

    def loss(*values: Tensor) -> Tensor:
        logits = torch.func.functional_call(model, dict(zip(names, values, strict=True)), (ids,))
        return model.ops.cross_entropy(logits, targets)

    assert torch.autograd.gradcheck(loss, tuple(model.parameters()), fast_mode=True)


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (1, 2, 1)])
def test_any_number_of_leading_dimensions(leading):
    torch.manual_seed(0)
    model, ids = tiny(num_kv_heads=2), some_ids(*leading, 7)
    logits = model(ids)
    assert logits.shape == (*leading, 7, 50)
    alone = torch.stack([model(row) for row in ids.reshape(-1, 7)]).reshape(logits.shape)
    torch.testing.assert_close(logits, alone, rtol=1e-5, atol=1e-5)


def test_positions_are_an_argument_of_any_batch_shape():
    torch.manual_seed(0)
    model, ids = tiny(), some_ids(3, 6)
    plain = model(ids)
    torch.testing.assert_close(model(ids, positions=torch.arange(6)), plain)
    # Only distances count, so a shift of a row changes nothing; stretching one does.
    shifts = torch.tensor([[0], [4], [10]])
    torch.testing.assert_close(model(ids, positions=torch.arange(6) + shifts), plain, rtol=1e-4, atol=1e-5)
    stretched = model(ids, positions=2 * torch.arange(6))
    assert not torch.allclose(stretched, plain, atol=1e-3)


def test_without_positions_the_order_of_earlier_ids_is_unknown():
    torch.manual_seed(0)
    ids = some_ids(1, 6)
    swapped = ids[:, [1, 0, 3, 2, 4, 5]]
    for positions, same in (("none", True), ("rope", False)):
        model = tiny(positions=positions, num_layers=1)
        assert torch.allclose(model(ids)[:, -1], model(swapped)[:, -1], atol=1e-5) is same


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_where_the_norms_stand(norm):
    torch.manual_seed(0)
    block, x = Block(ModelConfig(**TINY, norm=norm)), torch.randn(2, 5, 24)
    attn, ffn = block.attn, block.ffn
    if norm == "pre":
        z = x + attn(block.ln1(x))
        expected = z + ffn(block.ln2(z))
    elif norm == "post":
        z = block.ln1(x + attn(x))
        expected = block.ln2(z + ffn(z))
    else:
        z = x + attn(x)
        expected = z + ffn(z)
    torch.testing.assert_close(block(x), expected)


def test_the_final_norm_and_the_head_follow_the_hidden_state():
    torch.manual_seed(0)
    model, ids = tiny(), some_ids(2, 5)
    torch.testing.assert_close(model.lm_head(model.hidden(ids)), model(ids))
    rms = model.hidden(ids).div(model.ln_final.weight).square().mean(dim=-1).sqrt()
    torch.testing.assert_close(rms, torch.ones(2, 5), rtol=1e-3, atol=1e-3)


def test_tied_embeddings_share_one_matrix_that_starts_small():
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=800, context_length=16, d_model=64, num_layers=1, num_heads=4, tie_embeddings=True)
    model = TransformerLM(config)
    assert model.lm_head.weight is model.token_embeddings.weight
    assert model.token_embeddings.weight.std().item() == pytest.approx(0.9866 * 64**-0.5, rel=0.02)
    assert model(torch.randint(0, 800, (2, 16))).std().item() == pytest.approx(1.0, rel=0.2)
    again = copy.deepcopy(model)
    assert again.lm_head.weight is again.token_embeddings.weight
    untied = TransformerLM(ModelConfig(**TINY))
    assert untied.lm_head.weight is not untied.token_embeddings.weight


def test_state_dict_round_trip():
    torch.manual_seed(0)
    source, target, ids = tiny(qk_norm=True), tiny(qk_norm=True), some_ids(2, 9)
    target.load_state_dict(source.state_dict())
    assert torch.equal(target(ids), source(ids))


def test_cast_to_bf16_keeps_positions_exact_and_loses_little():
    torch.manual_seed(0)
    model, ids = tiny(), some_ids(4, 16)
    narrow = copy.deepcopy(model).to(torch.bfloat16)
    assert narrow.rope is not None and narrow.rope.cos.dtype == torch.float32
    logits = narrow(ids)
    assert logits.dtype == torch.bfloat16
    assert (logits.float() - model(ids)).abs().mean() < 0.03 * model(ids).abs().mean()


def test_mixed_precision_keeps_masters_and_comes_close_to_float32():
    torch.manual_seed(0)
    wide = tiny(num_kv_heads=2)
    narrow = TransformerLM(wide.config, ops=mixed(torch.bfloat16))
    narrow.load_state_dict(wide.state_dict())
    ids, targets = some_ids(8, 16), some_ids(8, 16)
    losses = [model.ops.cross_entropy(model(ids), targets) for model in (wide, narrow)]
    assert narrow.hidden(ids).dtype == torch.float32 and narrow(ids).dtype == torch.bfloat16
    assert losses[1].dtype == torch.float32
    assert losses[1].item() == pytest.approx(losses[0].item(), rel=2e-3)
    for loss in losses:
        loss.backward()
    for (name, ours), theirs in zip(narrow.named_parameters(), wide.parameters(), strict=True):
        assert ours.dtype == torch.float32 and ours.grad is not None and theirs.grad is not None
        assert (ours.grad - theirs.grad).norm() < 0.03 * theirs.grad.norm(), name


def test_dropout_acts_in_training_only():
    torch.manual_seed(0)
    model, ids = tiny(dropout=0.3), some_ids(2, 8)
    assert not torch.equal(model(ids), model(ids))
    torch.manual_seed(1)
    first = model(ids)
    torch.manual_seed(1)
    assert torch.equal(model(ids), first)  # and its randomness is torch's seeded one
    model.eval()
    assert torch.equal(model(ids), model(ids))


def test_the_same_seed_gives_the_same_model():
    models = []
    for _ in range(2):
        torch.manual_seed(5)
        models.append(TransformerLM(ModelConfig(**TINY)))
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(one, other)


def test_what_cannot_work_is_refused_in_one_sentence():
    with pytest.raises(ConfigError, match="vocab_size is 0"):
        TransformerLM(ModelConfig(vocab_size=0))
    with pytest.raises(DataError, match="17 ids and the model's context_length is 16"):
        tiny()(some_ids(1, 17))


def to_halves(weight: Tensor, heads: int) -> Tensor:
    """Rows of a q or k projection for models that rotate x[k] with x[k + d_head / 2]."""
    return weight.unflatten(0, (heads, -1, 2)).transpose(1, 2).reshape(weight.shape)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("Llama", {}),
        ("Llama", {"num_kv_heads": 2, "rope_theta": 500.0}),
        ("Llama", {"num_kv_heads": 1, "tie_embeddings": True}),
        ("Qwen3", {"num_kv_heads": 2, "qk_norm": True}),
    ],
)
def test_logits_equal_those_of_transformers(kind, changes):
    """Weights copied into LlamaForCausalLM (Qwen3 has the norm of queries and keys): the same logits."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    model = tiny(norm_eps=1e-4, **changes)
    config = model.config
    theirs = getattr(transformers, f"{kind}ForCausalLM")(
        getattr(transformers, f"{kind}Config")(
            vocab_size=config.vocab_size,
            hidden_size=config.d_model,
            intermediate_size=config.ffn_width,
            num_hidden_layers=config.num_layers,
            num_attention_heads=config.num_heads,
            num_key_value_heads=config.kv_heads,
            head_dim=config.d_head,
            max_position_embeddings=config.context_length,
            rms_norm_eps=config.norm_eps,
            rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
            tie_word_embeddings=config.tie_embeddings,
        )
    )
    renamed = {
        "attn.output_proj": "self_attn.o_proj",
        "attn.": "self_attn.",
        "ffn.w1": "mlp.gate_proj",
        "ffn.w2": "mlp.down_proj",
        "ffn.w3": "mlp.up_proj",
        "ln1": "input_layernorm",
        "ln2": "post_attention_layernorm",
        "ln_final": "norm",
        "token_embeddings": "embed_tokens",
    }
    weights = {}
    for name, value in model.state_dict().items():
        if "attn.q_" in name or "attn.k_" in name:
            heads = {"q_proj": config.num_heads, "k_proj": config.kv_heads}.get(name.split(".")[-2], 1)
            value = to_halves(value, heads)
        for our, their in renamed.items():
            name = name.replace(our, their) if "self_attn" not in name else name
        weights[name if name.startswith("lm_head") else f"model.{name}"] = value
    theirs.load_state_dict(weights)
    ids = some_ids(3, 16)
    torch.testing.assert_close(model(ids), theirs(ids).logits, rtol=0, atol=1e-4)
