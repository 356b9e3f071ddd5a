// SwiGLU and SiLU, forward and backward, on rows that may hold gate and up side by side. Twin: model/ops.py, swiglu.
#include "chunks.hpp"
#include "variant.hpp"
#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

template <class Value>
void swiglu(const SwiGlu<Value>& a) {
    for_each_row(a.rows, a.columns, a.num_threads, [&](std::size_t row) {
        const Value* const gate = a.gate + row * a.stride;
        Value* const out = a.out + row * a.columns;
        if (a.up == nullptr) {
            for_each_vector(a.columns, [&](auto at) {
                const Floats z = load(gate, at);
                store(out, at, z * sigmoid(z));
            });
            return;
        }
        const Value* const up = a.up + row * a.stride;
        for_each_vector(a.columns, [&](auto at) {
            const Floats z = load(gate, at);
            store(out, at, z * sigmoid(z) * load(up, at));
        });
    });
}

// With s = sigmoid(z): silu(z) = z s, and its derivative is s + z s (1 - s).
template <class Value>
void swiglu_backward(const SwiGluBackward<Value>& a) {
    const Floats one = Floats::all(1);
    for_each_row(a.rows, a.columns, a.num_threads, [&](std::size_t row) {
        const Value* const gate = a.gate + row * a.stride;
        const Value* const out_gradient = a.out_gradient + row * a.columns;
        Value* const gate_gradient = a.gate_gradient + row * a.gradient_stride;
        if (a.up == nullptr) {
            for_each_vector(a.columns, [&](auto at) {
                const Floats z = load(gate, at), s = sigmoid(z);
                store(gate_gradient, at, load(out_gradient, at) * s * fma(z, one - s, one));
            });
            return;
        }
        const Value* const up = a.up + row * a.stride;
        Value* const up_gradient = a.up_gradient + row * a.gradient_stride;
        for_each_vector(a.columns, [&](auto at) {
            const Floats z = load(gate, at), s = sigmoid(z), by_sigmoid = load(out_gradient, at) * s;
            const Floats by_both = by_sigmoid * load(up, at);  // before its place may be written to
            store(up_gradient, at, by_sigmoid * z);
            store(gate_gradient, at, by_both * fma(z, one - s, one));
        });
    });
}

template void swiglu(const SwiGlu<float>&);
template void swiglu(const SwiGlu<Bf16>&);
template void swiglu_backward(const SwiGluBackward<float>&);
template void swiglu_backward(const SwiGluBackward<Bf16>&);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
