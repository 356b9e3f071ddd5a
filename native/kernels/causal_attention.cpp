// Rotation and causal attention without the matrix of scores, forward. Twins: model/ops.py, causal_attention.
//
// Dao et al. 2022, FlashAttention (arXiv:2205.14135): blocks of queries by blocks of keys, with the largest score and
// the sum of exponentials of each query so far. A thread turns and packs the keys and values of a head once and then
// goes through the queries of all heads that share them; of a block on the diagonal only the tiles that a query of
// theirs may see are computed.
#include <math.h>

#include "attention_rows.hpp"
#include "chunks.hpp"
#include "exp2.hpp"
#include "variant.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

namespace {

// What a thread works on, in scratch of its own.
struct Workspace {
    static std::size_t size(const Sizes& sizes) {
        return 2 * sizes.seq * sizes.stride + 2 * kBlock * sizes.stride + kTileRows * kBlock +
               kBlock * Floats::kWidth + kBlock;
    }
    Workspace(float* p, const Sizes& sizes)
        : key_panels(p), values(key_panels + sizes.seq * sizes.stride), queries(values + sizes.seq * sizes.stride),
          gathered(queries + kBlock * sizes.stride), scores(gathered + kBlock * sizes.stride),
          totals(scores + kTileRows * kBlock), largest(totals + kBlock * Floats::kWidth) {}

    float* key_panels;  // turned
    float* values;      // (seq, d_head)
    float* queries;     // (kBlock, d_head), turned and multiplied by d_head^-0.5 log2(e)
    float* gathered;    // (kBlock, d_head): the sum of values by exponentials
    float* scores;      // (kTileRows, kBlock), then their exponentials
    float* totals;      // (kBlock, a vector): the sum of exponentials, still in the places of a vector
    float* largest;     // (kBlock)
};

// A row of scores becomes 2^(score - the largest so far); what was gathered before is brought to that measure. The
// places from `visible` to `computed`, whole vectors, become 0.
inline void exponentiate(float* scores, std::size_t visible, std::size_t computed, float& largest_so_far,
                         float* total, float* gathered, std::size_t stride) {
    hide(scores, visible);
    const std::size_t end = round_up(visible, Floats::kWidth);
    Floats most = Floats::all(largest_so_far);
    for (std::size_t i = 0; i < end; i += Floats::kWidth) most = max(load(scores, Whole{i}), most);
    const float shift = largest(most);
    Floats sum = load(total, Whole{0});
    if (shift != largest_so_far) {
        const Floats shrink = exp2(Floats::all(largest_so_far - shift));
        sum = sum * shrink;
        for (std::size_t i = 0; i < stride; i += Floats::kWidth) {
            store(gathered, Whole{i}, load(gathered, Whole{i}) * shrink);
        }
        largest_so_far = shift;
    }
    for (std::size_t i = 0; i < end; i += Floats::kWidth) {
        const Floats e = exp2(load(scores, Whole{i}) - Floats::all(shift));
        store(scores, Whole{i}, e);
        sum = sum + e;
    }
    for (std::size_t i = end; i < computed; i += Floats::kWidth) store(scores, Whole{i}, Floats::all(0));
    store(total, Whole{0}, sum);
}

// Gathers for the queries of a block, which begins at place `first` and has so many rows, tiles of them.
inline void gather(const Workspace& work, std::size_t first, std::size_t rows, const Sizes& sizes) {
    const std::size_t stride = sizes.stride;
    constexpr float kLowest = -0x1.fffffep+127f;  // not -infinity: a row of -infinity has exponentials of 0, not NaN
    for (std::size_t i = 0; i < rows; ++i) work.largest[i] = kLowest;
    for (std::size_t i = 0; i < rows * Floats::kWidth; ++i) work.totals[i] = 0;
    for (std::size_t i = 0; i < rows * stride; ++i) work.gathered[i] = 0;
    for (std::size_t key = 0; key < first + rows; key += kBlock) {
        for (std::size_t row = 0; row < rows; row += kTileRows) {
            // Tiles do not cross blocks: every row of one sees the first key of a block, or none does.
            const std::size_t end = first + row + kTileRows;
            const std::size_t keys = end - key < kBlock ? end - key : kBlock;
            multiply_panels(ByRows{work.queries + row * stride, stride}, work.key_panels + key * sizes.d_head,
                            sizes.d_head, keys, work.scores, kBlock);
            for (std::size_t i = row; i < row + kTileRows; ++i) {
                const std::size_t visible = first + i + 1 - key < keys ? first + i + 1 - key : keys;
                exponentiate(work.scores + (i - row) * kBlock, visible, round_up(keys, kTileColumns), work.largest[i],
                             work.totals + i * Floats::kWidth, work.gathered + i * stride, stride);
            }
            multiply_rows<Into::kAdd>(ByRows{work.scores, kBlock}, work.values + key * stride, stride, keys,
                                      stride, work.gathered + row * stride, stride);
        }
    }
}

}  // namespace

void exp2_each(const Exp& a) {
    for_each_vector(a.size, [&](auto at) { store(a.y, at, exp2(load(a.x, at))); });
}

template <class Value>
void causal_attention(const CausalAttention<Value>& a) {
    const AttentionShape& shape = a.shape;
    const Sizes sizes(shape);
    const Heads<const Value> qkv{a.qkv, shape.heads + 2 * shape.kv_heads, shape};
    const Heads<Value> out{a.out, shape.heads, shape};
    const Scratch spread(a.cos == nullptr ? 0 : 2 * shape.seq * sizes.stride);
    const Turns turns = spread_turns(a.cos, a.sin, shape.seq, sizes, spread.data());
    const Scratch scratch(a.num_threads * Workspace::size(sizes));
    const float scale = kLog2E / __builtin_sqrtf(static_cast<float>(shape.d_head));
    const Cut cut(shape);
    for_each_chunk(cut.num_chunks(), a.num_threads, [&](std::size_t chunk, std::size_t thread) {
        const Workspace work(scratch.data() + thread * Workspace::size(sizes), sizes);
        const std::size_t sequence = cut.sequence_of(chunk);
        const std::size_t key_head = shape.heads + cut.kv_head_of(chunk);
        read_rows(qkv.of(sequence, key_head), shape.seq, sizes.seq, sizes, turns, 1, work.values);
        pack_panels(work.values, sizes.stride, sizes.seq, shape.d_head, work.key_panels);
        read_rows(qkv.of(sequence, key_head + shape.kv_heads), shape.seq, sizes.seq, sizes, Turns{}, 1, work.values);
        cut.for_each_block(chunk, [&](std::size_t head, std::size_t first, std::size_t places) {
            const std::size_t rows = round_up(places, kTileRows);
            read_rows(qkv.of(sequence, head).from(first), places, rows, sizes,
                      turns.from(first, sizes.stride), scale, work.queries);
            gather(work, first, rows, sizes);
            const Rows<Value> to = out.of(sequence, head).from(first);
            float* const log2_sum = a.log2_sum + (sequence * shape.heads + head) * shape.seq + first;
            for (std::size_t i = 0; i < places; ++i) {
                // At least 2^0, except where all scores are -infinity: there nothing was gathered.
                float total = sum(load(work.totals + i * Floats::kWidth, Whole{0}));
                total = total < 1 ? 1 : total;
                const Floats factor = Floats::all(1 / total);
                const float* const gathered = work.gathered + i * sizes.stride;
                for_each_vector(shape.d_head, [&](auto at) {
                    store(to.row(i), at, load(gathered, Whole{at.begin}) * factor);
                });
                log2_sum[i] = work.largest[i] + log2f(total);
            }
        });
    });
}

template void causal_attention(const CausalAttention<float>&);
template void causal_attention(const CausalAttention<Bf16>&);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
