// Rows of queries, keys and values on their way between qkv and the scratch of causal attention: widened to float32,
// padded with zeros to whole vectors, turned by their positions. Internal linkage: see vec.hpp.
#pragma once

#include "kernels.hpp"
#include "tiles.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

// Blocks of so many queries by so many keys: a whole number of tiles either way.
constexpr std::size_t kBlock = 96;
static_assert(kBlock % kTileRows == 0 && kBlock % kTileColumns == 0);

// Scores are kept times log2(e): e^score is 2^that.
constexpr float kLog2E = 0x1.715476p+0f;

// The sizes of the scratch: rows of whole vectors, whole blocks of them.
struct Sizes {
    explicit Sizes(const AttentionShape& shape)
        : d_head(shape.d_head), stride(round_up(d_head, Floats::kWidth)), seq(round_up(shape.seq, kBlock)) {}

    std::size_t d_head;
    std::size_t stride;  // of a row, which ends in zeros
    std::size_t seq;
};

// Cosines and sines of each position as they meet a row: cosines twice, sines first with a minus.
struct Turns {
    const float* cos = nullptr;  // (seq, stride of the scratch); null: nothing is turned
    const float* sin = nullptr;

    Turns from(std::size_t position, std::size_t stride) const {
        return cos == nullptr ? *this : Turns{cos + position * stride, sin + position * stride};
    }
};

// Rows of one head in an array of several: row t begins at p + t * stride.
template <class Value>
struct Rows {
    Value* p;
    std::size_t stride;

    Value* row(std::size_t t) const { return p + t * stride; }
    Rows from(std::size_t t) const { return {row(t), stride}; }
};

// An array (batch, seq, heads, d_head).
template <class Value>
struct Heads {
    Value* p;
    std::size_t heads;
    const AttentionShape& shape;

    Rows<Value> of(std::size_t sequence, std::size_t head) const {
        return {p + (sequence * shape.seq * heads + head) * shape.d_head, heads * shape.d_head};
    }
};

// How the work is cut: by key/value heads, and each of those in parts where they are few. A part takes every
// `parts`-th block of queries, counted through the query heads that share the keys.
class Cut {
public:
    explicit Cut(const AttentionShape& shape)
        : shape_(shape), group_(shape.heads / shape.kv_heads), blocks_((shape.seq + kBlock - 1) / kBlock) {
        constexpr std::size_t kChunks = 16;
        constexpr std::size_t kBlocksOfPart = 8;  // enough to pay for packing the keys again
        const std::size_t pairs = shape.batch * shape.kv_heads;
        const std::size_t wanted = pairs == 0 ? 1 : (kChunks + pairs - 1) / pairs;
        const std::size_t most = group_ * blocks_ / kBlocksOfPart;
        parts_ = wanted < most ? wanted : (most == 0 ? 1 : most);
    }

    std::size_t num_chunks() const { return shape_.batch * shape_.kv_heads * parts_; }
    std::size_t parts() const { return parts_; }

    std::size_t sequence_of(std::size_t chunk) const { return chunk / parts_ / shape_.kv_heads; }
    std::size_t kv_head_of(std::size_t chunk) const { return chunk / parts_ % shape_.kv_heads; }

    // body(query head, first place, number of places) for each block of queries of a chunk.
    template <class Body>
    void for_each_block(std::size_t chunk, const Body& body) const {
        for (std::size_t i = chunk % parts_; i < group_ * blocks_; i += parts_) {
            const std::size_t first = i % blocks_ * kBlock;
            const std::size_t places = shape_.seq - first < kBlock ? shape_.seq - first : kBlock;
            body(kv_head_of(chunk) * group_ + i / blocks_, first, places);
        }
    }

private:
    const AttentionShape& shape_;
    std::size_t group_;
    std::size_t blocks_;
    std::size_t parts_;
};

// Writes the turns of all positions to two arrays of (seq, stride), one behind the other.
inline Turns spread_turns(const float* cos, const float* sin, std::size_t seq, const Sizes& sizes, float* to) {
    if (cos == nullptr) return {};
    const std::size_t half = sizes.d_head / 2, stride = sizes.stride;
    float* const cos_spread = to;
    float* const sin_spread = to + seq * stride;
    for (std::size_t t = 0; t < seq; ++t) {
        for (std::size_t k = 0; k < half; ++k) {
            const std::size_t i = t * stride + 2 * k;
            cos_spread[i] = cos_spread[i + 1] = cos[t * half + k];
            sin_spread[i] = -sin[t * half + k];
            sin_spread[i + 1] = sin[t * half + k];
        }
        for (std::size_t i = t * stride + 2 * half; i < (t + 1) * stride; ++i) cos_spread[i] = sin_spread[i] = 0;
    }
    return {cos_spread, sin_spread};
}

// Each pair of neighbours in exchanged order. A template, so that only the branch of this width is looked at.
template <class Lanes>
inline Lanes swap_neighbours(Lanes v) {
    if constexpr (sizeof v == 16) {
        return __builtin_shufflevector(v, v, 1, 0, 3, 2);
    } else if constexpr (sizeof v == 32) {
        return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
    } else {
        return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    }
}

constexpr std::size_t kFetchAhead = 8;

// `rows` rows of the source, turned and multiplied by `factor`, then rows of zeros up to padded_rows.
template <class Value>
inline void read_rows(Rows<const Value> source, std::size_t rows, std::size_t padded_rows, const Sizes& sizes,
                      Turns turns, float factor, float* to) {
    const std::size_t d_head = sizes.d_head, stride = sizes.stride;
    for (std::size_t t = 0; t < rows; ++t) {
        const Value* const x = source.row(t);
        const Turns turn = turns.from(t, stride);
        // The next rows are far apart in memory, each beyond what the processor would fetch by itself.
        if (t + kFetchAhead < rows) {
            const Value* const ahead = source.row(t + kFetchAhead);
            for (std::size_t i = 0; i < d_head; i += 64 / sizeof(Value)) __builtin_prefetch(ahead + i);
        }
        for_each_vector(d_head, [&](auto at) {
            Floats value = load(x, at);
            if (turn.cos != nullptr) {
                const Floats swapped{swap_neighbours(value.v)};
                value = fma(value, load(turn.cos, Whole{at.begin}), swapped * load(turn.sin, Whole{at.begin}));
            }
            store(to + t * stride, Whole{at.begin}, value * Floats::all(factor));
        });
    }
    for (std::size_t i = rows * stride; i < padded_rows * stride; i += Floats::kWidth) {
        store(to, Whole{i}, Floats::all(0));
    }
}

// Gradients of what read_rows gave, turned back: the gradients of what it read.
template <class Value>
inline void write_rows(const float* from, std::size_t rows, const Sizes& sizes, Turns turns, float factor,
                       Rows<Value> to) {
    const std::size_t stride = sizes.stride;
    for (std::size_t t = 0; t < rows; ++t) {
        Value* const x = to.row(t);
        const Turns turn = turns.from(t, stride);
        for_each_vector(sizes.d_head, [&](auto at) {
            Floats value = load(from + t * stride, Whole{at.begin});
            if (turn.cos != nullptr) {
                const Floats swapped{swap_neighbours((value * load(turn.sin, Whole{at.begin})).v)};
                value = fma(value, load(turn.cos, Whole{at.begin}), swapped);
            }
            store(x, at, value * Floats::all(factor));
        });
    }
}

// Scores from `visible` on become -infinity, as far as the vector of the first of them reaches.
inline void hide(float* scores, std::size_t visible) {
    constexpr std::size_t kWidth = Floats::kWidth;
    constexpr float kHidden = -__builtin_inff();
    // 0 for the widest vector, then -infinity for one.
    static constexpr float kMask[32] = {0,       0,       0,       0,       0,       0,       0,       0,
                                        0,       0,       0,       0,       0,       0,       0,       0,
                                        kHidden, kHidden, kHidden, kHidden, kHidden, kHidden, kHidden, kHidden,
                                        kHidden, kHidden, kHidden, kHidden, kHidden, kHidden, kHidden, kHidden};
    const std::size_t within = visible % kWidth;
    if (within == 0) return;
    const Whole at{visible - within};
    store(scores, at, load(scores, at) + load(kMask, Whole{16 - within}));
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
