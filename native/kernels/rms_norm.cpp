// Residual sum and RMSNorm in one pass over the rows, forward and backward. Twin: model/ops.py, rms_norm.
#include "chunks.hpp"
#include "variant.hpp"
#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

namespace {

// The gradient of the weights is summed over so many rows at a time, then over these sums in order.
constexpr std::size_t kRowsPerSum = 64;

}  // namespace

template <class Value>
void add_rms_norm(const AddRmsNorm<Value>& a) {
    const std::size_t columns = a.columns;
    for_each_row(a.rows, columns, a.num_threads, [&](std::size_t row) {
        const float* x = a.x + row * columns;
        float squares;
        if (a.y == nullptr) {
            squares = sum_over(columns, [&](auto at, Floats so_far) {
                const Floats v = load(x, at);
                return fma(v, v, so_far);
            });
        } else {
            const Value* const y = a.y + row * columns;
            float* const sum = a.sum + row * columns;
            squares = sum_over(columns, [&](auto at, Floats so_far) {
                const Floats v = load(x, at) + load(y, at);
                store(sum, at, v);
                return fma(v, v, so_far);
            });
            x = sum;
        }
        const float inverse_rms = 1 / __builtin_sqrtf(squares / static_cast<float>(columns) + a.eps);
        a.inverse_rms[row] = inverse_rms;
        Value* const normed = a.normed + row * columns;
        for_each_vector(columns, [&](auto at) {
            store(normed, at, load(x, at) * Floats::all(inverse_rms) * load(a.weight, at));
        });
    });
}

template <class Value>
void add_rms_norm_backward(const AddRmsNormBackward<Value>& a) {
    const std::size_t columns = a.columns;
    const std::size_t num_sums = num_chunks_of(a.rows, kRowsPerSum);
    const Scratch sums(num_sums * columns);
    for_each_chunk(num_sums, a.num_threads, [&](std::size_t chunk, std::size_t) {
        float* const sums_of_chunk = sums.data() + chunk * columns;
        for_each_vector(columns, [&](auto at) { store(sums_of_chunk, at, Floats::all(0)); });
        const std::size_t first = chunk * kRowsPerSum;
        const std::size_t end = a.rows - first < kRowsPerSum ? a.rows : first + kRowsPerSum;
        for (std::size_t row = first; row < end; ++row) {
            const Value* const gradient = a.normed_gradient + row * columns;
            const float* const x = a.x + row * columns;
            const Floats inverse_rms = Floats::all(a.inverse_rms[row]);
            const float product = sum_over(columns, [&](auto at, Floats so_far) {
                const Floats by_weight = load(gradient, at) * load(x, at) * inverse_rms;
                store(sums_of_chunk, at, load(sums_of_chunk, at) + by_weight);
                return fma(by_weight, load(a.weight, at), so_far);
            });
            const Floats mean = Floats::all(product / static_cast<float>(columns)) * inverse_rms;
            const float* const residual = a.residual_gradient == nullptr ? nullptr : a.residual_gradient + row * columns;
            float* const x_gradient = a.x_gradient + row * columns;
            Value* const copy = a.x_gradient_copy == nullptr ? nullptr : a.x_gradient_copy + row * columns;
            for_each_vector(columns, [&](auto at) {
                const Floats g = load(gradient, at) * load(a.weight, at);
                Floats change = (g - load(x, at) * mean) * inverse_rms;
                if (residual != nullptr) change = load(residual, at) + change;
                store(x_gradient, at, change);
                if (copy != nullptr) store(copy, at, change);
            });
        }
    });
    for_each_vector(columns, [&](auto at) {
        Floats total = Floats::all(0);
        for (std::size_t i = 0; i < num_sums; ++i) total = total + load(sums.data() + i * columns, at);
        store(a.weight_gradient, at, total);
    });
}

template void add_rms_norm(const AddRmsNorm<float>&);
template void add_rms_norm(const AddRmsNorm<Bf16>&);
template void add_rms_norm_backward(const AddRmsNormBackward<float>&);
template void add_rms_norm_backward(const AddRmsNormBackward<Bf16>&);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
