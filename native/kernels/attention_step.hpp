// Attention of one position to those that are kept, for the query heads that share a key/value head. Internal linkage:
// see vec.hpp. Twins: model/ops.py, scaled_dot_product_attention; model/rope.py, rotate.
//
// Keys lie in panels of positions and values in panels of components, so that both products are those of panels.hpp.
#pragma once

#include "panels.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

// Places beyond a Part are -infinity, whose exponential is 0.
inline Floats load_or_lowest(const float* p, Whole at) { return load(p, at); }
inline Floats load_or_lowest(const float* p, Part at) {
    float row[Floats::kWidth];
    for (float& value : row) value = -__builtin_inff();
    __builtin_memcpy(row, p + at.begin, at.count * sizeof(float));
    return load(row, Whole{0});
}

inline float largest_of(const float* p, std::size_t size) {
    return largest(fold(size, Floats::all(-__builtin_inff()),
                        [&](auto at, Floats so_far) { return max(load_or_lowest(p, at), so_far); },
                        [](Floats a, Floats b) { return max(a, b); }));
}

struct Turn {
    const float* cos;  // (d_head / 2)
    const float* sin;
};

struct HeadCache {
    float* keys;    // positions / kPanel panels of (d_head, kPanel)
    float* values;  // d_head / kPanel panels of (max_length, kPanel)
    std::size_t max_length;
};

// x with each pair of neighbours turned, as put(component, value) takes it.
template <class Put>
inline void turn_pairs(const float* x, std::size_t d_head, Turn turn, const Put& put) {
    for (std::size_t k = 0; k < d_head / 2; ++k) {
        const float even = x[2 * k], odd = x[2 * k + 1];
        put(2 * k, even * turn.cos[k] - odd * turn.sin[k]);
        put(2 * k + 1, even * turn.sin[k] + odd * turn.cos[k]);
    }
}

// Puts the key and the value of a position, from its row of qkv, among those kept.
inline void keep(const DecoderShape& shape, Turn turn, std::size_t position, std::size_t kv_head, const float* qkv,
                 const HeadCache& kept) {
    const std::size_t d_head = shape.d_head;
    float* const keys = kept.keys + position / kPanel * d_head * kPanel + position % kPanel;
    turn_pairs(qkv + (shape.heads + kv_head) * d_head, d_head, turn,
               [&](std::size_t i, float value) { keys[i * kPanel] = value; });
    const float* const value = qkv + (shape.heads + shape.kv_heads + kv_head) * d_head;
    for (std::size_t i = 0; i < d_head; ++i) {
        kept.values[i / kPanel * kept.max_length * kPanel + position * kPanel + i % kPanel] = value[i];
    }
}

constexpr std::size_t attention_scratch(const DecoderShape& shape, std::size_t max_length) {
    return shape.heads / shape.kv_heads * (shape.d_head + in_panels(max_length) + in_panels(shape.d_head) + 1);
}

// What the query heads of a position gather, to its row (heads, d_head) of `gathered`.
inline void gather(const DecoderShape& shape, Turn turn, std::size_t position, std::size_t kv_head, const float* qkv,
                   const HeadCache& kept, float* scratch, float* gathered) {
    const std::size_t d_head = shape.d_head, group = shape.heads / shape.kv_heads, visible = position + 1;
    const std::size_t scores_stride = in_panels(kept.max_length), sums_stride = in_panels(d_head);
    float* const queries = scratch;
    float* const scores = queries + group * d_head;
    float* const sums = scores + group * scores_stride;
    float* const shares = sums + group * sums_stride;
    const float scale = 1 / __builtin_sqrtf(static_cast<float>(d_head));
    for (std::size_t i = 0; i < group; ++i) {
        turn_pairs(qkv + (kv_head * group + i) * d_head, d_head, turn,
                   [&](std::size_t k, float value) { queries[i * d_head + k] = value * scale; });
    }
    const Panels<float> keys{kept.keys, d_head * kPanel, d_head};
    multiply(Left{queries, d_head}, group, keys, in_panels(visible) / kPanel, scores, scores_stride);
    const Panels<float> values{kept.values, kept.max_length * kPanel, visible};
    float* const out = gathered + kv_head * group * d_head;
    for (std::size_t i = 0; i < group; ++i) {
        float* const row = scores + i * scores_stride;
        const float most = largest_of(row, visible);
        const float total = sum_over(visible, [&](auto at, Floats so_far) {
            const Floats e = exp(load_or_lowest(row, at) - Floats::all(most));
            store(row, at, e);
            return so_far + e;
        });
        shares[i] = 1 / total;
    }
    multiply(Left{scores, scores_stride}, group, values, sums_stride / kPanel, sums, sums_stride);
    for (std::size_t i = 0; i < group; ++i) {
        const float* const row = sums + i * sums_stride;
        const Floats factor = Floats::all(shares[i]);
        for_each_vector(d_head, [&](auto at) { store(out + i * d_head, at, load(row, at) * factor); });
    }
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
