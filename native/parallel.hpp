// Threads for the tokenizer. No OpenMP: its runtime does not survive a fork, and torch brings its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace groundup {

// Processors that this process may use: its affinity, cut down to the quota of its control group.
std::size_t default_num_threads();

// Runs work(thread, stop) in num_threads threads, the calling one among them as number 0, and waits.
//
// The first exception of the lowest thread goes on to the caller, once all threads have ended; `stop` is
// set by then, and work that looks at it ends early. A thread that cannot be started is such an exception.
template <class Work>
void run_in_threads(std::size_t num_threads, Work&& work) {
    std::atomic<bool> stop{false};
    std::vector<std::exception_ptr> errors(num_threads);
    const auto guarded = [&](std::size_t thread) noexcept {
        try {
            work(thread, static_cast<const std::atomic<bool>&>(stop));
        } catch (...) {
            errors[thread] = std::current_exception();
            stop = true;
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(num_threads);
    try {
        for (std::size_t i = 1; i < num_threads; ++i) threads.emplace_back(guarded, i);
    } catch (const std::bad_alloc&) {
        stop = true;
        errors[0] = std::current_exception();
    } catch (const std::system_error& error) {
        stop = true;
        errors[0] = std::make_exception_ptr(std::runtime_error(
            "could not start " + std::to_string(num_threads) + " threads (" + error.what() + "): ask for fewer"));
    }
    if (!stop) guarded(0);
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& error : errors) {
        if (error) std::rethrow_exception(error);
    }
}

}  // namespace groundup
