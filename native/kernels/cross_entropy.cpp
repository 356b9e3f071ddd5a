// From logits to loss and to its gradient, which may take their place. Twin: model/loss.py, cross_entropy.
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

// Where the exponentials of a row wait for their sum: in the place of a float32 gradient, beside one in bf16.
inline float* exponentials_of(float* gradient, float*) { return gradient; }
inline float* exponentials_of(Bf16*, float* beside) { return beside; }

// sum e^(x - shift) over a row; the terms themselves go to `exponentials`, which may be the row, unless that is null.
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
    const bool beside = a.gradient != nullptr && sizeof(Value) != sizeof(float);
    const Scratch scratch(beside ? a.num_threads * columns : 0);
    const std::size_t per_chunk = rows_per_chunk(columns);
    for_each_chunk(num_chunks_of(a.rows, per_chunk), a.num_threads, [&](std::size_t chunk, std::size_t thread) {
        const std::size_t first = chunk * per_chunk;
        const std::size_t end = a.rows - first < per_chunk ? a.rows : first + per_chunk;
        for (std::size_t row = first; row < end; ++row) {
            const Value* const logits = a.logits + row * columns;
            const std::size_t target = static_cast<std::size_t>(a.targets[row]);
            const float target_logit = to_float(logits[target]);
            const float shift = shift_of(logits, columns);
            const auto set_loss = [&](float log_total) {
                a.log_sums[row] = shift + log_total;
                a.losses[row] = log_total + (shift - target_logit);  // large logits cancel before anything small is lost
            };
            if (a.gradient == nullptr) {
                set_loss(logf(sum_of_exponentials(logits, nullptr, columns, shift)));
                continue;
            }
            Value* const gradient = a.gradient + row * columns;
            float* const exponentials = exponentials_of(gradient, scratch.data() + (beside ? thread * columns : 0));
            const float total = sum_of_exponentials(logits, exponentials, columns, shift);
            set_loss(logf(total));
            const Floats factor = Floats::all(a.scale / total);
            const float of_target = exponentials[target] / total - 1;
            for_each_vector(columns, [&](auto at) { store(gradient, at, load(exponentials, at) * factor); });
            set(gradient[target], of_target * a.scale);
        }
    });
}

template <class Value>
void cross_entropy_backward(const CrossEntropyBackward<Value>& a) {
    const Floats scale = Floats::all(a.scale);
    for_each_row(a.rows, a.columns, a.num_threads, [&](std::size_t row) {
        const Value* const logits = a.logits + row * a.columns;
        Value* const gradient = a.gradient + row * a.columns;
        const std::size_t target = static_cast<std::size_t>(a.targets[row]);
        const Floats log_sum = Floats::all(a.log_sums[row]);
        float of_target[Floats::kWidth];
        store(of_target, Whole{0}, exp(Floats::all(to_float(logits[target])) - log_sum));
        for_each_vector(a.columns, [&](auto at) { store(gradient, at, exp(load(logits, at) - log_sum) * scale); });
        set(gradient[target], (of_target[0] - 1) * a.scale);
    });
}

template void cross_entropy(const CrossEntropy<float>&);
template void cross_entropy(const CrossEntropy<Bf16>&);
template void cross_entropy_backward(const CrossEntropyBackward<float>&);
template void cross_entropy_backward(const CrossEntropyBackward<Bf16>&);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
