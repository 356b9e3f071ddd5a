// From logits to loss and, in their place, its gradient. Twin: model/loss.py, cross_entropy.
#include <math.h>

#include "chunks.hpp"
#include "variant.hpp"
#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

namespace {

// The largest of a row, which log(sum e^x) = largest + log(sum e^(x - largest)) takes out; 0 where it is infinite, as
// infinity less infinity is NaN.
template <class Value>
inline float shift_of(const Value* row, std::size_t columns) {
    Floats most = Floats::all(-__builtin_inff());
    std::size_t i = 0;
    for (; i + Floats::kWidth <= columns; i += Floats::kWidth) most = max(most, load(row, Whole{i}));
    float shift = largest(most);
    for (; i < columns; ++i) shift = to_float(row[i]) > shift ? to_float(row[i]) : shift;
    return __builtin_isinf(shift) ? 0 : shift;
}

inline void set(float& place, float x) { place = x; }
inline void set(Bf16& place, float x) { store(&place, Part{0, 1}, Floats::all(x)); }

// Where the exponentials of a row wait for their sum: in the place of float32 logits, beside those in bf16.
inline float* exponentials_of(float* row, float*) { return row; }
inline float* exponentials_of(Bf16*, float* beside) { return beside; }

// sum e^(x - shift) over a row; the terms themselves go to `exponentials`, which may be the row, unless it is null.
template <class Value>
inline float sum_of_exponentials(const Value* row, float* exponentials, std::size_t columns, float shift) {
    constexpr std::size_t kWidth = Floats::kWidth;
    const std::size_t whole = columns - columns % kWidth;
    const auto exp_at = [&](auto at) {
        const Floats e = exp(load(row, at) - Floats::all(shift));
        if (exponentials != nullptr) store(exponentials, at, e);
        return e;
    };
    float total = sum_over(whole, [&](auto at, Floats so_far) { return so_far + exp_at(at); });
    if (whole < columns) {  // the places beyond the row would count as e^0
        float last[kWidth];
        const Part rest{whole, columns - whole};
        store(last, Whole{0}, exp_at(rest));
        for (std::size_t i = 0; i < rest.count; ++i) total += last[i];
    }
    return total;
}

}  // namespace

template <class Value>
void cross_entropy(const CrossEntropy<Value>& a) {
    const std::size_t columns = a.columns;
    const bool beside = a.with_gradient && sizeof(Value) != sizeof(float);
    const Scratch scratch(beside ? a.num_threads * columns : 0);
    const std::size_t per_chunk = rows_per_chunk(columns);
    for_each_chunk(num_chunks_of(a.rows, per_chunk), a.num_threads, [&](std::size_t chunk, std::size_t thread) {
        const std::size_t first = chunk * per_chunk;
        const std::size_t end = a.rows - first < per_chunk ? a.rows : first + per_chunk;
        for (std::size_t row = first; row < end; ++row) {
            Value* const logits = a.logits + row * columns;
            const std::size_t target = static_cast<std::size_t>(a.targets[row]);
            const float target_logit = to_float(logits[target]);
            const float shift = shift_of(logits, columns);
            float* const exponentials = exponentials_of(logits, scratch.data() + (beside ? thread * columns : 0));
            const float total = sum_of_exponentials(logits, a.with_gradient ? exponentials : nullptr, columns, shift);
            a.losses[row] = shift + logf(total) - target_logit;
            if (!a.with_gradient) continue;
            const Floats factor = Floats::all(a.scale / total);
            const float of_target = exponentials[target] / total - 1;
            for_each_vector(columns, [&](auto at) { store(logits, at, load(exponentials, at) * factor); });
            set(logits[target], of_target * a.scale);
        }
    });
}

template void cross_entropy(const CrossEntropy<float>&);
template void cross_entropy(const CrossEntropy<Bf16>&);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
