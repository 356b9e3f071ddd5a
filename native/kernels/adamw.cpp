// The update of all parameters in one pass over memory. Twin: optim/adamw.py.
#include "tensor_chunks.hpp"
#include "variant.hpp"
#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

template <class Value>
void adamw(const AdamW<Value>& a) {
    const Floats m_share = Floats::all(a.m_share), v_keep = Floats::all(a.v_keep), v_share = Floats::all(a.v_share);
    const Floats eps = Floats::all(a.eps);
    for_each_tensor_range(a, [&](const AdamWTensor<Value>& t, std::size_t first, std::size_t end, std::size_t) {
        const Floats keep = Floats::all(t.keep), rate = Floats::all(-t.rate), v_root = Floats::all(1 / t.v_root);
        float* const parameter = t.parameter + first;
        float* const m = t.m + first;
        float* const v = t.v + first;
        const Value* const gradient = t.gradient + first;
        Bf16* const copy = t.copy == nullptr ? nullptr : t.copy + first;
        for_each_vector(end - first, [&](auto at) {
            const Floats g = load(gradient, at);
            const Floats old_m = load(m, at);
            const Floats new_m = fma(m_share, g - old_m, old_m);
            const Floats new_v = fma(v_share * g, g, v_keep * load(v, at));
            const Floats step = new_m / fma(sqrt(new_v), v_root, eps);
            const Floats updated = fma(rate, step, load(parameter, at) * keep);
            store(m, at, new_m);
            store(v, at, new_v);
            store(parameter, at, updated);
            if (copy != nullptr) store(copy, at, updated);
        });
    });
}

template void adamw(const AdamW<float>&);
template void adamw(const AdamW<Bf16>&);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
