// The primitives of vec.hpp over whole arrays.
#include "chunks.hpp"
#include "variant.hpp"
#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

void exp_each(const Exp& a) {
    for_each_vector(a.size, [&](auto at) { store(a.y, at, exp(load(a.x, at))); });
}

template <class From, class To>
void convert(const Convert<From, To>& a) {
    for_each_range(a.size, kChunkValues, a.num_threads, [&](std::size_t first, std::size_t end) {
        for_each_vector(end - first, [&](auto at) { store(a.y + first, at, load(a.x + first, at)); });
    });
}

template void convert(const Convert<float, Bf16>&);
template void convert(const Convert<Bf16, float>&);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
