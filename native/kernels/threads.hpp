// Threads and scratch memory for the kernels, compiled once, for every processor.
//
// The threads are torch's own where torch is loaded: its OpenMP workers spin for a while after each operation and would
// fight a second pool for the cores. In a forked child, which has lost them, threads are started anew. Work is cut into
// chunks whose number depends on its size alone, so that no result depends on the number of threads; whoever is free
// takes the next chunk.
#pragma once

#include <cstddef>

namespace groundup::kernels {

// body(context, chunk, thread) for each chunk, in up to num_threads threads, numbered from 0; must not throw.
//
// Throws std::runtime_error where torch is not there and a thread cannot be started. A single chunk, or thread, costs
// a plain call.
using ChunkBody = void (*)(void* context, std::size_t chunk, std::size_t thread);
void run_chunks(std::size_t num_chunks, std::size_t num_threads, ChunkBody body, void* context);

// Whether run_chunks has torch's threads to run on.
bool has_openmp_threads();

// Floats at a multiple of 64 bytes, their values open. Throws std::bad_alloc.
class Scratch {
public:
    explicit Scratch(std::size_t num_floats);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    float* data() const { return data_; }

private:
    float* data_;
};

}  // namespace groundup::kernels
