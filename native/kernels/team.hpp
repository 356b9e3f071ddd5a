// Threads that go through many short phases of work together, in one parallel region. Internal linkage: see vec.hpp.
//
// Waking threads costs microseconds and a step of decoding has dozens of phases, so the threads stay and wait for each
// other between phases. All go through the same phases in the same order; chunks are numbered through all phases, and
// whoever is free takes the next. Nobody is counted: a thread that comes late, or not at all, leaves its share to
// the others and finds the phases it missed done.
#pragma once

#include <sched.h>

#include "chunks.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

struct TeamState {
    alignas(64) std::uint64_t next = 0;  // the chunk to be taken next
    alignas(64) std::uint64_t done = 0;  // chunks that are done
};

// One thread's view.
class Team {
public:
    Team(TeamState& state, std::size_t thread) : state_(state), thread_(thread) {}

    std::size_t thread() const { return thread_; }

    // body(chunk) for each chunk, by whichever thread; returns when all are done.
    template <class Body>
    void phase(std::size_t num_chunks, const Body& body) {
        phase(num_chunks, [] {}, body);
    }

    // The same, with prepare() before the first chunk of each thread that gets one.
    template <class Prepare, class Body>
    void phase(std::size_t num_chunks, const Prepare& prepare, const Body& body) {
        const std::uint64_t end = begin_ + num_chunks;
        bool prepared = false;
        std::uint64_t chunk = __atomic_load_n(&state_.next, __ATOMIC_RELAXED);
        while (chunk < end) {
            if (!__atomic_compare_exchange_n(&state_.next, &chunk, chunk + 1, true, __ATOMIC_ACQ_REL,
                                             __ATOMIC_RELAXED)) {
                continue;
            }
            if (!prepared) prepare();
            prepared = true;
            body(static_cast<std::size_t>(chunk - begin_));
            __atomic_fetch_add(&state_.done, 1, __ATOMIC_ACQ_REL);
            chunk = __atomic_load_n(&state_.next, __ATOMIC_RELAXED);
        }
        // The others need about a microsecond; where one has lost its core, it gets this one.
        for (unsigned tries = 0; __atomic_load_n(&state_.done, __ATOMIC_ACQUIRE) < end; ++tries) {
            if (tries > kPatience) sched_yield();
            else pause();
        }
        begin_ = end;
    }

private:
    static constexpr unsigned kPatience = 2000;

    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    TeamState& state_;
    std::size_t thread_;
    std::uint64_t begin_ = 0;  // the first chunk of this phase
};

// body(team) in each of up to num_threads threads.
template <class Body>
inline void run_team(std::size_t num_threads, const Body& body) {
    TeamState state;
    for_each_chunk(num_threads, num_threads, [&](std::size_t member, std::size_t) {
        Team team(state, member);
        body(team);
    });
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
