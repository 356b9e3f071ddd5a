// Causal attention: what kernels.hpp says of the others.
#pragma once

#include <cstddef>

namespace groundup::kernels {

struct AttentionShape {
    std::size_t batch;
    std::size_t seq;
    std::size_t heads;     // of queries
    std::size_t kv_heads;  // of keys and of values; divides heads
    std::size_t d_head;    // even; fastest where it is a multiple of a vector
};

// For each query head, with q and k turned by their positions: out_i = sum over j <= i of p_ij v_j, where
// p_ij = e^s_ij / sum over j <= i of e^s_ij, s_ij = q_i . k_j / sqrt(d_head). Query head h reads key/value head
// h / (heads / kv_heads). Work seq^2 d_head, memory seq. Twin: model/ops.py, causal_attention.
template <class Value>
struct CausalAttention {
    const Value* qkv;  // (batch, seq, heads + 2 kv_heads, d_head): queries, keys, values
    const float* cos;  // (seq, d_head / 2), as of RotaryEmbedding; null: nothing is turned
    const float* sin;
    Value* out;  // (batch, seq, heads, d_head)
    float* log2_sum;  // (batch, heads, seq): log2 of the sum over j of e^s_ij, which the backward pass takes
    AttentionShape shape;
    std::size_t num_threads;  // at least 1
};

// With g = out_gradient: the gradient of v_j is the sum over i of p_ij g_i, that of s_ij is
// p_ij (g_i . v_j - g_i . out_i), and from it those of q and k, turned back.
template <class Value>
struct CausalAttentionBackward {
    const Value* qkv;
    const float* cos;
    const float* sin;
    const Value* out;  // of the forward pass
    const float* log2_sum;
    const Value* out_gradient;  // (batch, seq, heads, d_head)
    Value* qkv_gradient;        // as qkv
    AttentionShape shape;
    std::size_t num_threads;  // at least 1
};

}  // namespace groundup::kernels
