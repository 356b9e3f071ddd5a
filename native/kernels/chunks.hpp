// A loop over chunks of work for kernels, with a lambda as its body. See threads.hpp, and vec.hpp for the namespaces.
#pragma once

#include <cstddef>

#include "threads.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

// A chunk has about so many values: enough to pay for waking a thread, few enough to share evenly.
constexpr std::size_t kChunkValues = std::size_t{1} << 15;

// body(chunk, thread) for each of num_chunks chunks.
template <class Body>
inline void for_each_chunk(std::size_t num_chunks, std::size_t num_threads, const Body& body) {
    const auto call = [](void* context, std::size_t chunk, std::size_t thread) {
        (*static_cast<const Body*>(context))(chunk, thread);
    };
    run_chunks(num_chunks, num_threads, call, const_cast<Body*>(&body));
}

// Rows to a chunk where a row has so many values.
inline std::size_t rows_per_chunk(std::size_t columns) {
    return columns >= kChunkValues ? 1 : kChunkValues / (columns == 0 ? 1 : columns);
}

inline std::size_t num_chunks_of(std::size_t size, std::size_t per_chunk) { return (size + per_chunk - 1) / per_chunk; }

// body(first, end) for ranges that make up 0 .. size, at most per_chunk long.
template <class Body>
inline void for_each_range(std::size_t size, std::size_t per_chunk, std::size_t num_threads, const Body& body) {
    for_each_chunk(num_chunks_of(size, per_chunk), num_threads, [&](std::size_t chunk, std::size_t) {
        const std::size_t first = chunk * per_chunk;
        body(first, size - first < per_chunk ? size : first + per_chunk);
    });
}

// body(row) for each row of so many values.
template <class Body>
inline void for_each_row(std::size_t rows, std::size_t columns, std::size_t num_threads, const Body& body) {
    for_each_range(rows, rows_per_chunk(columns), num_threads, [&](std::size_t first, std::size_t end) {
        for (std::size_t row = first; row < end; ++row) body(row);
    });
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
