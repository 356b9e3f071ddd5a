#include "threads.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include "parallel.hpp"

namespace groundup::kernels {

namespace {

// GNU's entry to a parallel region, which LLVM's and Intel's runtimes have too: runs work(data) in the threads of
// the process's OpenMP pool, the caller among them, and waits.
using OpenMpParallel = void (*)(void (*work)(void*), void* data, unsigned num_threads, unsigned flags);

// The threads of a pool are not there in a forked child, and GNU's runtime would wait for them for ever.
std::atomic<bool> is_forked{false};
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { is_forked = true; });

// Looked up until it is there: torch, whose libraries bring it, may be loaded after the first kernel has run.
OpenMpParallel openmp_parallel() {
    if (is_forked.load(std::memory_order_relaxed)) return nullptr;
    static std::atomic<OpenMpParallel> found{nullptr};
    OpenMpParallel parallel = found.load(std::memory_order_relaxed);
    if (parallel == nullptr) {
        parallel = reinterpret_cast<OpenMpParallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
        found.store(parallel, std::memory_order_relaxed);
    }
    return parallel;
}

struct Region {
    std::size_t num_chunks;
    ChunkBody body;
    void* context;
    std::atomic<std::size_t> next_chunk{0};
    std::atomic<std::size_t> next_thread{0};

    // However many threads come: a pool may give fewer than it was asked for.
    void work() {
        const std::size_t thread = next_thread.fetch_add(1, std::memory_order_relaxed);
        for (std::size_t chunk; (chunk = next_chunk.fetch_add(1, std::memory_order_relaxed)) < num_chunks;) {
            body(context, chunk, thread);
        }
    }
};

}  // namespace

void run_chunks(std::size_t num_chunks, std::size_t num_threads, ChunkBody body, void* context) {
    const std::size_t num_useful = std::min(num_threads, num_chunks);
    if (num_useful <= 1) {
        for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) body(context, chunk, 0);
        return;
    }
    Region region{num_chunks, body, context};
    if (const OpenMpParallel parallel = openmp_parallel()) {
        // Always as many threads as torch has: GNU's pool ends those that a smaller team leaves over, and starts them anew.
        parallel([](void* data) { static_cast<Region*>(data)->work(); }, &region, static_cast<unsigned>(num_threads), 0);
    } else {
        run_in_threads(num_useful, [&](std::size_t, const std::atomic<bool>&) { region.work(); });
    }
}

bool has_openmp_threads() { return openmp_parallel() != nullptr; }

Scratch::Scratch(std::size_t num_floats) : data_(nullptr) {
    if (num_floats > SIZE_MAX / sizeof(float)) throw std::bad_alloc();
    data_ = static_cast<float*>(::operator new(num_floats * sizeof(float), std::align_val_t{64}));
}

Scratch::~Scratch() { ::operator delete(data_, std::align_val_t{64}); }

}  // namespace groundup::kernels
