// A loop over the values of many tensors, small and large, as if they were one. See chunks.hpp.
#pragma once

#include "chunks.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

template <class Arguments>
inline std::size_t num_tensor_ranges(const Arguments& a) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.num_tensors; ++i) count += num_chunks_of(a.tensors[i].size, kChunkValues);
    return count;
}

// body(tensor, first, end, range) for ranges of a.tensors, numbered from 0, that together make up all values.
template <class Arguments, class Body>
inline void for_each_tensor_range(const Arguments& a, const Body& body) {
    for_each_chunk(num_tensor_ranges(a), a.num_threads, [&](std::size_t range, std::size_t) {
        std::size_t within = range;
        std::size_t i = 0;
        for (;; ++i) {  // some dozens of tensors: nothing beside the values of a range
            const std::size_t count = num_chunks_of(a.tensors[i].size, kChunkValues);
            if (within < count) break;
            within -= count;
        }
        const std::size_t first = within * kChunkValues;
        const std::size_t rest = a.tensors[i].size - first;
        body(a.tensors[i], first, first + (rest < kChunkValues ? rest : kChunkValues), range);
    });
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
