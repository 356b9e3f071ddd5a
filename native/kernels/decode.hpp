// Writing text with a model: what kernels.hpp says of the others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sampling.hpp"

namespace groundup::kernels {

// Columns to a panel, on every processor: the width of four vectors of AVX2.
constexpr std::size_t kPanel = 32;

enum class WeightType { kFloat32, kBf16, kInt8 };

// The transpose of a matrix (outputs, inputs) in panels of kPanel outputs, the last one filled up with zeros: value
// (input, output) lies at (output / kPanel * inputs + input) * kPanel + output % kPanel. Of int8, pairs of inputs lie
// together, the last one filled up: at ((output / kPanel * pairs + input / 2) * kPanel + output % kPanel) * 2 + input % 2.
struct PackedMatrix {
    const void* values;   // of the decoder's WeightType
    const float* scales;  // of int8: one for each output, whole panels of them; else null
};

// Weights of one layer: x + attention(norm(x)), then x + feed-forward(norm(x)).
struct DecoderLayer {
    const float* attention_norm;  // (d_model)
    PackedMatrix qkv;             // queries, keys, values
    PackedMatrix output;
    const float* ffn_norm;
    PackedMatrix gate_up;  // panels of W1 and W3 in turn
    PackedMatrix down;
};

struct DecoderShape {
    std::size_t d_model;
    std::size_t heads;     // of queries; d_model = heads * d_head
    std::size_t kv_heads;  // divides heads
    std::size_t d_head;    // even
    std::size_t d_ff;
    std::size_t vocab_size;
    std::size_t context_length;
    float norm_eps;
};

struct Decoder {
    DecoderShape shape;
    WeightType type;
    const DecoderLayer* layers;
    std::size_t num_layers;
    const float* embedding;   // (vocab_size, d_model)
    const float* final_norm;  // (d_model)
    PackedMatrix head;
    const float* cos;  // (context_length, d_head / 2), as of RotaryEmbedding
    const float* sin;
};

// A sequence that is being written, or read. All but `cached`, which begins at 0, is the caller's; a call moves what is
// not const on.
struct DecodedRow {
    std::int64_t* ids;      // known so far, with room for `steps` more
    std::size_t num_ids;    // more than start + cached
    std::size_t start;      // where the window that the model sees begins: generation/window.py
    std::size_t cached;     // positions of that window whose keys and values are kept
    std::size_t steps;      // ids still to be written; 0 once end_id was
    const double* uniform;  // a number in [0, 1) for each of `steps`; null where the choice is greedy
    double* logprobs;       // of each id written, in nats
};

// Writes up to `steps` ids to each row: the twin is generation/engine.py. No row depends on another, nor on the
// number of threads, to the last bit. A row's prompt is read kMaxEntries positions at a time, so memory does not grow
// with it. Work for an id: every weight once, shared by the rows, and 2 positions d_model for attention.
//
// Where `logits` is not null, rows are read only: it gets those of all their positions from `cached` on.
struct Decode {
    const Decoder& decoder;
    DecodedRow* rows;
    std::size_t num_rows;
    float* cache;            // num_rows * cache_size(shape, num_layers, max_length) values, kept between calls
    std::size_t max_length;  // positions to a row; at least what a window of its holds
    std::size_t max_passes;  // returns after so many, whatever is left: the next call goes on from there
    float* logits;           // (num_rows, max_length, vocab_size)
    std::int64_t end_id;     // -1: none
    const std::int64_t* forbidden;  // ids never written
    std::size_t num_forbidden;
    SamplingOptions options;
    bool* finite;  // false: logits were not, and that row was given up
    std::size_t num_threads;
};

// The keys of each layer and head in panels of kPanel positions, then the values in panels of kPanel components.
// Internal linkage, as all that kernels share: see vec.hpp.
static constexpr std::size_t in_panels(std::size_t size) { return (size + kPanel - 1) / kPanel * kPanel; }
static constexpr std::size_t keys_size(const DecoderShape& shape, std::size_t max_length) {
    return in_panels(max_length) * shape.d_head;
}
static constexpr std::size_t values_size(const DecoderShape& shape, std::size_t max_length) {
    return max_length * in_panels(shape.d_head);
}
static constexpr std::size_t cache_size(const DecoderShape& shape, std::size_t num_layers, std::size_t max_length) {
    return num_layers * shape.kv_heads * (keys_size(shape, max_length) + values_size(shape, max_length));
}

}  // namespace groundup::kernels
