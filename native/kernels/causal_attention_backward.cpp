// Rotation and causal attention without the matrix of scores, backward. Twins: model/ops.py, causal_attention.
//
// Dao et al. 2022, FlashAttention (arXiv:2205.14135), algorithm 4: the exponentials come again from the scores and the
// logarithms of their sums. A thread keeps the gradients of a head's keys and values while it goes through the queries
// of all heads that share them; where a head is cut in parts, each has gradients of its own, which are added in order.
#include "attention_rows.hpp"
#include "chunks.hpp"
#include "exp2.hpp"
#include "variant.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

namespace {

// What a thread works on, in scratch of its own.
struct Workspace {
    static std::size_t size(const Sizes& sizes) {
        return 3 * sizes.seq * sizes.stride + 3 * kBlock * sizes.stride + 2 * kBlock * kBlock + 2 * kBlock;
    }
    Workspace(float* p, const Sizes& sizes)
        : keys(p), key_panels(keys + sizes.seq * sizes.stride),
          value_panels(key_panels + sizes.seq * sizes.stride), queries(value_panels + sizes.seq * sizes.stride),
          out_gradients(queries + kBlock * sizes.stride), query_gradients(out_gradients + kBlock * sizes.stride),
          weights(query_gradients + kBlock * sizes.stride), score_gradients(weights + kBlock * kBlock),
          log2_sum(score_gradients + kBlock * kBlock), out_products(log2_sum + kBlock) {}

    float* keys;  // (seq, d_head), turned
    float* key_panels;
    float* value_panels;
    float* queries;          // (kBlock, d_head), turned and multiplied by d_head^-0.5 log2(e)
    float* out_gradients;    // (kBlock, d_head)
    float* query_gradients;  // (kBlock, d_head)
    float* weights;          // (kBlock, kBlock), queries by keys: scores, then 2^(score - log2_sum)
    float* score_gradients;  // (kBlock, kBlock): first the gradients of the weights
    float* log2_sum;      // (kBlock)
    float* out_products;     // (kBlock): out . its gradient, which is what the softmax takes off each gradient
};

// The gradients of a head's keys and values, (seq, d_head) each.
struct KeyValueGradients {
    KeyValueGradients(float* p, const Sizes& sizes) : keys(p), values(p + sizes.seq * sizes.stride) {}
    static std::size_t size(const Sizes& sizes) { return 2 * sizes.seq * sizes.stride; }

    float* keys;
    float* values;
};

// A block of queries: `count` of them from place `first` of a head on.
struct Place {
    std::size_t sequence;
    std::size_t head;
    std::size_t first;
    std::size_t count;
};

// A row of scores becomes weights, one of their gradients the gradients of the scores. The places from `visible` to
// `computed`, whole vectors, become 0.
inline void differentiate(float* weights, float* gradients, std::size_t visible, std::size_t computed,
                          float log2_sum, float out_product) {
    hide(weights, visible);
    const std::size_t end = round_up(visible, Floats::kWidth);
    for (std::size_t i = 0; i < end; i += Floats::kWidth) {
        const Floats weight = exp2(load(weights, Whole{i}) - Floats::all(log2_sum));
        store(weights, Whole{i}, weight);
        store(gradients, Whole{i}, weight * (load(gradients, Whole{i}) - Floats::all(out_product)));
    }
    for (std::size_t i = end; i < computed; i += Floats::kWidth) {
        store(weights, Whole{i}, Floats::all(0));
        store(gradients, Whole{i}, Floats::all(0));
    }
}

// Adds to the gradients what a block of queries by the block of keys from `key` on gives. The queries begin at place
// `first` and are so many rows, tiles of them.
inline void add_gradients(const Workspace& work, const KeyValueGradients& gradients, std::size_t key,
                          std::size_t first, std::size_t rows, const Sizes& sizes) {
    const std::size_t d_head = sizes.d_head, stride = sizes.stride;
    // Tiles do not cross blocks: every row of one sees the first key of a block, or none does.
    for (std::size_t row = 0; row < rows; row += kTileRows) {
        const std::size_t end = first + row + kTileRows;
        const std::size_t keys = end - key < kBlock ? end - key : kBlock;
        float* const weights = work.weights + row * kBlock;
        float* const score_gradients = work.score_gradients + row * kBlock;
        multiply_panels(ByRows{work.queries + row * stride, stride}, work.key_panels + key * d_head, d_head, keys,
                        weights, kBlock);
        multiply_panels(ByRows{work.out_gradients + row * stride, stride}, work.value_panels + key * d_head, d_head,
                        keys, score_gradients, kBlock);
        for (std::size_t i = 0; i < kTileRows; ++i) {
            const std::size_t visible = first + row + i + 1 - key < keys ? first + row + i + 1 - key : keys;
            differentiate(weights + i * kBlock, score_gradients + i * kBlock, visible, round_up(keys, kTileColumns),
                          work.log2_sum[row + i], work.out_products[row + i]);
        }
        multiply_rows<Into::kAdd>(ByRows{score_gradients, kBlock}, work.keys + key * stride, stride, keys, stride,
                                  work.query_gradients + row * stride, stride);
    }
    const std::size_t end = first + rows - key < kBlock ? first + rows - key : kBlock;
    for (std::size_t i = 0; i < end; i += kTileRows) {
        // The first row of the tiles that see these keys.
        const std::size_t row = key + i > first ? key + i - first : 0;
        const std::size_t place = (key + i) * stride;
        multiply_rows<Into::kAdd>(ByColumns{work.weights + row * kBlock + i, kBlock},
                                  work.out_gradients + row * stride, stride, rows - row, stride,
                                  gradients.values + place, stride);
        multiply_rows<Into::kAdd>(ByColumns{work.score_gradients + row * kBlock + i, kBlock},
                                  work.queries + row * stride, stride, rows - row, stride, gradients.keys + place,
                                  stride);
    }
}

// Reads a block of queries with what belongs to them, zeros up to `rows`; their own gradients start at 0.
template <class Value>
inline void read_block(const CausalAttentionBackward<Value>& a, const Sizes& sizes, Turns turns, float scale,
                       const Place& place, std::size_t rows, const Workspace& work) {
    const AttentionShape& shape = a.shape;
    const Heads<const Value> qkv{a.qkv, shape.heads + 2 * shape.kv_heads, shape};
    const Heads<const Value> out_heads{a.out, shape.heads, shape};
    const Heads<const Value> gradient_heads{a.out_gradient, shape.heads, shape};
    read_rows(qkv.of(place.sequence, place.head).from(place.first), place.count, rows, sizes, turns, scale * kLog2E,
              work.queries);
    read_rows(gradient_heads.of(place.sequence, place.head).from(place.first), place.count, rows, sizes, Turns{}, 1,
              work.out_gradients);
    const Rows<const Value> out = out_heads.of(place.sequence, place.head).from(place.first);
    const float* const log2_sum = a.log2_sum + (place.sequence * shape.heads + place.head) * shape.seq + place.first;
    for (std::size_t i = 0; i < rows; ++i) {
        const bool exists = i < place.count;
        work.log2_sum[i] = exists ? log2_sum[i] : 0;
        work.out_products[i] = !exists ? 0 : sum_over(sizes.d_head, [&](auto at, Floats so_far) {
            return fma(load(out.row(i), at), load(work.out_gradients + i * sizes.stride, at), so_far);
        });
    }
    for (std::size_t i = 0; i < rows * sizes.stride; ++i) work.query_gradients[i] = 0;
}

}  // namespace

template <class Value>
void causal_attention_backward(const CausalAttentionBackward<Value>& a) {
    const AttentionShape& shape = a.shape;
    const Sizes sizes(shape);
    const Heads<const Value> qkv{a.qkv, shape.heads + 2 * shape.kv_heads, shape};
    const Heads<Value> qkv_gradient{a.qkv_gradient, shape.heads + 2 * shape.kv_heads, shape};
    const Scratch spread(a.cos == nullptr ? 0 : 2 * shape.seq * sizes.stride);
    const Turns turns = spread_turns(a.cos, a.sin, shape.seq, sizes, spread.data());
    const float scale = 1 / __builtin_sqrtf(static_cast<float>(shape.d_head));

    const Cut cut(shape);
    const Scratch scratch(a.num_threads * Workspace::size(sizes));
    // One for each thread, or for each chunk where they have to be added up.
    const std::size_t sums_size = KeyValueGradients::size(sizes);
    const Scratch sums((cut.parts() == 1 ? a.num_threads : cut.num_chunks()) * sums_size);
    const auto write_key_values = [&](float* sum, std::size_t chunk) {
        const KeyValueGradients gradients(sum, sizes);
        const std::size_t sequence = cut.sequence_of(chunk), key_head = shape.heads + cut.kv_head_of(chunk);
        write_rows(gradients.keys, shape.seq, sizes, turns, 1 / kLog2E, qkv_gradient.of(sequence, key_head));
        write_rows(gradients.values, shape.seq, sizes, Turns{}, 1,
                   qkv_gradient.of(sequence, key_head + shape.kv_heads));
    };
    for_each_chunk(cut.num_chunks(), a.num_threads, [&](std::size_t chunk, std::size_t thread) {
        const Workspace work(scratch.data() + thread * Workspace::size(sizes), sizes);
        float* const sum = sums.data() + (cut.parts() == 1 ? thread : chunk) * sums_size;
        for (std::size_t i = 0; i < sums_size; i += Floats::kWidth) store(sum, Whole{i}, Floats::all(0));
        const std::size_t sequence = cut.sequence_of(chunk), key_head = shape.heads + cut.kv_head_of(chunk);
        read_rows(qkv.of(sequence, key_head + shape.kv_heads), shape.seq, sizes.seq, sizes, Turns{}, 1, work.keys);
        pack_panels(work.keys, sizes.stride, sizes.seq, shape.d_head, work.value_panels);
        read_rows(qkv.of(sequence, key_head), shape.seq, sizes.seq, sizes, turns, 1, work.keys);
        pack_panels(work.keys, sizes.stride, sizes.seq, shape.d_head, work.key_panels);
        cut.for_each_block(chunk, [&](std::size_t head, std::size_t first, std::size_t places) {
            const std::size_t rows = round_up(places, kTileRows);
            const Turns turn = turns.from(first, sizes.stride);
            read_block(a, sizes, turn, scale, Place{sequence, head, first, places}, rows, work);
            for (std::size_t key = 0; key < first + rows; key += kBlock) {
                add_gradients(work, KeyValueGradients(sum, sizes), key, first, rows, sizes);
            }
            write_rows(work.query_gradients, places, sizes, turn, scale, qkv_gradient.of(sequence, head).from(first));
        });
        if (cut.parts() == 1) write_key_values(sum, chunk);
    });
    if (cut.parts() == 1) return;
    for_each_chunk(cut.num_chunks() / cut.parts(), a.num_threads, [&](std::size_t i, std::size_t) {
        const std::size_t chunk = i * cut.parts();
        float* const sum = sums.data() + chunk * sums_size;
        for (std::size_t part = 1; part < cut.parts(); ++part) {
            const float* const other = sum + part * sums_size;
            for_each_vector(sums_size, [&](auto at) { store(sum, at, load(sum, at) + load(other, at)); });
        }
        write_key_values(sum, chunk);
    });
}

template void causal_attention_backward(const CausalAttentionBackward<float>&);
template void causal_attention_backward(const CausalAttentionBackward<Bf16>&);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
