// The common norm of all gradients, and one factor for all of them. Twin: optim/gradients.py.
#include "tensor_chunks.hpp"
#include "variant.hpp"
#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

namespace {

// So many squares are summed in float32, which costs at most the last of its 7 digits.
constexpr std::size_t kBlock = 1024;

}  // namespace

template <class Value>
void sum_of_squares(const SumOfSquares<Value>& a) {
    const std::size_t num_ranges = num_tensor_ranges(a);
    const Scratch scratch(2 * num_ranges);  // of float64
    double* const sums = reinterpret_cast<double*>(scratch.data());
    for_each_tensor_range(a, [&](const Values<const Value>& t, std::size_t first, std::size_t end, std::size_t range) {
        double total = 0;
        for (std::size_t i = first; i < end; i += kBlock) {
            total += sum_over(end - i < kBlock ? end - i : kBlock, [&](auto at, Floats so_far) {
                const Floats x = load(t.data + i, at);
                return fma(x, x, so_far);
            });
        }
        sums[range] = total;
    });
    double total = 0;
    for (std::size_t i = 0; i < num_ranges; ++i) total += sums[i];
    *a.sum = total;
}

template <class Value>
void scale(const Scale<Value>& a) {
    const Floats factor = Floats::all(a.factor);
    for_each_tensor_range(a, [&](const Values<Value>& t, std::size_t first, std::size_t end, std::size_t) {
        Value* const values = t.data + first;
        for_each_vector(end - first, [&](auto at) { store(values, at, load(values, at) * factor); });
    });
}

template void sum_of_squares(const SumOfSquares<float>&);
template void sum_of_squares(const SumOfSquares<Bf16>&);
template void scale(const Scale<float>&);
template void scale(const Scale<Bf16>&);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
