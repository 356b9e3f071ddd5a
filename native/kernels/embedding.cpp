// Rows of the embedding by id, and their gradient. Twin: model/ops.py, embedding.
#include "chunks.hpp"
#include "variant.hpp"
#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

namespace {

// An id may come any number of times, so rows of the gradient cannot be shared out; columns can. Four cache lines.
constexpr std::size_t kColumnsPerChunk = 64;

}  // namespace

template <class Value>
void embedding(const Embedding<Value>& a) {
    for_each_row(a.rows, a.columns, a.num_threads, [&](std::size_t row) {
        const Value* const from = a.weight + static_cast<std::size_t>(a.ids[row]) * a.columns;
        __builtin_memcpy(a.out + row * a.columns, from, a.columns * sizeof(Value));
    });
}

template <class Value>
void embedding_backward(const EmbeddingBackward<Value>& a) {
    if (!a.accumulate) {
        for_each_row(a.vocab_size, a.columns, a.num_threads, [&](std::size_t row) {
            __builtin_memset(a.weight_gradient + row * a.columns, 0, a.columns * sizeof(float));
        });
    }
    for_each_range(a.columns, kColumnsPerChunk, a.num_threads, [&](std::size_t first, std::size_t end) {
        for (std::size_t row = 0; row < a.rows; ++row) {
            const Value* const from = a.out_gradient + row * a.columns + first;
            float* const to = a.weight_gradient + static_cast<std::size_t>(a.ids[row]) * a.columns + first;
            for_each_vector(end - first, [&](auto at) { store(to, at, load(to, at) + load(from, at)); });
        }
    });
}

template void embedding(const Embedding<float>&);
template void embedding(const Embedding<Bf16>&);
template void embedding_backward(const EmbeddingBackward<float>&);
template void embedding_backward(const EmbeddingBackward<Bf16>&);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
